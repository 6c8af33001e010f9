"""What unification needs besides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["_toposort", "hashable", "raises", "reverse_dict", "transitive_get", "xfail"]


def hashable(x: Any) -> bool:
    """Whether a value can be a key of a dictionary.

    Args:
        x: the value.

    Returns:
        True if it has a hash.
    """
    try:
        hash(x)
    except TypeError:
        return False
    return True


def transitive_get(key: Any, d: dict[Any, Any]) -> Any:
    """What a key leads to, where values may be keys themselves.

    Args:
        key: the key.
        d: the dictionary.

    Returns:
        The last value; the key itself if it is not there.

    Example:
        >>> transitive_get(1, {1: 2, 2: 3, 3: 4})
        4
    """
    while hashable(key):
        following = d.get(key, key)
        if following is key or following == key:
            break
        key = following
    return key


def raises(err: type[BaseException], lamda: Callable[[], Any]) -> bool:
    """Whether a call raises an exception.

    Args:
        err: its class.
        lamda: the call.

    Returns:
        True if it does.
    """
    try:
        lamda()
    except err:
        return True
    return False


def _toposort(edges: dict[Any, Iterable[Any]]) -> list[Any]:
    """Orders what depends on what: a key comes before its values.

    Raises:
        ValueError: there is a cycle.
    """
    incoming: dict[Any, set[Any]] = {}
    for source, targets in edges.items():
        for target in targets:
            incoming.setdefault(target, set()).add(source)
    ready = [node for node in edges if node not in incoming]
    ordered: list[Any] = []
    while ready:
        node = ready.pop(0)
        ordered.append(node)
        for target in edges.get(node, ()):
            incoming[target].discard(node)
            if not incoming[target]:
                del incoming[target]
                ready.append(target)
    if incoming:
        raise ValueError("Input has cycles")
    return ordered


def reverse_dict(d: dict[Any, Iterable[Any]]) -> dict[Any, tuple[Any, ...]]:
    """The same edges the other way round.

    Args:
        d: from keys to several values.

    Returns:
        From each value to its keys.

    Example:
        >>> reverse_dict({"a": (1, 2), "b": (2, 3)})
        {1: ('a',), 2: ('a', 'b'), 3: ('b',)}
    """
    turned: dict[Any, tuple[Any, ...]] = {}
    for key, values in d.items():
        for value in values:
            turned[value] = (*turned.get(value, ()), key)
    return turned


def xfail(func: Callable[[], Any]) -> None:
    """Raises unless a call fails.

    Args:
        func: the call.

    Raises:
        AssertionError: it did not fail.
    """
    try:
        func()
    except Exception:
        return
    raise AssertionError("XFailed test passed")
