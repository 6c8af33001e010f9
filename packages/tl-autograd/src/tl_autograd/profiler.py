"""Where the time goes: how long each operator took."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import ContextDecorator
from typing import Any, ClassVar

from tl_autograd.profiler_util import (
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    Interval,
    Kernel,
    MemRecordsAcc,
    StringTable,
)
from tl_core import operator_observer

__all__ = ["EnforceUnique", "EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "Kernel", "KinetoStepTracker",
           "MemRecordsAcc", "StringTable", "emit_itt", "emit_nvtx", "load_nvprof", "parse_nvprof_trace", "profile",
           "record_function"]  # fmt: skip


class _Labels(threading.local):
    """Labelled blocks of this thread while it is profiled."""

    events: list[FunctionEvent] | None = None


_labels = _Labels()


class profile:
    """Inside, notes each operator that this thread calls, forward and backward, and how long it took.

    Operators that are made of others count as one. Noting costs about 0.1 us an operator.

    Args:
        enabled: False does nothing.

    Raises:
        NotImplementedError: what is not recorded: shapes, FLOPs, memory, stacks, modules, accelerators.

    Example::

        >>> import tl_autograd.profiler
        >>> x = tl_core.ones(3, requires_grad=True)
        >>> with tl_autograd.profiler.profile() as prof:
        ...     (x * x).sum().backward()
        >>> "mul" in prof.key_averages().table(sort_by="self_cpu_time_total")
        True
    """

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None,
                 record_shapes: bool = False, with_flops: bool = False, profile_memory: bool = False,
                 with_stack: bool = False, with_modules: bool = False, use_kineto: bool = False, use_cpu: bool = True,
                 experimental_config: Any = None, acc_events: bool = False,
                 custom_trace_id_callback: Any = None, post_processing_timeout_s: float | None = None,
                 activity_filters: Any = None) -> None:  # fmt: skip
        asked = {
            "use_cuda": use_cuda,
            "use_device": use_device,
            "record_shapes": record_shapes,
            "with_flops": with_flops,
            "profile_memory": profile_memory,
            "with_stack": with_stack,
            "with_modules": with_modules,
        }
        missing = [name for name, value in asked.items() if value]
        if enabled and missing:
            raise NotImplementedError(
                f"profile: {', '.join(missing)} is not there yet; it notes names and times only"
            )
        self.enabled, self.function_events = enabled, EventList()
        self._entered = False

    def __enter__(self) -> profile:
        if not self.enabled:
            return self
        if self._entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._entered = True
        operator_observer.begin()
        self._outer, _labels.events = _labels.events, []
        return self

    def __exit__(self, *exc: object) -> None:
        if not self.enabled:
            return
        thread = threading.get_ident()
        events = [
            FunctionEvent(_shown(n), start / 1e3, end / 1e3, thread)
            for n, start, end in operator_observer.end()
        ]
        self.function_events = EventList([*events, *(_labels.events or [])])
        self.function_events.nest()
        _labels.events = self._outer

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:  # fmt: skip
        """One sum a name."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """The sum of all events."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all operators."""
        return self.function_events.self_cpu_time_total

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
              max_name_column_width: int = 55, max_shapes_column_width: int = 80, header: str | None = None,
              top_level_events_only: bool = False) -> str:  # fmt: skip
        """The events as text, one a line."""
        return self.function_events.table(sort_by, row_limit, max_src_column_width, max_name_column_width,
                                          max_shapes_column_width, header, top_level_events_only)  # fmt: skip

    def export_chrome_trace(self, path: str, metadata: Any = None, use_python_export: bool = False) -> None:
        """Writes the events as a file for chrome://tracing."""
        self.function_events.export_chrome_trace(path)

    def __repr__(self) -> str:
        return repr(self.function_events) if self._entered else "<unfinished torch.autograd.profile>"

    def __str__(self) -> str:
        return str(self.function_events) if self._entered else repr(self)


def _shown(operator: str) -> str:
    """`mul.Tensor` as a profile names it: `aten::mul`."""
    return operator.split(".")[0] if "::" in operator else f"aten::{operator.split('.')[0]}"


class record_function(ContextDecorator):
    """A block, or as a decorator a function, that a profile lists under a name.

    Args:
        name: the name.
        args: accepted; not shown.
    """

    def __init__(self, name: str, args: str | None = None):
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        self._start = time.monotonic_ns()
        return self

    def __exit__(self, *exc: object) -> None:
        if _labels.events is not None:
            start, end = self._start / 1e3, time.monotonic_ns() / 1e3
            _labels.events.append(FunctionEvent(self.name, start, end, threading.get_ident(), True))


class _Absent:
    """A range marker of somebody else's profiler."""

    _needs = ""

    def __init__(self, enabled: bool = True, record_shapes: bool = False):
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self) -> Any:
        if self.enabled:
            raise NotImplementedError(f"{type(self).__name__} needs {self._needs}; profile() works without")
        return self

    def __exit__(self, *exc: object) -> None:
        pass


class emit_nvtx(_Absent):
    """NVTX ranges around operators; raises NotImplementedError unless `enabled=False`."""

    _needs = "NVIDIA's tools extension, which tl does not use"


class emit_itt(_Absent):
    """ITT ranges around operators; raises NotImplementedError unless `enabled=False`."""

    _needs = "Intel's tracing library, which tl does not use"


def load_nvprof(path: str) -> EventList:
    """Not there: raises NotImplementedError, as nothing of tl writes such files."""
    return EventList(parse_nvprof_trace(path))


def parse_nvprof_trace(path: str) -> list[FunctionEvent]:
    """Not there: raises NotImplementedError, as nothing of tl writes such files."""
    raise NotImplementedError(
        f"{path}: traces of nvprof cannot be read; use export_chrome_trace of profile()"
    )


class EnforceUnique:
    """Raises if a key comes twice."""

    def __init__(self) -> None:
        self.seen: set[tuple] = set()

    def see(self, *key: Any) -> None:
        """Notes a key; RuntimeError if it was noted before."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """Counts steps for several that count: the step is the largest that any of them has reached."""

    _current_step = 0
    _steps: ClassVar[Counter[str]] = Counter()

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """A new counter begins at the current step."""
        cls._steps[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forgets a counter; whether there was one."""
        return cls._steps.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Counts a step for one of them and returns the current step."""
        if requester not in cls._steps:
            cls.init_step_count(requester)
        cls._steps[requester] += 1
        cls._current_step = max(cls._current_step, *cls._steps.values())
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The current step."""
        return cls._current_step
