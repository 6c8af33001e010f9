"""Operators said in others: the table to the core operators. The functions take symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core.ops

from . import functions

__all__ = [
    "core_aten_decompositions",
    "core_decompositions",
    "decomposition_table",
    "get_decompositions",
    "register_decomposition",
]

_TABLE = {
    "linear.default": functions.linear,
    "conv1d.default": functions.conv1d,
    "conv2d.default": functions.conv2d,
    "conv3d.default": functions.conv3d,
    "dropout.default": functions.dropout,
    "flatten.using_ints": functions.flatten,
    "contiguous.default": functions.contiguous,
    "reshape.default": functions.reshape,
    "softmax.int": functions.softmax,
    "log_softmax.int": functions.log_softmax,
    "matmul.default": functions.matmul,
    "t.default": functions.t,
    "transpose.int": functions.transpose,
    "type_as.default": functions.type_as,
    "square.default": functions.square,
}


def core_decompositions() -> dict[Any, Callable[..., Any]]:
    """The decompositions to the core operators.

    Returns:
        From operators to functions.
    """
    made = {}
    for name, function in _TABLE.items():
        base, _, overload = name.partition(".")
        packet = getattr(tl_core.ops.aten, base, None)
        found = getattr(packet, overload, None)
        if found is not None:
            made[found] = function
    return made


core_aten_decompositions = core_decompositions


def get_decompositions(aten_ops: Any) -> dict[Any, Callable[..., Any]]:
    """The decompositions of some operators.

    Args:
        aten_ops: operators, or names with all of their overloads.

    Returns:
        From operators to functions.
    """
    table, wanted = core_decompositions(), set()
    for op in aten_ops:
        names = op.overloads() if hasattr(op, "overloads") else None
        wanted |= {getattr(op, n) for n in names} if names is not None else {op}
    return {op: f for op, f in table.items() if op in wanted}


decomposition_table: dict[Any, Callable[..., Any]] = core_decompositions()


def register_decomposition(
    aten_op: Any, registry: dict[Any, Callable[..., Any]] | None = None, *, type: str = "post_autograd"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that enters a function into a table of decompositions.

    Args:
        aten_op: the operator, or several; a name stands for all of its overloads.
        registry: the table; None: `decomposition_table`.
        type: accepted.

    Returns:
        The decorator.
    """
    table = decomposition_table if registry is None else registry

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for op in aten_op if isinstance(aten_op, (list, tuple)) else (aten_op,):
            names = op.overloads() if hasattr(op, "overloads") else None
            for found in [getattr(op, n) for n in names] if names is not None else [op]:
                table[found] = function
        return function

    return register
