"""Interrupts of the keyboard, which reach every process of a terminal: the program alone decides what one ends."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

__all__ = ["held", "ignore"]

_CAN_BE_HELD = hasattr(signal, "pthread_sigmask")


@contextlib.contextmanager
def held(forked: bool = False) -> Iterator[None]:
    """What is started meanwhile hears no interrupt until it has said `ignore`; this process hears it afterwards.

    A process that is not forked comes with multiprocessing's tracker, which lets signals through when it starts.
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
    """Makes a worker deaf to interrupts that are meant for the program; a handler that it sets itself hears them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if _CAN_BE_HELD:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
