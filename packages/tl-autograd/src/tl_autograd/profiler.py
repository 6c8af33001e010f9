"""Profiling: the time and the memory of each operator."""

from __future__ import annotations

import sys
import threading
import time
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ContextDecorator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tl_autograd.profiler_kinds import (
    ActiveProfilerType,
    DeviceType,
    ExperimentalConfig,
    ProfilerActivity,
    ProfilerConfig,
    ProfilerState,
)
from tl_autograd.profiler_results import FunctionEvents, ProfilerResult
from tl_autograd.profiler_util import (
    MEMORY_EVENT_NAME,
    OUT_OF_MEMORY_EVENT_NAME,
    EventList,
    FormattedTimesMixin,
    FunctionEvent,
    FunctionEventAvg,
    Interval,
    Kernel,
    MemRecordsAcc,
    StringTable,
)
from tl_core.base import recording

__all__ = ["DeviceType", "EnforceUnique", "EventList", "FormattedTimesMixin", "FunctionEvent", "FunctionEventAvg",
           "Interval", "Kernel", "KinetoStepTracker", "MEMORY_EVENT_NAME", "MemRecordsAcc",
           "OUT_OF_MEMORY_EVENT_NAME", "ProfilerActivity", "ProfilerConfig", "ProfilerState", "StringTable", "emit_itt",
           "emit_nvtx", "kineto_available", "load_nvprof", "parse_nvprof_trace", "profile", "profiler_type",
           "record_function", "supported_activities", "switches"]  # fmt: skip

_is_profiler_enabled = False
_ExperimentalConfig = ExperimentalConfig


class _Switches:
    """Settings of the process, which programs change through `torch._C._profiler`."""

    concrete_inputs = True
    links = True
    active = ActiveProfilerType.NONE


switches = _Switches()


def kineto_available() -> bool:
    """True: tl always has its own recorder.

    Example:
        >>> kineto_available()
        True
    """
    return True


def supported_activities() -> set[ProfilerActivity]:
    """The activities that a profile can collect: the CPU's.

    Example:
        >>> [activity.name for activity in supported_activities()]
        ['CPU']
    """
    return {ProfilerActivity.CPU}


def profiler_type() -> ActiveProfilerType:
    """The active profiler.

    Example:
        >>> profiler_type().name
        'NONE'
    """
    return switches.active


@dataclass
class _ProfilerStats:
    """The duration of the profile's own work."""

    profiling_window_duration_sec: float = 0
    number_of_events: int = 0
    profiler_prepare_call_duration_us: int = 0
    profiler_enable_call_duration_us: int = 0
    profiler_disable_call_duration_us: int = 0
    parse_kineto_call_duration_us: int = 0
    function_events_build_tree_call_duration_us: int = 0


def _microseconds_since(start: int) -> int:
    return max(1, int((time.perf_counter_ns() - start) / 1000))


