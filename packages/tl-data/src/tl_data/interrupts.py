"""Keyboard interrupts, which reach every process of a terminal: only the program handles them."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

__all__ = ["hold", "ignore"]

_CAN_BE_HELD = hasattr(signal, "pthread_sigmask")


@contextlib.contextmanager
def hold(forked: bool = False) -> Iterator[None]:
    """Blocks SIGINT for this process and for processes that it starts; this process receives it afterwards.

    A new process calls `ignore`. A process that is not forked also starts multiprocessing's resource tracker, which
    unblocks signals; so the tracker is started first.
    """
    if not _CAN_BE_HELD:
        yield
        return
    if not forked:
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore() -> None:
    """Ignores SIGINT in a worker process, and unblocks it for a handler that the dataset installs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if _CAN_BE_HELD:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
