"""The engine and profiling: the names of `torch._C._autograd` that programs use."""

from typing import Any

from tl_autograd import _C
from tl_autograd._C import SavedTensor
from tl_autograd.profiler import kineto_available, supported_activities
from tl_autograd.profiler import profiler_type as _profiler_type
from tl_autograd.profiler_kinds import DeviceType, ProfilerActivity
from tl_autograd.profiler_results import KinetoEvent as _KinetoEvent
from tl_autograd.profiler_results import ProfilerResult as _ProfilerResult
from tl_core.base import recording
from tl_core.base.recording import EventRange
from tl_core.base.recording import is_recording as _profiler_enabled
from tl_core.tensors.version_counters import set_versions

__all__ = ["DeviceType", "ProfilerActivity", "SavedTensor", "_KinetoEvent", "_ProfilerResult", "_profiler_enabled",
           "_profiler_type",
           "_get_current_graph_task_keep_graph", "_saved_tensors_hooks_disable", "_saved_tensors_hooks_enable",
           "_saved_tensors_hooks_is_enabled",
           "_record_function_with_args_enter", "_record_function_with_args_exit",
           "_supported_activities", "kineto_available"]  # fmt: skip

_supported_activities = supported_activities
_get_current_graph_task_keep_graph = _C.keeps_graph
_saved_tensors_hooks_disable = _C.disable_saved_hooks
_unsafe_set_version_counter = set_versions


def _saved_tensors_hooks_enable() -> None:
    """Allows hooks on saved tensors again."""
    _C.disable_saved_hooks(None)


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether hooks on saved tensors are allowed."""
    before = _C.disable_saved_hooks(None)
    if before is not None:
        _C.disable_saved_hooks(before)
    return before is None


def _record_function_with_args_enter(name: str, *args: Any) -> EventRange:
    """Begins a labelled block; `_record_function_with_args_exit` ends it.

    Args:
        name: the name.
        args: what it is called with; not told.
    """
    return EventRange(name).__enter__()


def _record_function_with_args_exit(handle: EventRange) -> None:
    """Ends a labelled block."""
    handle.__exit__()


def _is_checkpoint_valid() -> bool:
    """Whether a checkpoint may run again what it left out: not while `grad`, or `backward` with `inputs`, runs."""
    return _C.current_node() is None or _C.fills_leaves()


def _disable_profiler() -> _ProfilerResult:
    """Ends a recording that nobody else ends, and tells what it has.

    Raises:
        RuntimeError: nothing is recorded.
    """
    if not recording.is_recording():
        raise RuntimeError("Can't disable Kineto profiler when it's not running")
    return _ProfilerResult(recording.stop(), recording.take_foreign(), recording.take_described())
