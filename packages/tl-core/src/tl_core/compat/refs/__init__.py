"""`torch._refs`: what PyTorch has written in Python for its operators. Here each function is the operator itself."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.operators.packets import aten

__all__ = ["T", "copy_to", "rfloordiv", "rpow", "rtruediv", "swap_axes", "trunc_divide"]


def T(a: Tensor) -> Tensor:
    """The tensor with its dimensions in reverse order."""
    return a.T


def copy_to(a: Tensor, b: Tensor, *, allow_cross_device: bool = True) -> Tensor:
    """Copies `b` into `a`.

    Args:
        a: the tensor that is written.
        b: the tensor that is read, on any device.
        allow_cross_device: whether they may be on different devices.

    Raises:
        RuntimeError: they are on different devices, and may not be.
    """
    if not allow_cross_device and a.device != b.device:
        raise RuntimeError(f"copy_to(): a is on {a.device}, b on {b.device}, and allow_cross_device is False")
    return a.copy_(b)


def rpow(a: Any, b: Any) -> Tensor:
    """`b` to the power of `a`."""
    return tl_core.pow(b, a)


def rtruediv(a: Any, b: Any) -> Tensor:
    """`b` divided by `a`."""
    return tl_core.true_divide(b, a)


def rfloordiv(a: Any, b: Any) -> Tensor:
    """`b` divided by `a`, rounded down."""
    return tl_core.floor_divide(b, a)


def trunc_divide(a: Any, b: Any) -> Tensor:
    """`a` divided by `b`, rounded towards zero."""
    return tl_core.div(a, b, rounding_mode="trunc")


def swap_axes(a: Tensor, axis0: int, axis1: int) -> Tensor:
    """The tensor with two dimensions exchanged."""
    return tl_core.swapaxes(a, axis0, axis1)


def __getattr__(name: str) -> Any:
    """A function of the library, or a method as a function whose first argument is the tensor."""
    if not name.startswith("_"):
        for owner in (tl_core, Tensor):
            function = getattr(owner, name, None)
            if callable(function) and not isinstance(function, type):
                return function
        function = getattr(aten, name, None)
        if function is not None:
            return function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