class profile:
    """Inside, records each operator that this thread calls, forward and backward, and its duration.

    The events of the backward are the nodes of the graph, each with the operators that it calls. Composite operators
    are events with events inside. A record costs about 0.1 us an operator, 0.2 us with shapes.

    Args:
        enabled: False does nothing.
        use_cuda: ignored, as tl has no accelerator to record.
        use_device: ignored.
        record_shapes: records the shapes, strides and dtypes of inputs, and the other arguments.
        with_flops: counts floating point operations of products, convolutions and sums from the shapes.
        profile_memory: records allocations and releases of tensors' memory.
        with_stack: records the Python stack of each call, and the calls of Python functions.
        with_modules: lists the modules whose forward runs.
        use_kineto: ignored, as tl has one recorder.
        use_cpu: False leaves out operators.
        experimental_config: an `_ExperimentalConfig`.
        acc_events: a second block of the same profile adds to its events.
        custom_trace_id_callback: a function that returns the name of the trace.
        post_processing_timeout_s: ignored, as tl has no processing afterwards.
        activity_filters: ignored, as tl has no activities of accelerators.

    Raises:
        RuntimeError: the profile is entered twice, or another profile is active.

    Example::

        >>> import tl_autograd.profiler
        >>> x = tl_core.ones(3, requires_grad=True)
        >>> with tl_autograd.profiler.profile(record_shapes=True) as prof:
        ...     (x * x).sum().backward()
        >>> prof.key_averages().table(sort_by="self_cpu_time_total").count("aten::mul")
        1
        >>> [e.input_shapes for e in prof.function_events if e.name == "aten::sum"]
        [[[3], []]]
    """

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None,
                 record_shapes: bool = False, with_flops: bool = False, profile_memory: bool = False,
                 with_stack: bool = False, with_modules: bool = False, use_kineto: bool = False, use_cpu: bool = True,
                 experimental_config: Any = None, acc_events: bool = False,
                 custom_trace_id_callback: Callable[[], str] | None = None,
                 post_processing_timeout_s: float | None = None, activity_filters: Any = None) -> None:  # fmt: skip
        self.enabled = enabled
        if not enabled:
            return
        if use_cuda or use_device not in (None, "cpu"):
            warnings.warn(f"{use_device or 'CUDA'} is not available, disabling its profiling", stacklevel=2)
        self.use_cuda, self.use_device = False, None
        self.entered, self.record_shapes = False, record_shapes or with_flops
        self.with_flops, self.profile_memory = with_flops, profile_memory
        self.with_stack, self.with_modules, self.use_cpu, self.acc_events = (
            with_stack, with_modules, use_cpu, acc_events)  # fmt: skip
        self.experimental_config = experimental_config or ExperimentalConfig()
        self.custom_trace_id_callback, self.trace_id = custom_trace_id_callback, ""
        self.kineto_results: ProfilerResult | None = None
        self.profiler_kind = ActiveProfilerType.KINETO
        self.with_results = False
        self.with_python = with_stack
        self._earlier: list[FunctionEvent] = []
        self._events: EventList | None = None
        self._metadata: dict[str, str] = {}
        self._stats = _ProfilerStats()

    def config(self, create_trace_id: bool = False) -> ProfilerConfig:
        """The configuration of the recording."""
        if create_trace_id:
            self.trace_id = self.create_trace_id()
        return ProfilerConfig(ProfilerState.KINETO, self.record_shapes, self.profile_memory, self.with_stack,
                              self.with_flops, self.with_modules, self.experimental_config, self.trace_id)  # fmt: skip

    def default_trace_id(self) -> str:
        """A unique name of a trace."""
        return f"{uuid.uuid4().int:032X}"

    def create_trace_id(self) -> str:
        """The name of the next trace."""
        return self.custom_trace_id_callback() if self.custom_trace_id_callback else self.default_trace_id()

    def __enter__(self) -> Self | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._prepare_trace()
        self._start_trace()
        return self

    def _prepare_trace(self) -> None:
        self.entered = True
        start = time.perf_counter_ns()
        self.config(create_trace_id=True)
        self._stats.profiler_prepare_call_duration_us = _microseconds_since(start)

    def _start_trace(self) -> None:
        if self.acc_events:
            self._earlier = list(self.function_events) if self.kineto_results else self._earlier
        self.kineto_results = None
        self._events = None
        start = time.perf_counter_ns()
        config = self.experimental_config
        recording.start(values=self.record_shapes or self.with_results, results=self.with_results,
                        stacks=self.with_stack, memory=self.profile_memory, operators=self.use_cpu,
                        all_threads=config.profile_all_threads, most_bytes=int(config.most_megabytes * 2**20),
                        python=self.with_python, modules=self.with_modules or self.with_stack)  # fmt: skip
        _set_enabled(True)
        switches.active = self.profiler_kind
        self._started = time.perf_counter_ns()
        self._stats.profiler_enable_call_duration_us = _microseconds_since(start)

    def __exit__(self, *exc: object) -> bool | None:
        if not self.enabled:
            return None
        start = time.perf_counter_ns()
        trace = recording.stop()
        _set_enabled(False)
        switches.active = ActiveProfilerType.NONE
        self.kineto_results = ProfilerResult(trace, recording.take_foreign(), recording.take_described())
        self._stats.profiler_disable_call_duration_us = _microseconds_since(start)
        self._stats.profiling_window_duration_sec = (time.perf_counter_ns() - self._started) / 1e9
        return False

    @property
    def function_events(self) -> EventList:
        """All events, after the end of the block. The first access builds the list."""
        if self._events is None:
            start = time.perf_counter_ns()
            events = self._event_maker().make()
            self._stats.parse_kineto_call_duration_us = _microseconds_since(start)
            self._events = EventList(self._earlier + events, profile_memory=self.profile_memory,
                                     with_flops=self.with_flops)  # fmt: skip
            self._stats.number_of_events = len(self._events)
            self._stats.function_events_build_tree_call_duration_us = _microseconds_since(start)
        return self._events

    def _event_maker(self) -> FunctionEvents:
        if self.kineto_results is None:
            raise RuntimeError("Profiler didn't finish running")
        overloads = self.experimental_config.capture_overload_names
        return FunctionEvents(self.kineto_results, self.record_shapes, self.with_flops, self.with_modules,
                              overloads, switches.concrete_inputs)  # fmt: skip

    def _ensure_function_events(self) -> None:
        _ = self.function_events

    def events(self) -> EventList:
        """Another name of `function_events`."""
        return self.function_events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:  # fmt: skip
        """The sums of events by name, and on request by shape, stack and overload."""
        return self._sums(group_by_input_shape, group_by_stack_n > 0).key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def _sums(self, by_shape: bool, by_stack: bool) -> EventList:
        """The events, as sums over equal events."""
        sums = self._event_maker().sums(by_shape, by_stack)
        return EventList(self._earlier + sums, profile_memory=self.profile_memory, with_flops=self.with_flops)

    def total_average(self) -> FunctionEventAvg:
        """The sum of all events."""
        return self._sums(False, False).total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all operators."""
        return self._sums(False, False).self_cpu_time_total

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
              max_name_column_width: int | None = 55, max_shapes_column_width: int = 80, header: str | None = None,
              top_level_events_only: bool = False, time_unit: str | None = None) -> str:  # fmt: skip
        """The events as text, one a line."""
        return self.function_events.table(sort_by, row_limit, max_src_column_width, max_name_column_width,
                                          max_shapes_column_width, header, top_level_events_only,
                                          time_unit)  # fmt: skip

    def add_metadata_json(self, key: str, value: str) -> None:
        """Puts a JSON text into the trace, beside the events."""
        self._metadata[key] = value

    def export_chrome_trace(self, path: str, metadata: Any = None, use_python_export: bool = False) -> None:
        """Writes the events as a trace that Perfetto, chrome://tracing and TensorBoard read.

        Args:
            path: the file; compressed if it ends with ".gz".
            metadata: JSON texts beside the events.
            use_python_export: ignored, as tl has one writer.

        Raises:
            OSError: the file cannot be written. No part of it stays.
        """
        if self.kineto_results is None:
            raise RuntimeError("Profiler didn't finish running")
        self.kineto_results.save(path, {**self._head(), **self._metadata, **(metadata or {})}, switches.links)

    def _head(self) -> dict[str, str]:
        flags = {"record_shapes": self.record_shapes, "profile_memory": self.profile_memory,
                 "with_stack": self.with_stack, "with_flops": self.with_flops,
                 "with_modules": self.with_modules}  # fmt: skip
        forgotten = self.kineto_results.forgotten if self.kineto_results else 0
        extra = {"forgotten_events": str(forgotten)} if forgotten else {}
        return {"trace_id": f'"{self.trace_id}"', **{name: "1" for name, on in flags.items() if on}, **extra}

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes a line for each stack, for flame graph tools. Needs `with_stack`."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)

    def toggle_collection_dynamic(self, enabled: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Switches the record of this thread's operators on or off within the profile."""
        if ProfilerActivity.CPU in activities:
            recording.record_own_operators(enabled)

    def __repr__(self) -> str:
        if not self.enabled or self.kineto_results is None:
            return "<unfinished torch.autograd.profile>"
        return repr(self.function_events)

    def __str__(self) -> str:
        if not self.enabled or self.kineto_results is None:
            return "<unfinished torch.autograd.profile>"
        return str(self.function_events)


