"""Forks beside threads that load modules.

A forked child has one thread, and a copy of all locks. A module that another thread was loading stays locked there, and
whoever imports it waits for ever. tl loads many of its modules, and NumPy, when they are first used, also in threads.
So a fork waits until no other thread is loading a module, and what was being loaded all the same is unlocked in the
child. So are locks of the standard library that have no hook of their own.

>>> foreign_imports()
{}
"""

from __future__ import annotations

import operator
import os
import sys
import time
from _frozen_importlib import _module_locks  # type: ignore[attr-defined]
from _thread import get_ident
from typing import Any

__all__ = ["foreign_imports"]

_locks: dict[str, Any] = _module_locks  # by name, weak references to locks, while modules are being loaded

_LIMIT = 5.0  # seconds that a fork waits at most
_SHORT_LIMIT = 1.0  # the same where the other thread may be waiting for what the forking one holds
_STEP = 0.001
# Modules of the standard library whose hooks take a lock before a fork and release it afterwards.
_HOOK_LOCKS = {"logging": "_lock", "concurrent.futures.thread": "_global_shutdown_lock"}
# Modules of the standard library whose lock has no hook: the first temporary file of a process is made under one, the
# tracker of named shared memory starts under the other. What they guard is complete before it is stored.
_PLAIN_LOCKS = {
    "tempfile": operator.attrgetter("_once_lock"),
    "multiprocessing.resource_tracker": operator.attrgetter("_resource_tracker._lock"),
}

# What was waited for in vain, which no later fork waits for: a module that runs the whole program is loaded for hours.
_endless: set[tuple[str, int]] = set()


def _owners() -> dict[str, int]:
    """The modules that are being loaded, each with the thread that does it."""
    locks = ((name, reference()) for name, reference in list(_locks.items()))
    owners = ((name, getattr(lock, "owner", None)) for name, lock in locks)
    return {name: owner for name, owner in owners if owner is not None}


def foreign_imports() -> dict[str, int]:
    """The modules that other threads are loading, each with the number of its thread."""
    own = get_ident()
    return {name: owner for name, owner in _owners().items() if owner != own}


def _wait_for_imports() -> None:
    """Waits until no other thread is loading a module."""
    holds_lock = _holds_logging()
    if not _locks:
        return
    holds_lock = holds_lock or get_ident() in _owners().values()
    end = time.monotonic() + (_SHORT_LIMIT if holds_lock else _LIMIT)
    absent = _HOOK_LOCKS.keys() - sys.modules.keys()
    while foreign := foreign_imports().items() - _endless:
        if time.monotonic() > end:
            _endless.update(foreign)
            break
        time.sleep(_STEP)
    for name in absent & sys.modules.keys():
        _take_lock(name)


def _take_lock(name: str) -> None:
    """Takes the lock of a module that was loaded during the wait: its hook releases it after the fork."""
    module: Any = sys.modules[name]
    if not getattr(module.__spec__, "_initializing", False):
        getattr(module, _HOOK_LOCKS[name]).acquire()


def _unlock_imports() -> None:
    """Forgets, in a forked child, what threads were loading that are not there any more: it is loaded again."""
    for name in foreign_imports():
        _locks.pop(name, None)
        spec: Any = getattr(sys.modules.get(name), "__spec__", None)
        if getattr(spec, "_initializing", False):
            del sys.modules[name]


def _release_plain_locks() -> None:
    """Releases, in a forked child, the plain locks of the standard library that threads held in the parent."""
    for name, lock in _PLAIN_LOCKS.items():
        module = sys.modules.get(name)
        if module is not None and not getattr(module.__spec__, "_initializing", False):
            lock(module)._at_fork_reinit()


def _holds_logging() -> bool:
    """Whether this thread may hold the lock of `logging`, which many modules take while they are loaded.

    Hooks run before a fork in the reverse order of their registration. That of `logging` takes the lock. Where it was
    loaded later than this module, it runs first, once: the next fork finds a registration that is younger still.
    """
    global _is_first
    if _is_first or "logging" not in sys.modules:
        return False
    os.register_at_fork(before=_wait_for_imports)
    _is_first = True
    return True


_is_first = "logging" in sys.modules
os.register_at_fork(before=_wait_for_imports, after_in_child=_unlock_imports)
os.register_at_fork(after_in_child=_release_plain_locks)
