"""Marks of functions for the compiler: what a capture does in place of a call."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

__all__ = [
    "ALLOW",
    "CONSTANT",
    "FORBID",
    "NONSTRICT",
    "REFUSE",
    "SUBSTITUTE",
    "Mark",
    "check_signatures",
    "mark",
    "mark_of",
    "unmark",
]

ALLOW, CONSTANT, FORBID = "allow", "constant", "forbid"
NONSTRICT, REFUSE, SUBSTITUTE = "nonstrict", "refuse", "substitute"


class Mark(NamedTuple):
    """What a capture does in place of a call.

    Args:
        kind: `ALLOW`: it records one node. `CONSTANT`: it calls the function and records the result as a constant.
            `FORBID`: it raises an error. `NONSTRICT`: it calls the function without a watch. `REFUSE`: it stops.
            `SUBSTITUTE`: it calls another function.
        substitute: the other function.
    """

    kind: str
    substitute: Callable[..., Any] | None = None


_of_functions: weakref.WeakKeyDictionary[Any, Mark] = weakref.WeakKeyDictionary()
_of_others: dict[int, tuple[Any, Mark]] = {}  # objects of C, and those without weak references, by their id


def mark(fn: Any, kind: str, substitute: Callable[..., Any] | None = None) -> None:
    """Marks a function.

    Args:
        fn: the function.
        kind: the kind of the mark.
        substitute: the function that a capture calls in its place.
    """
    if isinstance(fn, FunctionType):
        _of_functions[fn] = Mark(kind, substitute)
    else:
        _of_others[id(fn)] = fn, Mark(kind, substitute)


def unmark(fn: Any) -> None:
    """Removes the mark of a function.

    Args:
        fn: the function.
    """
    if isinstance(fn, FunctionType):
        _of_functions.pop(fn, None)
    else:
        _of_others.pop(id(fn), None)


def mark_of(fn: Any) -> Mark | None:
    """The mark of a function; None: it has none.

    Args:
        fn: the function.

    Example:
        >>> mark_of(len) is None
        True
    """
    if isinstance(fn, FunctionType):
        return _of_functions.get(fn) if _of_functions else None
    entry = _of_others.get(id(fn)) if _of_others else None
    return None if entry is None else entry[1]


def check_signatures(original: Any, substitute: Any) -> None:
    """Compares the parameters of a function with those of its substitute.

    Args:
        original: the function.
        substitute: the substitute.

    Raises:
        TypeError: the parameters differ in names, kinds or defaults.

    Example:
        >>> check_signatures(lambda x, y=1: x, lambda x, y=1: y)
    """
    try:
        expected, received = inspect.signature(original), inspect.signature(substitute)
    except ValueError:  # a function of C without a signature
        return
    if list(map(_facts, expected.parameters.values())) != list(map(_facts, received.parameters.values())):
        name = getattr(original, "__qualname__", original)
        raise TypeError(
            f"Signature mismatch between {name}{expected} and its substitute {received}: the substitute needs the same "
            "parameters, or skip_signature_check=True"
        )


def _facts(parameter: inspect.Parameter) -> tuple[str, Any, bool]:
    return parameter.name, parameter.kind, parameter.default is inspect.Parameter.empty
