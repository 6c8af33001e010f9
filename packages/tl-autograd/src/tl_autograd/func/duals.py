"""Dual tensors: views with a tangent of a level."""

from __future__ import annotations

import tl_core
from tl_autograd import _C
from tl_core import Tensor
from tl_core.overrides import has_torch_function_unary, overridable

__all__ = ["alias", "dual"]


def alias(x: Tensor) -> Tensor:
    """Another object of a tensor. In a trace, an alias names no sizes; sparse tensors have views of whole tensors."""
    return x[...] if x.layout == tl_core.strided else x.view_as(x)


def dual(tensor: Tensor, tangent: Tensor, level: int) -> Tensor:
    """A view of a tensor with a tangent.

    Args:
        tensor: the value.
        tangent: its tangent, of the same shape and type.
        level: the serial number of the level of the tangent.
    """
    if has_torch_function_unary(tensor):
        return _make_dual(tensor, tangent, level)
    result = alias(tensor)
    _C.set_tangent(result, tangent, level)
    return result


@overridable
def _make_dual(tensor: Tensor, tangent: Tensor, level: int) -> Tensor:
    """`dual` as subclasses see it: one function, as in PyTorch, instead of the functions of the view."""
    result = alias(tensor)
    _C.set_tangent(result, tangent, level)
    return result
