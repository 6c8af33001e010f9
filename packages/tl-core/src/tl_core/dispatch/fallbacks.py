"""One function for all operators at a dispatch key: a thread's calls meet it while the key is included."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tl_core import _C
from tl_core.dispatch.keys import DispatchKey, DispatchKeySet
from tl_core.dispatch.layers import EVERY_KEY, excluded_layers, layers_of

__all__ = ["ForceDispatchKeyGuard", "IncludeDispatchKeyGuard", "excluded_keys", "included_keys"]


class _Keys(threading.local):
    """What this thread's calls meet beyond what their arguments ask for."""

    included = DispatchKeySet()
    excluded = DispatchKeySet()
    passed_on_to = EVERY_KEY  # of a call that a function has passed on

    def in_force(self, key: Any) -> bool:
        return self.included.has(key) and not self.excluded.has(key) and self.passed_on_to.has(key)


_here = _Keys()
_modes: dict[Any, _AtKey] = {}


class _AtKey:
    """A key's function, as a mode of the layer `python`."""

    def __init__(self, key: Any, function: Callable[..., Any], with_keyset: bool) -> None:
        self._key, self._function, self._with_keyset = key, function, with_keyset

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if not _here.in_force(self._key):
            return func(*args, **(kwargs or {}))
        keys = (_here.included | EVERY_KEY,) if self._with_keyset else ()
        with _passed_on(EVERY_KEY), _modes_on():
            return self._function(*keys, func, *args, **(kwargs or {}))


@contextmanager
def _modes_on() -> Iterator[None]:
    """A region in which calls meet the functions of all included keys, that of the highest first."""
    stack = _C._mode_stack(_C._LAYER_PYTHON)
    missing = [
        _modes[key] for key in reversed(list(_here.included)) if key in _modes and _modes[key] not in stack
    ]
    for mode in missing:
        _C._push_mode(_C._LAYER_PYTHON, mode)
    try:
        yield
    finally:
        for _ in missing:
            _C._pop_mode(_C._LAYER_PYTHON)


@contextmanager
def _passed_on(keys: DispatchKeySet) -> Iterator[None]:
    before, _here.passed_on_to = _here.passed_on_to, keys
    try:
        yield
    finally:
        _here.passed_on_to = before


def put(key: str, function: Callable[..., Any] | None, with_keyset: bool = False) -> None:
    """Makes a function a key's, or takes it away.

    Args:
        key: the key.
        function: gets the operator and its arguments; None for no function.
        with_keyset: whether it gets, ahead of all, the keys that a call may meet.
    """
    _modes.pop(DispatchKey[key], None)
    if function is not None:
        _modes[DispatchKey[key]] = _AtKey(DispatchKey[key], function, with_keyset)


def passed_on(keys: DispatchKeySet) -> Any:
    """A region in which calls meet the functions of these keys alone, up to the first that is met.

    Args:
        keys: the keys.
    """
    return _passed_on(keys)


def included_keys() -> DispatchKeySet:
    """The keys that all calls of this thread meet."""
    return _here.included


def excluded_keys() -> DispatchKeySet:
    """The keys that no call of this thread meets."""
    return _here.excluded


class ForceDispatchKeyGuard:
    """A region in which exactly some keys are included and excluded.

    Args:
        include: those that calls meet whatever their arguments are.
        exclude: those that no call meets.
    """

    def __init__(self, include: DispatchKeySet, exclude: DispatchKeySet) -> None:
        self._keys = include, exclude
        self._layers = excluded_layers(*sorted(layers_of(exclude)))

    def __enter__(self) -> ForceDispatchKeyGuard:
        self._before = _here.included, _here.excluded
        _here.included, _here.excluded = self._keys
        self._on = _modes_on()
        self._on.__enter__()
        self._layers.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._layers.__exit__()
        self._on.__exit__(None, None, None)
        _here.included, _here.excluded = self._before


class IncludeDispatchKeyGuard(ForceDispatchKeyGuard):
    """A region in which calls meet some keys more.

    Args:
        keys: a key, or a set of them.
    """

    def __init__(self, keys: Any) -> None:
        super().__init__(included_keys() | DispatchKeySet(keys), excluded_keys())
