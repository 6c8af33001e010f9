"""Why a group can't be made: what a rank that can't take part tells the others, which wait for it."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta

from ..base.errors import DistBackendError, DistError, DistStoreError
from .store import Store

__all__ = ["is_exhausted", "raise_refusal", "refuse", "told_to_others", "wait_for"]

SLICE = 0.5  # seconds after which a wait looks whether somebody was refused
_KEY = "refused"


def is_exhausted(error: OSError) -> bool:
    """True if the process, or its machine, has no descriptor left.

    Args:
        error: what a call of the system raised.
    """
    return error.errno in (errno.EMFILE, errno.ENFILE)


def refuse(store: Store, text: str) -> DistBackendError:
    """Tells the others why there is no group; returns the error to raise.

    Args:
        store: where the group meets.
        text: why.
    """
    store.set(_KEY, text)
    return DistBackendError(text)


def raise_refusal(store: Store) -> None:
    """Raises what a rank has told the others, if one has.

    Args:
        store: where the group meets.
    """
    if store.check([_KEY]):
        raise DistBackendError(store.get(_KEY).decode())


def wait_for(store: Store, keys: Sequence[str], deadline: float) -> bool:
    """Waits for keys, and for a refusal.

    Args:
        store: where the group meets.
        keys: the keys.
        deadline: until when, by the monotonic clock.

    Returns:
        Whether they came in time.

    Raises:
        DistBackendError: a rank can't take part.
    """
    while True:
        left = max(0.0, deadline - time.monotonic())
        with contextlib.suppress(DistStoreError):
            store.wait(keys, timedelta(seconds=min(SLICE, left)))
            return True
        raise_refusal(store)
        if not left:
            return False


@contextlib.contextmanager
def told_to_others(store: Store, who: str) -> Iterator[None]:
    """Within the block, a call of the system that fails is told to the other ranks, and named on all of them.

    Args:
        store: where the group meets.
        who: the group and this rank, for the text.
    """
    spare = _spare_descriptor()  # without one, a store in a file could not be written to
    try:
        yield
    except DistError as error:
        _release(spare)
        first = _first_refusal(store)
        if first not in (None, str(error)):
            raise DistBackendError(first) from error
        raise
    except OSError as error:
        _release(spare)
        # The end of a connection has a cause at its other end.
        if isinstance(error, ConnectionError) and (first := _first_refusal(store)) is not None:
            raise DistBackendError(first) from error
        text = f"{who} can't take part: {error}"
        if is_exhausted(error):
            text += "; raise the limit of open files (ulimit -n)"
        with contextlib.suppress(OSError, DistError):
            store.set(_KEY, text)
        raise DistBackendError(text) from error
    else:
        _release(spare)


def _first_refusal(store: Store) -> str | None:
    """The refusal of another rank, now or in a moment: its connections may end before its refusal is stored."""
    with contextlib.suppress(OSError, DistError):
        store.wait([_KEY], timedelta(seconds=SLICE))
        return store.get(_KEY).decode()
    return None


def _spare_descriptor() -> int | None:
    try:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _release(spare: int | None) -> None:
    if spare is not None:
        os.close(spare)
