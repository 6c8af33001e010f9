"""Arithmetic that symbolic numbers can take part in: of plain numbers it is Python's own.

An object is symbolic if its class has a method such as `__sym_float__`; what that returns is the result.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable
from typing import Any

from tl_core.overrides import overridable
from tl_core.symbolic.numbers import FUNCTIONS_OF_ONE

__all__ = ["sym_float", "sym_fresh_size", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sum"]


@overridable
def sym_float(a: Any) -> Any:
    """The number as a float.

    Args:
        a: a number.

    Example:
        >>> sym_float(2)
        2.0
    """
    if hasattr(a, "__sym_float__"):
        return a.__sym_float__()
    return a if isinstance(a, builtins.float) else builtins.float(a)


@overridable
def sym_int(a: Any) -> Any:
    """The number without its fraction, as an int.

    Args:
        a: a number.

    Example:
        >>> sym_int(2.7), sym_int(-2.7)
        (2, -2)
    """
    if hasattr(a, "__sym_int__"):
        return a.__sym_int__()
    return math.trunc(a)


@overridable
def sym_not(a: Any) -> Any:
    """Whether the condition does not hold.

    Args:
        a: a bool.

    Example:
        >>> sym_not(True)
        False
    """
    return a.__sym_not__() if hasattr(a, "__sym_not__") else not a


@overridable
def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers; a float if either is one.

    Args:
        a: a number.
        b: another.

    Raises:
        TypeError: one isn't a number.

    Example:
        >>> sym_max(1, 2.0), sym_max(3, 2.0)
        (2.0, 3.0)
    """
    return _extreme("max", a, b)


@overridable
def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers; a float if either is one.

    Args:
        a: a number.
        b: another.

    Raises:
        TypeError: one isn't a number.

    Example:
        >>> sym_min(1, 2.0)
        1.0
    """
    return _extreme("min", a, b)


def _extreme(name: str, a: Any, b: Any) -> Any:
    method = f"__sym_{name}__"
    for one, other in ((a, b), (b, a)):
        if hasattr(one, method):
            return getattr(one, method)(other)
    for x in (a, b):
        if not isinstance(x, (builtins.int, builtins.float)) or isinstance(x, builtins.bool):
            raise TypeError(f"sym_{name}() takes numbers, got {type(x).__name__}")
    result = (max if name == "max" else min)(a, b)
    return (
        builtins.float(result) if isinstance(a, builtins.float) or isinstance(b, builtins.float) else result
    )


@overridable
def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """One of two values of the same type, as a condition says.

    Args:
        b: the condition.
        t: the value where it holds.
        f: the value where it doesn't.

    Raises:
        TypeError: the condition is no bool, or the values are of different types.

    Example:
        >>> sym_ite(True, 1, 2)
        1
    """
    if hasattr(b, "__sym_ite__"):
        return b.__sym_ite__(t, f)
    if not isinstance(b, builtins.bool) or type(t) is not type(f):
        raise TypeError(
            f"sym_ite() takes a bool and two values of one type, got {type(b).__name__}, {type(t).__name__} and "
            f"{type(f).__name__}"
        )
    return t if b else f


@overridable
def sym_sum(args: Iterable[Any]) -> Any:
    """The sum of numbers; 0 of none.

    Args:
        args: the numbers.

    Example:
        >>> sym_sum([1, 2, 3])
        6
    """
    total: Any = 0
    for a in args:
        total = total + a
    return total


def sym_fresh_size(expr: Any) -> Any:
    """The size that an expression gives, as a number of its own in a trace; of plain numbers the number.

    Args:
        expr: the expression.

    Raises:
        ValueError: it is negative.

    Example:
        >>> sym_fresh_size(3)
        3
    """
    if expr < 0:
        raise ValueError(f"sym_fresh_size() takes a size, which isn't negative, got {expr}")
    return expr


def _function(name: str) -> Any:
    def sym_function(a: Any) -> Any:
        method = f"__sym_{name}__"
        return getattr(a, method)() if hasattr(a, method) else getattr(math, name)(a)

    sym_function.__name__ = sym_function.__qualname__ = f"_sym_{name}"
    sym_function.__doc__ = f"The function {name} of a number, symbolic or plain."
    return overridable(sym_function)


_sym_sqrt: Any  # the stub of tl names it
globals().update({f"_sym_{name}": _function(name) for name in FUNCTIONS_OF_ONE})