def _set_enabled(on: bool) -> None:
    sys.modules[__name__].__dict__["_is_profiler_enabled"] = on


_set_is_profiler_enabled = _set_enabled


class record_function(ContextDecorator):
    """A block, or as a decorator a function, that a profile lists under a name.

    Outside a profile it does nothing.

    Args:
        name: the label of the block.
        args: a text beside the label in the trace.

    Example::

        >>> with record_function("load"):
        ...     x = tl_core.ones(2)
    """

    def __init__(self, name: str, args: str | None = None):
        if not isinstance(name, str):
            raise TypeError(f"record_function: name must be a str, got {type(name).__name__}")
        self.name, self.args = name, args
        self.run_callbacks_on_exit = True
        self._range = recording.EventRange(name, args)

    def __enter__(self) -> Self:
        self._range.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.run_callbacks_on_exit:
            self._range.__exit__()

    def _call_end_callbacks_on_future(self, fut: Any) -> Any:
        """Extends the block to the end of the future."""
        if not self.run_callbacks_on_exit:
            raise RuntimeError("_call_end_callbacks_on_future can only be called once.")
        self.run_callbacks_on_exit = False
        thread = threading.get_ident()

        def end(future: Any) -> Any:
            if threading.get_ident() == thread:  # an event ends in its own thread
                self._range.__exit__()
            return future.value()

        return fut.then(end)


