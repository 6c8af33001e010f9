"""Every global switch of tl by name. Packages declare theirs here, so that one place knows them all.

>>> declare("example.fast", True, bool)
>>> set("example.fast", False)
True
>>> get("example.fast")
False
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_values: dict[str, Any] = {}
_types: dict[str, type] = {}
_watchers: dict[str, Callable[[], None]] = {}


def declare(name: str, default: Any, type: type) -> None:
    """Makes a switch known; a second declaration must agree with the first.

    Args:
        name: the name of the switch.
        default: its value at first.
        type: the type of its values.
    """
    if name in _types and _types[name] is not type:
        raise ValueError(f"the switch {name!r} was declared as {_types[name].__name__}, not {type.__name__}")
    _types[name] = type
    _values.setdefault(name, default)


def get(name: str) -> Any:
    """The switch's value; KeyError names a switch nobody declared."""
    if name not in _values:
        raise KeyError(f"no switch is named {name!r}")
    return _values[name]


def restore(saved: dict[str, Any]) -> None:
    """Sets what `values` returned, also switches whose package has not been loaded yet.

    Args:
        saved: the values by the names of their switches.
    """
    _values.update(saved)


def set(name: str, value: Any) -> Any:
    """Gives the switch a value of its type and returns the one before."""
    before = get(name)
    if not isinstance(value, _types[name]):
        raise TypeError(f"the switch {name!r} takes {_types[name].__name__}, got {type(value).__name__}")
    _values[name] = value
    if name in _watchers:
        _watchers[name]()
    return before


def watch(name: str, callback: Callable[[], None]) -> None:
    """Calls a function whenever a switch is set, so that what heeds it need not ask.

    Args:
        name: the switch.
        callback: the function.

    Example:
        >>> declare("example.loud", False, bool)
        >>> watch("example.loud", lambda: print(get("example.loud")))
        >>> set("example.loud", True)
        True
        False
    """
    _watchers[name] = callback


def values() -> dict[str, Any]:
    """All switches and their values.

    Example:
        >>> declare("example.slow", False, bool)
        >>> values()["example.slow"]
        False
    """
    return dict(_values)
