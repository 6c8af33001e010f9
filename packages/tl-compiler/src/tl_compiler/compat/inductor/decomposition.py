"""Decompositions of PyTorch's code generator: the function that libraries extend its table by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...decompositions import register_decomposition as _register

__all__ = ["decompositions", "register_decomposition", "select_decomp_table"]

#: The functions that programs registered, by their operators. Graphs for custom passes and patterns use them.
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


def select_decomp_table() -> dict[Any, Callable[..., Any]]:
    """The table, which graphs of patterns and of custom passes are traced with.

    Example:
        >>> select_decomp_table() is decompositions
        True
    """
    return decompositions
