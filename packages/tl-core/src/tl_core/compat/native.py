"""What programs look for in PyTorch's native module, `torch._C`, and tl's has not by that name."""

from __future__ import annotations

from typing import Any, NoReturn

import tl_core
from tl_core import _C, overrides
from tl_core.api.build_config import compiled_with_cxx11_abi
from tl_core.base import recording
from tl_core.dispatch import autocast
from tl_core.operators.names import lookup_op
from tl_core.settings.extension_devices import privateuse1_backend_name, rename_privateuse1_backend

__all__: list[str] = []

has_cuda = has_cudnn = has_mps = False
has_mkl = has_openmp = has_mkldnn = _has_mps = _has_cuda = _has_xpu = _has_mkldnn = False
has_spectral = has_lapack = True  # by routines of its own where no library is found
_GLIBCXX_USE_CXX11_ABI = compiled_with_cxx11_abi()
_get_privateuse1_backend_name = privateuse1_backend_name
_rename_privateuse1_backend = rename_privateuse1_backend
_VariableFunctions = _VariableFunctionsClass = tl_core
is_grad_enabled = tl_core.is_grad_enabled
is_autocast_enabled = autocast.is_autocast_enabled
_set_deterministic_algorithms = tl_core.use_deterministic_algorithms
_has_torch_function = overrides.has_torch_function
_disabled_torch_dispatch_impl = _C._disabled_torch_dispatch_impl


def _len_torch_function_stack() -> int:
    """How many modes of `__torch_function__` are on."""
    return len(overrides._modes())


def _get_function_stack_at(index: int) -> Any:
    """A mode of `__torch_function__`, the outermost first."""
    return overrides._modes()[index]


def _is_torch_function_all_disabled() -> bool:
    """Whether neither classes nor modes are asked for `__torch_function__`."""
    return overrides._all_disabled()


def _dispatch_find_schema_or_throw(name: str, overload_name: str) -> Any:
    """An operator by its name and its overload's, for `_dispatch_call_boxed`; RuntimeError without one."""
    return lookup_op(f"{name}.{overload_name}" if overload_name else name)


