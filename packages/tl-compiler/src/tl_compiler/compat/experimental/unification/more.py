"""Unification of objects by their attributes."""

# mypy: disable-error-code="no-redef"
from __future__ import annotations

from typing import Any

from .core import reify, unify
from .dispatch import dispatch

__all__ = ["reify_object", "unifiable", "unify_object"]


def unifiable(cls: type) -> type:
    """A class decorator: objects of the class unify if their attributes do.

    Args:
        cls: the class.

    Returns:
        The class.

    Example:
        >>> from tl_compiler.compat.experimental.unification import var
        >>> @unifiable
        ... class Point:
        ...     def __init__(self, x, y):
        ...         self.x, self.y = x, y
        >>> a = var()
        >>> unify(Point(1, a), Point(1, 2), {}) == {a: 2}
        True
    """
    from .core import _reify, _unify

    _unify.add((cls, cls, dict), unify_object)
    _reify.add((cls, dict), reify_object)
    return cls


def reify_object(o: Any, s: dict[Any, Any]) -> Any:
    """An object with the values of the variables among its attributes.

    Args:
        o: the object.
        s: the values.

    Returns:
        The object itself if nothing changes, or a new one.
    """
    if hasattr(o, "__slots__"):
        before = {name: getattr(o, name) for name in o.__slots__}
    else:
        before = o.__dict__
    after = reify(before, s)
    if after == before:
        return o
    result = object.__new__(type(o))
    for name, value in after.items():
        setattr(result, name, value)
    return result


@dispatch(slice, dict)
def _reify(o: slice, s: dict[Any, Any]) -> slice:
    return slice(*reify((o.start, o.stop, o.step), s))


def unify_object(u: Any, v: Any, s: dict[Any, Any]) -> Any:
    """Unifies the attributes of two objects of one class.

    Args:
        u, v: the objects.
        s: values that are given.

    Returns:
        The values, or False.
    """
    if type(u) is not type(v):
        return False
    if hasattr(u, "__slots__"):
        return unify([getattr(u, n) for n in u.__slots__], [getattr(v, n) for n in v.__slots__], s)
    return unify(u.__dict__, v.__dict__, s)


@dispatch(slice, slice, dict)
def _unify(u: slice, v: slice, s: dict[Any, Any]) -> Any:
    return unify((u.start, u.stop, u.step), (v.start, v.stop, v.step), s)
