"""Why a compiled function needs another graph: the first difference from a call that has one."""

from __future__ import annotations

from typing import Any

from .call_sizes import SizeGuards
from .reachable import trail_of
from .state import State, Unprovable

__all__ = ["key_difference", "size_difference"]


def key_difference(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], key: tuple[Any, ...]) -> str:
    """The first difference of a call's state from an earlier one.

    Args:
        function: the function.
        args, kwargs: the arguments of the call.
        key: the key of the earlier state.

    Returns:
        The name of an object, with its former and its new description.
    """
    try:
        now, trail = trail_of(function, args, kwargs)
    except Unprovable as error:
        return error.reason
    length = min(len(now), len(key))
    index = next((i for i in range(length) if now[i] != key[i]), length)
    name = next((path for start, path in reversed(trail) if start <= index), "the function")
    return f"{name}: expected {_text(key, index)}, got {_text(now, index)}"


def _text(key: tuple[Any, ...], index: int) -> str:
    if index >= len(key):
        return "no more objects"
    return key[index].__qualname__ if isinstance(key[index], type) else repr(key[index])


def size_difference(state: State, guards: SizeGuards) -> str:
    """The first difference of a call's sizes and numbers from those of a graph.

    Args:
        state: that of the call.
        guards: those of the graph.
    """
    for name, now, then in zip(state.names, state.sizes, guards.sizes, strict=True):
        for kind, new, old in zip(("size", "stride"), now, then, strict=True):
            for i, (a, b) in enumerate(zip(new, old, strict=True)):
                if a != b:
                    return f"tensor {name!r} {kind} mismatch at index {i}. expected {b}, actual {a}"
    for (name, number), example in zip(state.numbers, guards.numbers, strict=True):
        if number != example:
            return f"{name}: expected {example}, got {number}"
    return "a condition on sizes doesn't hold"
