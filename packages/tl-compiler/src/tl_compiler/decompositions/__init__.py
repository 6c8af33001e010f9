"""Operators said in others: the table to the core operators. The functions take symbolic sizes.

A function may return `NotImplemented` for arguments of which it knows no decomposition; the operator stays whole then.
Operators that are made of others in their rows need no entry: `export` takes those apart by running them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core.operators.packets

from . import activations, arithmetic, losses, norms, products, reductions, shapes, view_copies
from .registry import FUNCTIONS

__all__ = [
    "core_aten_decompositions",
    "core_decompositions",
    "decomposition_table",
    "get_decompositions",
    "global_decomposition_table",
    "meta_table",
    "pre_autograd_decomposition_table",
    "register_decomposition",
    "remove_decompositions",
]

_FAMILIES = (
    activations,
    arithmetic,
    losses,
    norms,
    products,
    reductions,
    shapes,
    view_copies,
)  # their functions enter the table


def core_decompositions() -> dict[Any, Callable[..., Any]]:
    """The decompositions to the core operators.

    Returns:
        From operators to functions.

    Example:
        >>> from tl_core import ops
        >>> ops.aten.silu.default in core_decompositions()
        True
    """
    table = {}
    for name, function in FUNCTIONS.items():
        base, _, overload = name.partition(".")
        table[getattr(getattr(tl_core.operators.packets.aten, base), overload)] = function
    return table


core_aten_decompositions = core_decompositions

global_decomposition_table: dict[str, dict[Any, Callable[..., Any]]] = {
    "post_autograd": core_decompositions(),
    "pre_autograd": {},
    "meta": {},
}
decomposition_table = global_decomposition_table["post_autograd"]
pre_autograd_decomposition_table = global_decomposition_table["pre_autograd"]
meta_table = global_decomposition_table["meta"]


def _overloads(aten_op: Any) -> list[Any]:
    """The operators that an operator, a name with overloads, or a sequence of both stands for."""
    if isinstance(aten_op, (list, tuple, set)):
        return [op for each in aten_op for op in _overloads(each)]
    names = aten_op.overloads() if hasattr(aten_op, "overloads") else None
    return [aten_op] if names is None else [getattr(aten_op, n) for n in names]


def get_decompositions(aten_ops: Any, type: str = "post_autograd") -> dict[Any, Callable[..., Any]]:
    """The decompositions of some operators.

    Args:
        aten_ops: operators, or names with all of their overloads.
        type: `post_autograd`, `pre_autograd` or `meta`: the table.

    Returns:
        From operators to functions.

    Raises:
        AssertionError: there is no such table.

    Example:
        >>> from tl_core import ops
        >>> [str(op) for op in get_decompositions([ops.aten.silu])]
        ['aten.silu.default']
    """
    table, selection = _table(type), set(_overloads(list(aten_ops)))
    return {op: f for op, f in table.items() if op in selection}


def _table(type: str) -> dict[Any, Callable[..., Any]]:
    if type not in global_decomposition_table:
        raise AssertionError(f"type must be one of {set(global_decomposition_table)}, got {type!r}")
    return global_decomposition_table[type]


def remove_decompositions(decompositions: dict[Any, Callable[..., Any]], aten_ops: Any) -> None:
    """Takes the entries of some operators out of a table.

    Args:
        decompositions: the table.
        aten_ops: operators, or names with all of their overloads.

    Example:
        >>> from tl_core import ops
        >>> table = core_decompositions()
        >>> remove_decompositions(table, [ops.aten.silu])
        >>> ops.aten.silu.default in table
        False
    """
    for op in _overloads(list(aten_ops)):
        decompositions.pop(op, None)


def register_decomposition(
    aten_op: Any,
    registry: dict[Any, Callable[..., Any]] | None = None,
    *,
    type: str = "post_autograd",
    unsafe: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that enters a function into a table of decompositions.

    Args:
        aten_op: the operator, or several; a name stands for all of its overloads.
        registry: the table; None: that of the type.
        type: `post_autograd`, `pre_autograd` or `meta`.
        unsafe: taken for compatibility; results of functions are used as they are.

    Returns:
        The decorator.

    Raises:
        AssertionError: there is no such table.

    Example:
        >>> from tl_core import ops
        >>> table = {}
        >>> @register_decomposition(ops.aten.relu.default, table)
        ... def relu(x):
        ...     return x.clamp(min=0)
        >>> list(table) == [ops.aten.relu.default]
        True
    """
    table = _table(type) if registry is None else registry

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for op in _overloads(aten_op):
            table[op] = function
        return function

    return register
