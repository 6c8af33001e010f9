"""Logical variables."""

# mypy: disable-error-code="no-redef"
from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from tl_compiler.fx.type_variable import Var

from .dispatch import dispatch
from .utils import hashable

__all__ = ["Var", "isvar", "var", "variables", "vars"]

_glv: set[Any] = set()  # values that stand for variables within `variables`


def var() -> Any:
    """A new variable.

    Returns:
        The variable.

    Example:
        >>> from tl_compiler.compat.experimental.unification import unify, var
        >>> x = var()
        >>> unify((1, x), (1, 2), {})[x]
        2
    """
    return Var()


def vars() -> Any:
    """Makes a function of new variables.

    Returns:
        A function that takes how many, and returns them in a list.

    Example:
        >>> first, second = vars()(2)
        >>> first == second
        False
    """
    return lambda n: [var() for _ in range(n)]


@dispatch(Var)
def isvar(v: Any) -> bool:
    """Whether a value is a variable."""
    return True


@dispatch(object)
def isvar(o: Any) -> bool:  # noqa: F811
    """Whether a value stands for a variable within `variables`."""
    return bool(_glv) and hashable(o) and o in _glv


@contextmanager
def variables(*values: Hashable) -> Iterator[None]:
    """Inside, plain values stand for logical variables.

    Args:
        values: the values.

    Example:
        >>> from tl_compiler.compat.experimental.unification import unify
        >>> with variables(0):
        ...     unify((0, 1), (5, 1), {})
        {0: 5}
    """
    before = _glv.copy()
    _glv.update(values)
    try:
        yield
    finally:
        _glv.clear()
        _glv.update(before)
