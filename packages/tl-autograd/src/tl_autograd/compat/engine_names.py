"""What programs look for of the engine and of transforms in PyTorch's native module, `torch._C`."""

from __future__ import annotations

import types
import weakref
from typing import Any

import tl_core
from tl_autograd import _C, forward_ad, graph
from tl_autograd.compat.functorch import native
from tl_autograd.function import Function
from tl_core import Tensor

__all__: list[str] = []

_current_graph_task_id = _C.run_number
_current_autograd_node = _C.current_node
_will_engine_execute_node = _C.will_run
_set_fwd_grad_enabled = forward_ad._set_fwd_grad_enabled
_is_fwd_grad_enabled = forward_ad._is_fwd_grad_enabled


def _debug_only_display_vmap_fallback_warnings(enabled: bool) -> None:
    """Whether an operator that goes through a batch one example after the other warns."""
    native._set_vmap_fallback_warning_enabled(enabled)


def _debug_only_are_vmap_fallback_warnings_enabled() -> bool:
    """Whether it does."""
    return native.loops["warned"]


class _WeakTensorRef:
    """A tensor that is not kept alive."""

    def __init__(self, tensor: Tensor):
        self._ref = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether it is gone."""
        return self._ref() is None


class DelayedError:
    """A function that hands tensors on, and whose derivative raises."""

    def __init__(self, message: str, n: int):
        self._message = message

    def __call__(self, *tensors: Tensor) -> Any:
        results = _C.delayed_error(self._message, tensors)
        return results[0] if len(results) == 1 else results


graph.Node.register(DelayedError)


class _Undefined(Function):
    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> Any:
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None,) * len(grads)


class UndefinedGrad:
    """A function that hands tensors on, and whose derivative is undefined."""

    def __call__(self, *tensors: Tensor) -> Any:
        results = _Undefined.apply(*tensors)
        return results[0] if len(results) == 1 else results


def _accumulate_type() -> type:
    return type(tl_core.zeros(1, requires_grad=True).view(1).grad_fn.next_functions[0][0])


class _Functions(types.ModuleType):
    """The types of nodes, made when they are asked for."""

    DelayedError = DelayedError
    UndefinedGrad = UndefinedGrad

    def __getattr__(self, name: str) -> Any:
        if name == "AccumulateGrad":
            return _accumulate_type()
        raise AttributeError(name)


_functions = _Functions("_functions")


_FALLBACKS = ("nothing", "warn", "error")


def _get_autograd_fallback_mode() -> str:
    """What a backward pass through an operator of a program does, of which only the kernel is known.

    With "nothing" it passes what the kernel's own calls recorded, with "warn" it warns as well, with "error" it raises.
    """
    return _FALLBACKS[_C.set_fallback(None)]


def _set_autograd_fallback_mode(mode: str) -> None:
    """Sets it.

    Raises:
        ValueError: there is no such mode.
    """
    if mode not in _FALLBACKS:
        raise ValueError(f'mode must be "nothing", "warn" or "error", got {mode!r}')
    _C.set_fallback(_FALLBACKS.index(mode))