def _dispatch_call_boxed(handle: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls an operator that was found by its name."""
    return handle(*args, **kwargs)


class _EnablePythonDispatcher:
    """While it lives, kernels in Python are met; here they always are, so that nothing changes."""


def _storage_id(tensor: Any) -> int:
    """What tells the storages of tensors apart that live at the same time."""
    return int(_C._memory_of(tensor)[0])


def _storage_Use_Count(storage_ptr: int) -> int:
    """One more than the tensors that share a storage, which is named by its `_cdata`.

    Args:
        storage_ptr: the number.

    Raises:
        RuntimeError: no living storage whose `_cdata` a program has read has the number.
    """
    return tl_core.UntypedStorage._use_count_of(storage_ptr)


def _get_accelerator(check: bool | None = None) -> Any:
    """The device of the accelerator, or the CPU without one; where `check`, RuntimeError without one."""
    if check:
        raise RuntimeError("no accelerator is available")
    return tl_core.device("cpu")


def _get_default_device() -> str:
    """The type of the device on which tensors are made."""
    return tl_core.get_default_device().type


def _get_cpu_capability() -> str:
    """The instruction set of the kernels."""
    return tl_core.cpu_capability()


def _cuda_getDeviceCount() -> int:
    """How many CUDA devices there are: none."""
    return 0


def _get_tracing_state() -> None:
    """The state of a trace: None, as nothing is traced."""


def _is_tracing() -> bool:
    """Whether a trace is being made: never."""
    return False


def _log_api_usage_once(event: str) -> None:
    """Does nothing: uses aren't counted."""


def _log_api_usage_metadata(event: str, metadata: dict[str, str]) -> None:
    """Does nothing: uses aren't counted."""


def _is_torch_function_enabled() -> bool:
    """Whether classes and modes are asked."""
    return not _C._overrides_disabled()


def _infer_size(a: Any, b: Any) -> Any:
    """The shape to which two shapes are broadcast."""
    return tl_core.broadcast_shapes(a, b)


def _add_docstr(obj: Any, doc: str) -> Any:
    """Gives an object a docstring where it takes one."""
    try:
        obj.__doc__ = doc
    except AttributeError as error:  # native functions keep their own
        if getattr(obj, "__doc__", None) is None:
            raise RuntimeError(f"don't know how to add docstring to type {type(obj).__name__}") from error
    return obj


def _autograd_profiler_enabled() -> bool:
    """Whether something is being recorded."""
    return recording.is_recording()


def _set_warnAlways(on: bool) -> None:
    """As `set_warn_always`."""
    tl_core.set_warn_always(on)


# ---- TorchScript's settings: read back, without an effect ----------------------------------------------------------
_settings: dict[str, Any] = {}


def _setting(name: str, default: Any) -> Any:
    def set_it(value: Any = default) -> Any:
        before, _settings[name] = _settings.get(name, default), value
        return before

    set_it.__name__ = set_it.__qualname__ = name
    set_it.__doc__ = "A setting of TorchScript, which tl doesn't have: returns what was set before."
    return set_it


_jit_set_profiling_executor = _setting("_jit_set_profiling_executor", True)
_jit_set_profiling_mode = _setting("_jit_set_profiling_mode", True)
_jit_set_texpr_fuser_enabled = _setting("_jit_set_texpr_fuser_enabled", False)
_jit_set_nvfuser_enabled = _setting("_jit_set_nvfuser_enabled", False)
_jit_set_bailout_depth = _setting("_jit_set_bailout_depth", 20)
_jit_set_num_profiled_runs = _setting("_jit_set_num_profiled_runs", 1)
_jit_set_nvfuser_guard_mode = _setting("_jit_set_nvfuser_guard_mode", True)
_jit_override_can_fuse_on_cpu = _setting("_jit_override_can_fuse_on_cpu", False)
_jit_override_can_fuse_on_gpu = _setting("_jit_override_can_fuse_on_gpu", False)


def _jit_can_fuse_on_cpu() -> bool:
    """Whether TorchScript would fuse operators on the CPU: what was set."""
    return bool(_settings.get("_jit_override_can_fuse_on_cpu", False))


def _jit_can_fuse_on_gpu() -> bool:
    """Whether TorchScript would fuse operators on a GPU: what was set."""
    return bool(_settings.get("_jit_override_can_fuse_on_gpu", False))


def _jit_clear_class_registry() -> None:
    """Forgets the classes of TorchScript: there are none."""


_debug_set_autodiff_subgraph_inlining = _setting("_debug_set_autodiff_subgraph_inlining", True)
_set_graph_executor_optimize = _setting("_set_graph_executor_optimize", False)


def _get_graph_executor_optimize(new_setting: bool | None = None) -> bool:
    """Whether graphs would be optimized: what was set."""
    before = _settings.get("_set_graph_executor_optimize", False)
    if new_setting is not None:
        _settings["_set_graph_executor_optimize"] = new_setting
    return before


# ---- classes that only a compiler makes ----------------------------------------------------------------------------
class _Absent(type):
    """A class that `isinstance` may be asked about, and of which nothing can be made."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"torch._C.{cls.__name__} is a part of TorchScript, which tl doesn't have")


class Graph(metaclass=_Absent):
    """A graph of TorchScript."""


class Value(metaclass=_Absent):
    """A value in a graph of TorchScript."""


class Node(metaclass=_Absent):
    """A node in a graph of TorchScript."""


class Block(metaclass=_Absent):
    """A block in a graph of TorchScript."""


class CompilationUnit(metaclass=_Absent):
    """Compiled functions of TorchScript."""


class FileCheck(metaclass=_Absent):
    """A check of a graph's text."""


def parse_ir(text: str) -> NoReturn:
    """Reads a graph of TorchScript; raises RuntimeError, as tl has none."""
    raise RuntimeError("torch._C.parse_ir reads graphs of TorchScript, which tl doesn't have")
