"""The groups of this process, in one object."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from ..stores.store import Store
from .process_group import ProcessGroup


class World:
    """All groups of a process.

    Attributes:
        default: the group of all processes; None before it is made.
        groups: all groups, in the order in which they were made.
        store: where the processes meet; None before the default group is made.
        round: how often a world has been made on this store before; every key stands under it.
        made: how many groups were asked for, also those that this process isn't in.
        meetings: how often a group of these ranks was made.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forgets everything."""
        self.default: ProcessGroup | None = None
        self.groups: list[ProcessGroup] = []
        self.store: Store | None = None
        self.round = 0
        self.made = 0
        self.meetings: Counter[tuple[int, ...]] = Counter()


class _OfThread(threading.local):
    world: World | None = None


_process = World()
_thread = _OfThread()


def current() -> World:
    """The world of this process, or of this thread where it has one of its own."""
    return _thread.world or _process


@contextmanager
def world_of_thread(world: World | None = None) -> Iterator[World]:
    """Gives this thread a world of its own, so that threads can be the ranks of a group.

    Args:
        world: the world; a new one by default.
    """
    before = _thread.world
    _thread.world = World() if world is None else world
    try:
        yield _thread.world
    finally:
        _thread.world = before
