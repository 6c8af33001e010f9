"""Operator observer: which operators run and how long they take, for profilers."""

from __future__ import annotations

from tl_core import _C

__all__ = ["begin", "end"]


def begin() -> None:
    """From now on this thread's operators are noted.

    Raises:
        RuntimeError: they are already.
    """
    if _C._observe(None, None, None)[2]:
        raise RuntimeError("the operators of this thread are being noted already: profiles do not nest")
    _C._take_events()
    _C._observe(None, None, True)


def end() -> list[tuple[str, int, int]]:
    """(operator, start, end) of all that ran since `begin`, in nanoseconds of `time.monotonic_ns`."""
    _C._observe(None, None, False)
    return _C._take_events()
