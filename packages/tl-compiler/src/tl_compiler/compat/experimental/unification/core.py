"""Unification: which values variables need so that two terms are the same."""

# mypy: disable-error-code="no-redef"
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from .dispatch import dispatch
from .unification_tools import assoc
from .utils import transitive_get as walk
from .variable import isvar

__all__ = ["reify", "unify"]

Substitution = dict[Any, Any]


@dispatch(Iterator, dict)
def _reify(t: Any, s: Substitution) -> Any:
    return map(partial(reify, s=s), t)


@dispatch(tuple, dict)
def _reify(t: Any, s: Substitution) -> Any:
    return tuple(reify(part, s) for part in t)


@dispatch(list, dict)
def _reify(t: Any, s: Substitution) -> Any:
    return [reify(part, s) for part in t]


@dispatch(dict, dict)
def _reify(d: Any, s: Substitution) -> Any:
    return {key: reify(value, s) for key, value in d.items()}


@dispatch(object, dict)
def _reify(o: Any, s: Substitution) -> Any:
    return o  # a leaf


def reify(e: Any, s: Substitution) -> Any:
    """A term with the values of its variables.

    Args:
        e: the term.
        s: the values.

    Returns:
        The term.

    Example:
        >>> from tl_compiler.compat.experimental.unification import var
        >>> x, y = var(), var()
        >>> reify((1, x, (3, y)), {x: 2, y: 4})
        (1, 2, (3, 4))
    """
    if isvar(e):
        return reify(s[e], s) if e in s else e
    return _reify(e, s)


@dispatch((tuple, list), (tuple, list), dict)
def _unify(u: Any, v: Any, s: Substitution) -> Any:
    if len(u) != len(v) or type(u) is not type(v):
        return False
    for a, b in zip(u, v, strict=True):
        s = unify(a, b, s)
        if s is False:
            return False
    return s


@dispatch(dict, dict, dict)
def _unify(u: Any, v: Any, s: Substitution) -> Any:
    if u.keys() != v.keys():
        return False
    for key, value in u.items():
        s = unify(value, v[key], s)
        if s is False:
            return False
    return s


@dispatch(object, object, dict)
def _unify(u: Any, v: Any, s: Substitution) -> Any:
    return False  # two leaves that aren't equal


@dispatch(object, object, dict)
def unify(u: Any, v: Any, s: Substitution) -> Any:
    """The values that variables need so that two terms are the same.

    Args:
        u, v: the terms.
        s: values that are given.

    Returns:
        The values by variable, or False if there are none.

    Example:
        >>> from tl_compiler.compat.experimental.unification import Var
        >>> unify((1, Var("x")), (1, 2), {})
        {~x: 2}
    """
    u, v = walk(u, s), walk(v, s)
    if u is v or u == v:
        return s
    if isvar(u):
        return assoc(s, u, v)
    if isvar(v):
        return assoc(s, v, u)
    return _unify(u, v, s)


@dispatch(object, object)
def unify(u: Any, v: Any) -> Any:  # noqa: F811
    """As above, with no values given."""
    return unify(u, v, {})
