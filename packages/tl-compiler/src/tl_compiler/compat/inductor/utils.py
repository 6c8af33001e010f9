"""Questions about values of graphs, as programs ask the reference's code generator."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor, strided
from tl_core.symbolic.numbers import SymInt

__all__ = ["is_symbolic"]


def is_symbolic(a: Any) -> bool:
    """Whether a value is a symbolic number, or a tensor that has one among its sizes and strides.

    Args:
        a: the value.

    Example:
        >>> is_symbolic(3)
        False
    """
    if isinstance(a, Tensor):
        return any(isinstance(n, SymInt) for n in (*a.shape, *(a.stride() if a.layout is strided else ())))
    return isinstance(a, SymInt)
