"""Profiling: the enumerations of devices, activities, states and scopes, and the settings of a profile."""

from __future__ import annotations

from collections.abc import Sequence

from tl_core.base.native_enum import NativeEnum

__all__ = ["ActiveProfilerType", "DeviceType", "EventType", "ExperimentalConfig", "ProfilerActivity",
           "ProfilerConfig", "ProfilerState", "RecordScope"]  # fmt: skip


class DeviceType(NativeEnum):
    """Kinds of devices; a profile of tl has events of the CPU.

    Example:
        >>> DeviceType.CPU.name
        'CPU'
    """

    CPU, CUDA, MKLDNN, OPENGL, OPENCL, IDEEP, HIP, FPGA, MAIA, XLA = range(10)
    Vulkan, Metal, XPU, MPS, Meta, HPU, VE, Lazy, IPU, MTIA, PrivateUse1 = range(10, 21)


class ProfilerActivity(NativeEnum):
    """The activities that a profile may collect. tl has only the CPU's.

    Example:
        >>> ProfilerActivity.CPU.name
        'CPU'
    """

    CPU, XPU, CUDA, HPU, MTIA, PrivateUse1 = range(6)


class ProfilerState(NativeEnum):
    """The ways to collect a profile.

    Example:
        >>> ProfilerState.KINETO.name
        'KINETO'
    """

    Disabled, CPU, CUDA, NVTX, ITT, PRIVATEUSE1, KINETO, KINETO_GPU_FALLBACK = range(8)
    KINETO_PRIVATEUSE1_FALLBACK, KINETO_PRIVATEUSE1 = range(8, 10)


class ActiveProfilerType(NativeEnum):
    """The kinds of profilers."""

    NONE, LEGACY, KINETO, NVTX, ITT, PRIVATEUSE1 = range(6)


class RecordScope(NativeEnum):
    """The origin of an event: an operator, a node of the backward, a labelled block.

    Example:
        >>> RecordScope.USER_SCOPE.name
        'USER_SCOPE'
    """

    FUNCTION, BACKWARD_FUNCTION, TORCHSCRIPT_FUNCTION, KERNEL_FUNCTION_DTYPE, CUSTOM_CLASS = range(5)
    BUILD_FEATURE, LITE_INTERPRETER, USER_SCOPE, STATIC_RUNTIME_OP, STATIC_RUNTIME_MODEL = range(5, 10)


class EventType(NativeEnum):
    """The kind of an event in the tree of events."""

    TorchOp, Backend, Vulkan, Allocation, OutOfMemory, PyCall, PyCCall, Kineto = range(8)


class ExperimentalConfig:
    """Experimental settings of a profile.

    Args:
        verbose: ignored, as recorded stacks are always shown.
        profile_all_threads: records the operators and labelled blocks of all threads.
        capture_overload_names: shows the overload beside the name in tables and traces.
        profiler_metrics: ignored, as it is for accelerators.
        profiler_measure_per_kernel: ignored, as it is for accelerators.
        performance_events: names of counters of the processor.
        enable_cuda_sync_events: ignored, as it is for accelerators.
        adjust_profiler_step: whether steps are stretched over their events.
        disable_external_correlation: ignored.
        record_python_gc_info: whether runs of the garbage collector are recorded.
        expose_kineto_event_metadata: whether events have further fields.
        custom_profiler_config: a text for other profilers.
        trace_only: ignored.
        adjust_timestamps: whether times of events are moved to follow one another.
        most_megabytes: the largest memory of the events of a thread, at least a half. The newest events replace the
            oldest. 0 sets no limit.
    """

    def __init__(self, profiler_metrics: Sequence[str] = (), profiler_measure_per_kernel: bool = False,
                 verbose: bool = False, performance_events: Sequence[str] = (),
                 enable_cuda_sync_events: bool = False, adjust_profiler_step: bool = False,
                 disable_external_correlation: bool = False, profile_all_threads: bool = False,
                 capture_overload_names: bool = False, record_python_gc_info: bool = False,
                 expose_kineto_event_metadata: bool = False, custom_profiler_config: str = "",
                 adjust_timestamps: bool = False, trace_only: bool = False, *,
                 most_megabytes: float = 0) -> None:  # fmt: skip
        if most_megabytes < 0:
            raise ValueError(
                f"_ExperimentalConfig: most_megabytes must not be negative, got {most_megabytes}"
            )
        self.profiler_metrics = list(profiler_metrics)
        self.profiler_measure_per_kernel = profiler_measure_per_kernel
        self.verbose, self.performance_events = verbose, list(performance_events)
        self.enable_cuda_sync_events, self.adjust_profiler_step = (
            enable_cuda_sync_events,
            adjust_profiler_step,
        )
        self.disable_external_correlation = disable_external_correlation
        self.profile_all_threads, self.capture_overload_names = profile_all_threads, capture_overload_names
        self.record_python_gc_info = record_python_gc_info
        self.expose_kineto_event_metadata = expose_kineto_event_metadata
        self.custom_profiler_config, self.adjust_timestamps = custom_profiler_config, adjust_timestamps
        self.trace_only, self.most_megabytes = trace_only, most_megabytes


class ProfilerConfig:
    """The configuration of a profile.

    Args:
        state: how events are collected.
        report_input_shapes: whether shapes of arguments are recorded.
        profile_memory: whether allocations are recorded.
        with_stack: whether Python lines are recorded.
        with_flops: whether operations are estimated.
        with_modules: whether calls of modules are recorded.
        experimental_config: experimental settings.
        trace_id: the id of the trace.

    Example:
        >>> ProfilerConfig(ProfilerState.KINETO, True, False, False, False, False).report_input_shapes
        True
    """

    def __init__(self, state: ProfilerState, report_input_shapes: bool, profile_memory: bool, with_stack: bool,
                 with_flops: bool, with_modules: bool, experimental_config: ExperimentalConfig | None = None,
                 trace_id: str = "") -> None:  # fmt: skip
        self.state, self.report_input_shapes, self.profile_memory = state, report_input_shapes, profile_memory
        self.with_stack, self.with_flops, self.with_modules = with_stack, with_flops, with_modules
        self.experimental_config, self.trace_id = experimental_config or ExperimentalConfig(), trace_id
