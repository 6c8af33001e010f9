"""Decompositions of PyTorch's code generator: the function that libraries extend its table by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...decompositions import register_decomposition as _register

__all__ = ["decompositions", "register_decomposition"]

#: The functions that programs registered, by their operators. Graphs run operator by operator, without the table.
decompositions: dict[Any, Callable[..., Any]] = {}


def register_decomposition(ops: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that enters a function into the table.

    Args:
        ops: the operator, or a list of operators.

    Example:
        >>> from tl_core import ops
        >>> @register_decomposition(ops.aten.relu.default)
        ... def relu(x):
        ...     return x.clamp(min=0)
        >>> decompositions.pop(ops.aten.relu.default) is relu
        True
    """
    return _register(ops, decompositions)
