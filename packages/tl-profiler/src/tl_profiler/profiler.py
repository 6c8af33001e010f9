"""Profiles that follow a program's steps: schedules, handlers, files."""

from __future__ import annotations

import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, Self

from tl_autograd.profiler import KinetoStepTracker, record_function, supported_activities
from tl_autograd.profiler import profile as _Collector
from tl_autograd.profiler_kinds import ExperimentalConfig, ProfilerActivity
from tl_autograd.profiler_util import EventList
from tl_profiler.execution_trace import ExecutionTraceObserver
from tl_profiler.trace_observer import _ITraceObserver

__all__ = ["ExecutionTraceObserver", "ProfilerAction", "profile", "schedule", "supported_activities",
           "tensorboard_trace_handler"]  # fmt: skip

PROFILER_STEP_NAME = "ProfilerStep"


class _KinetoProfile:
    """A profile that is started and stopped by hand.

    Args:
        activities: the activities to record: `ProfilerActivity.CPU`. Other activities are accepted and unused.
        record_shapes: whether to record the inputs' shapes, strides and types, and the other arguments.
        profile_memory: whether to record allocations and frees of tensors.
        with_stack: whether to record the Python stack of each call, and the calls of Python functions.
        with_flops: counts floating point operations of products, convolutions and sums from the shapes.
        with_modules: lists the modules whose forward runs.
        experimental_config: an `_ExperimentalConfig`.
        execution_trace_observer: begins and ends with the profile.
        acc_events: a profile with several cycles keeps the events of all.
        custom_trace_id_callback: makes the name of a trace.
    """

    def __init__(self, *, activities: Iterable[Any] | None = None, record_shapes: bool = False,
                 profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False,
                 with_modules: bool = False, experimental_config: ExperimentalConfig | None = None,
                 execution_trace_observer: _ITraceObserver | None = None, acc_events: bool = False,
                 custom_trace_id_callback: Callable[[], str] | None = None,
                 post_processing_timeout_s: float | None = None) -> None:  # fmt: skip
        self.activities = set(activities) if activities else supported_activities()
        if not any(isinstance(activity, ProfilerActivity) for activity in self.activities):
            raise AssertionError(
                f"No valid profiler activities found: expected members of ProfilerActivity, got {activities!r}"
            )
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules, self.acc_events = with_flops, with_modules, acc_events
        self.experimental_config = experimental_config
        self.execution_trace_observer = execution_trace_observer
        self.custom_trace_id_callback = custom_trace_id_callback
        self.profiler: _Collector | None = None
        self.preset_metadata: dict[str, str] = {}
        self.use_device: str | None = None

    def start(self) -> None:
        """Begins to record."""
        self.prepare_trace()
        self.start_trace()

    def stop(self) -> None:
        """Ends the profile and collects its events."""
        self.stop_trace()

    def prepare_trace(self) -> None:
        """Prepares the profile. `start_trace` starts the recording."""
        if self.profiler is None or not self.acc_events:
            self.profiler = _Collector(
                use_cpu=ProfilerActivity.CPU in self.activities, record_shapes=self.record_shapes,
                with_flops=self.with_flops, profile_memory=self.profile_memory, with_stack=self.with_stack,
                with_modules=self.with_modules, use_kineto=True, experimental_config=self.experimental_config,
                acc_events=self.acc_events, custom_trace_id_callback=self.custom_trace_id_callback)  # fmt: skip
        self.profiler.with_results = self.execution_trace_observer is not None
        self.profiler._prepare_trace()

    def start_trace(self) -> None:
        """Notes events from now on."""
        profiler = self._collector()
        profiler._start_trace()
        if self.execution_trace_observer:
            self.execution_trace_observer.start()
        for key, value in self.preset_metadata.items():
            self.add_metadata_json(key, value)
        ranks = self._get_distributed_info()
        if ranks:
            self.add_metadata_json("distributedInfo", json.dumps(ranks))

    def stop_trace(self) -> None:
        """Ends the recording."""
        profiler = self._collector()
        profiler.__exit__(None, None, None)
        observer = self.execution_trace_observer
        if observer:
            if isinstance(observer, ExecutionTraceObserver):
                observer.take(profiler.kineto_results)
            observer.stop()

    def _collector(self) -> _Collector:
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before starting the trace: call start()")
        return self.profiler

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Writes the latest cycle as a trace that Perfetto, chrome://tracing and TensorBoard read.

        Args:
            path: the path of the file, which is compressed if it ends with ".gz".
            use_python_export: accepted and unused, as tl has one writer.

        Raises:
            OSError: the file cannot be written. No partial file remains.
        """
        self._collector().export_chrome_trace(path, self._metadata())

    def _metadata(self) -> dict[str, str]:
        return dict(self._extra_metadata)

    @property
    def _extra_metadata(self) -> dict[str, str]:
        return self.__dict__.setdefault("_added_metadata", {})

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes a line for each stack, outermost frame first, and the metric, for flame graph tools.

        Args:
            path: the path of the file.
            metric: "self_cpu_time_total" or "self_cuda_time_total".
        """
        self._collector().export_stacks(path, metric)

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Lets operators be noted or not, while the profile goes on.

        Args:
            enable: whether.
            activities: the activities to switch. The CPU's activity is the operators of this thread.
        """
        if self.profiler is not None:
            self.profiler.toggle_collection_dynamic(enable, activities)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:  # fmt: skip
        """One sum a name.

        Args:
            group_by_input_shape: whether to sum events by shapes of inputs. It needs `record_shapes`.
            group_by_stack_n: the number of innermost frames to sum events by. It needs `with_stack`.
            group_by_overload_name: whether to sum events by overload.
        """
        return self._collector().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def events(self) -> EventList:
        """All events."""
        return self._collector().function_events

    def add_metadata(self, key: str, value: str) -> None:
        """Puts a text into the trace, beside the events."""
        self.add_metadata_json(key, '"' + value.replace('"', '\\"') + '"')

    def add_metadata_json(self, key: str, value: str) -> None:
        """Puts a JSON value into the trace, beside the events."""
        self._extra_metadata[key] = value

    def preset_metadata_json(self, key: str, value: str) -> None:
        """The same for every trace that is begun later."""
        self.preset_metadata[key] = value

    def _get_distributed_info(self) -> dict[str, Any] | None:
        import sys

        distributed = sys.modules.get("tl_distributed")
        if distributed is None or not distributed.is_available() or not distributed.is_initialized():
            return None
        return {
            "backend": distributed.get_backend(),
            "rank": distributed.get_rank(),
            "world_size": distributed.get_world_size(),
        }

    def _memory_profile(self) -> Any:
        required = ("record_shapes", "profile_memory", "with_stack")
        missing = [f"{name}=True" for name in required if not getattr(self, name)]
        if missing:
            raise ValueError(f"{', '.join(missing)} required for memory profiling.")
        from tl_profiler._memory_profiler import MemoryProfile

        result = self._collector().kineto_results
        if result is None:
            raise RuntimeError("Profiler didn't finish running")
        return MemoryProfile(result)

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """Writes the memory of tensors over time by category: parameters, gradients, activations, ….

        Args:
            path: ".html": a page; ".json" or ".json.gz": `[times, [sizes by category]]`; ".raw.json.gz": each change as
                `(timestamp, action, bytes, category)`.
            device: "cpu".

        Raises:
            ValueError: the profile was made without `record_shapes`, `profile_memory` or `with_stack`.
        """
        from tl_profiler._memory_profiler import MemoryProfileTimeline

        timeline = MemoryProfileTimeline(self._memory_profile())
        timeline.export(path, device or "cpu")


class ProfilerAction(Enum):
    """The action of a profile in a step.

    Example:
        >>> ProfilerAction.RECORD.name
        'RECORD'
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:  # fmt: skip
    """A schedule of actions by step: skip, wait, warm up, record, and repeat.

    Args:
        wait: steps that pass before each cycle.
        warmup: steps that are recorded and thrown away.
        active: steps that are recorded.
        repeat: the number of cycles. 0 means until the end.
        skip_first: steps that pass before the first cycle.
        skip_first_wait: not 0: the first cycle does not wait.

    Returns:
        A function of the step's number.

    Example::

        >>> plan = schedule(wait=1, warmup=1, active=2)
        >>> [plan(step).name for step in range(5)]
        ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if not (wait >= 0 and warmup >= 0 and active > 0 and repeat >= 0 and skip_first >= 0):
        raise AssertionError(
            f"Invalid profiler schedule arguments: wait={wait}, warmup={warmup}, active={active}, repeat={repeat}, "
            f"skip_first={skip_first}: active must be positive, the others not negative"
        )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        length = wait + warmup + active
        if repeat > 0 and step / length >= repeat:
            return ProfilerAction.NONE
        position = step % length
        if position < wait:
            return ProfilerAction.NONE
        if position < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if position < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def _default_schedule_fn(_: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False,
                              use_python_export: bool = False) -> Callable[[Any], None]:  # fmt: skip
    """Writes each trace into a folder that TensorBoard's plug-in reads.

    Args:
        dir_name: the folder, which is created if absent.
        worker_name: the name of the process in file names, by default the host and the process id.
        use_gzip: compresses.
        use_python_export: accepted and unused, as tl has one writer.

    Returns:
        A handler for `on_trace_ready` of `profile`.

    Raises:
        RuntimeError: the folder cannot be created, once the first trace is ready.

    Example:
        >>> from tl_profiler import profile
        >>> with profile(on_trace_ready=tensorboard_trace_handler("runs")):  # doctest: +SKIP
        ...     train_one_epoch()
    """

    def handler(prof: Any) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler


class profile(_KinetoProfile):
    """A profile of a block, or of chosen steps of a program.

    Args:
        activities: the activities to record: `ProfilerActivity.CPU`. Other activities are accepted and unused.
        schedule: a function from the step to its action, see `schedule()`. By default every step is recorded.
        on_trace_ready: called with the profile when a cycle has been recorded.
        record_shapes: whether to record the inputs' shapes, strides and types, and the other arguments.
        profile_memory: whether to record allocations and frees of tensors.
        with_stack: whether to record the Python stack of each call, and the calls of Python functions.
        with_flops: counts floating point operations of products, convolutions and sums from the shapes.
        with_modules: lists the modules whose forward runs.
        experimental_config: an `_ExperimentalConfig`.
        execution_trace_observer: begins and ends with the profile: an `ExecutionTraceObserver`.
        acc_events: whether `events()` and `key_averages()` cover all cycles. By default they cover the latest.
        use_cuda: deprecated. Use `activities`.
        custom_trace_id_callback: makes the name of a trace.
        post_processing_timeout_s: accepted for compatibility: no processing follows that could time
            out.

    Example::

        >>> import tl_core
        >>> x = tl_core.ones(8, 8)
        >>> with profile(schedule=schedule(wait=1, warmup=1, active=2)) as prof:
        ...     for _ in range(4):
        ...         y = x @ x
        ...         prof.step()
        >>> [e.count for e in prof.key_averages() if e.key == "aten::mm"]
        [2]
    """

    def __init__(self, *, activities: Iterable[Any] | None = None,
                 schedule: Callable[[int], ProfilerAction] | None = None,
                 on_trace_ready: Callable[..., Any] | None = None, record_shapes: bool = False,
                 profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False,
                 with_modules: bool = False, experimental_config: ExperimentalConfig | None = None,
                 execution_trace_observer: _ITraceObserver | None = None, acc_events: bool = False,
                 use_cuda: bool | None = None, custom_trace_id_callback: Callable[[], str] | None = None,
                 post_processing_timeout_s: float | None = None) -> None:  # fmt: skip
        selection = set(activities) if activities else supported_activities()
        if use_cuda is not None:
            warnings.warn(
                "`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=2
            )
        if not selection:
            raise AssertionError("No valid profiler activities found")
        super().__init__(
            activities=selection, record_shapes=record_shapes, profile_memory=profile_memory, with_stack=with_stack,
            with_flops=with_flops, with_modules=with_modules, experimental_config=experimental_config,
            execution_trace_observer=execution_trace_observer or ExecutionTraceObserver.from_environment(),
            acc_events=acc_events, custom_trace_id_callback=custom_trace_id_callback)  # fmt: skip
        self.schedule = schedule or _default_schedule_fn
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(self.step_num)
        self.step_rec_fn: record_function | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()
        KinetoStepTracker.erase_step_count(PROFILER_STEP_NAME)
        if self.execution_trace_observer:
            self.execution_trace_observer.cleanup()

    def start(self) -> None:
        """Begins with step 0."""
        KinetoStepTracker.init_step_count(PROFILER_STEP_NAME)
        self._go(ProfilerAction.NONE, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """Ends the current recording and calls the handler."""
        self._end_step()
        self._go(self.current_action, None)

    def step(self) -> None:
        """The next step begins."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._go(before, self.current_action)
        KinetoStepTracker.increment_step(PROFILER_STEP_NAME)
        self._begin_step()

    def _begin_step(self) -> None:
        if self.record_steps:
            self.step_rec_fn = record_function("ProfilerStep#" + str(self.step_num))
            self.step_rec_fn.__enter__()

    def _end_step(self) -> None:
        if self.record_steps and self.step_rec_fn:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Sets the function that returns the name of the next trace."""
        self.custom_trace_id_callback = callback
        if self.profiler is not None:
            self.profiler.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        """The name of the current trace, or None before the first."""
        return None if self.profiler is None else self.profiler.trace_id

    def _stats(self) -> Any:
        return None if self.profiler is None else self.profiler._stats

    def _trace_ready(self) -> None:
        if self.on_trace_ready:
            self.on_trace_ready(self)

    # NONE: idle. WARMUP: prepared. RECORD and RECORD_AND_SAVE: recording.
    def _go(self, before: ProfilerAction, after: ProfilerAction | None) -> None:
        running = before in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        ends = before is ProfilerAction.RECORD_AND_SAVE or after not in (
            ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)  # fmt: skip
        if running and ends:
            self.stop_trace()
            if before is ProfilerAction.RECORD and after is not None:
                warnings.warn("Incorrect schedule: RECORD followed by " + after.name, stacklevel=3)
            self._trace_ready()
            running = False
        if before is ProfilerAction.WARMUP and after is None:
            self.start_trace()
            self.stop_trace()
        if after is ProfilerAction.WARMUP and before is not ProfilerAction.WARMUP:
            self.prepare_trace()
        if after in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE) and not running:
            if before is not ProfilerAction.WARMUP:
                self.prepare_trace()
            self.start_trace()
