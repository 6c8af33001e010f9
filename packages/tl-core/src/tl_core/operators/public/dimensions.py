"""The operators that others know in place of those by which this library computes them below autograd.

One row serves grids of one to three dimensions here; a graph has the operator of its number of dimensions.
"""

from __future__ import annotations

from typing import Any

from tl_core.base.row_facts import facts
from tl_core.operators.packets import aten

__all__ = ["BY_DIMENSIONS", "public_call", "without_defaults"]

# Each takes the arguments of its private operator, and may leave out those with their defaults.
BY_DIMENSIONS: dict[str, dict[int, str]] = {
    private: {int(n): public for n, public in names.items()} for private, names in facts("dimensions").items()
}


def public_call(func: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The call that a graph has for one below autograd.

    Args:
        func: the operator.
        args: its arguments by position.

    Returns:
        The operator that others know, or the same one, and its arguments.

    Example:
        >>> func, args = public_call(aten._avg_pool.default, ("x", [2, 2], [2, 2], [0, 0], False, True, None))
        >>> str(func), args
        ('aten.avg_pool2d.default', ('x', [2, 2], [2, 2]))
    """
    names = BY_DIMENSIONS.get(func._native_name)
    if names is None or len(args[1]) not in names:
        return func, args
    operator = getattr(aten, names[len(args[1])]).default
    return operator, without_defaults(
        operator, args[: len(operator._schema.arguments)]
    )  # one dimension has fewer choices


def without_defaults(func: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments by position, but for the last ones that are as the schema says.

    Args:
        func: the operator.
        args: its arguments.

    Example:
        >>> without_defaults(aten.flatten.using_ints, ("x", 1, -1))
        ('x', 1)
    """
    arguments = func._schema.arguments
    while arguments[len(args) - 1].has_default_value() and _is_default(
        args[-1], arguments[len(args) - 1].default_value
    ):
        args = args[:-1]
    return args


def _is_default(value: Any, default: Any) -> bool:
    """Whether a value is the default, which may stand for each dimension."""
    if isinstance(value, list) and isinstance(default, (int, list)):
        one = default if isinstance(default, int) else default[0] if len(default) == 1 else None
        return value == default or (one is not None and all(n == one for n in value))
    return bool(value == default)