class _Markers:
    """Ranges for the profiler of a vendor."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False):
        self.enabled, self.entered, self.record_shapes = enabled, False, record_shapes

    def _open(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError(f"{type(self).__name__} annotation context manager is not reentrant")
        self._open()
        self.entered = True
        return self

    def __exit__(self, *exc: object) -> None:
        self.entered = False


class emit_nvtx(_Markers):
    """NVTX ranges around operators, for NVIDIA's profilers.

    Raises:
        AssertionError: the block is entered, as tl has no CUDA. `enabled=False` does nothing.

    Example:
        >>> import tl_core
        >>> with emit_nvtx(enabled=False):
        ...     total = tl_core.ones(2).sum()
        ...
        >>> total
        tensor(2.)
    """

    def _open(self) -> None:
        raise AssertionError(
            "Torch not compiled with CUDA enabled: emit_nvtx needs CUDA; profile() works without"
        )


class emit_itt(_Markers):
    """ITT ranges around operators, for Intel's profilers.

    tl has no ITT library, so the block runs without ranges.

    Example:
        >>> import tl_core
        >>> with emit_itt(enabled=False):
        ...     total = tl_core.ones(2).sum()
        ...
        >>> total
        tensor(2.)
    """

    def _open(self) -> None:
        pass


def load_nvprof(path: str) -> EventList:
    """The events of a trace of nvprof that has ranges of `emit_nvtx`.

    Args:
        path: the path of the trace, an SQLite file.

    Example:
        >>> load_nvprof("run.nvprof")  # doctest: +SKIP
    """
    return EventList(parse_nvprof_trace(path))


def parse_nvprof_trace(path: str) -> list[FunctionEvent]:
    """The marked ranges of a trace of nvprof, nested, with the kernels that ran in them.

    Example:
        >>> parse_nvprof_trace("run.nvprof")  # doctest: +SKIP
    """
    import sqlite3

    from tl_autograd.nvprof_trace import read

    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return read(connection)
    finally:
        connection.close()


class EnforceUnique:
    """Raises if a key comes twice.

    Example:
        >>> keys = EnforceUnique()
        >>> keys.see("first")
    """

    def __init__(self) -> None:
        self.seen: set[tuple] = set()

    def see(self, *key: Any) -> None:
        """Records a key. Raises RuntimeError for a second time."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """Counts the steps of several requesters. The current step is the largest of them.

    Example:
        >>> KinetoStepTracker.init_step_count("loader")
        >>> KinetoStepTracker.increment_step("loader") == KinetoStepTracker.current_step()
        True
        >>> _ = KinetoStepTracker.erase_step_count("loader")
    """

    _current_step = 0
    _steps: ClassVar[Counter[str]] = Counter()

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Adds a counter that begins at the current step."""
        cls._steps[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Removes a counter. Returns whether it existed."""
        return cls._steps.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Counts a step of a requester and returns the current step."""
        if requester not in cls._steps:
            cls.init_step_count(requester)
        cls._steps[requester] += 1
        cls._current_step = max(cls._current_step, *cls._steps.values())
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The current step."""
        return cls._current_step
