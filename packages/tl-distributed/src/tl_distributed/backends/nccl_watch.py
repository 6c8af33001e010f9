"""The watch of a group over NCCL: a thread that looks for errors, late operations and the failures of other ranks.

NCCL names no rank. So each rank counts in the store while it lives, and a failure names the ranks whose count has
stopped. The first failure is in the store, and all ranks raise it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from ..stores.store import Store

_INTERVAL = 0.1  # seconds between two looks
_SILENCE = 1.0  # seconds without a count, after which a rank is silent
_FAILURE = "failure"


class Pending(Protocol):
    """What the watch needs of an operation."""

    what: str
    limit: float
    end: float

    def has_ended(self) -> bool: ...


class NcclWatch:
    """The thread of a rank.

    Args:
        store: of the group.
        rank: of this process in the group.
        global_ranks: the ranks in the world.
        library_error: the error that the library reports for the communicator; empty without one.
        fail: called once, with the text of the first failure.
    """

    def __init__(
        self,
        store: Store,
        rank: int,
        global_ranks: Sequence[int],
        library_error: Callable[[], str],
        fail: Callable[[str], None],
    ):
        self._store, self._rank, self._global_ranks = store, rank, list(global_ranks)
        self._library_error, self._fail = library_error, fail
        self._pending: list[Pending] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="nccl watch", daemon=True)
        self._thread.start()

    def add(self, work: Pending) -> None:
        """Watches an operation until it ends.

        Args:
            work: the operation.
        """
        with self._lock:
            self._pending.append(work)

    def stop(self) -> None:
        """Ends the thread."""
        self._stop.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(5.0)

    def _work(self) -> None:
        while not self._stop.wait(_INTERVAL):
            try:
                self._store.add(f"count {self._rank}", 1)
                text = self._failure()
            except Exception as error:  # the store is gone, and with it the ranks' only sign of life
                text = f"the store of the group is lost: {error}"
            if text and not self._stop.is_set():
                self._fail(text)
                return

    def _failure(self) -> str:
        if self._store.check([_FAILURE]):
            return self._store.get(_FAILURE).decode()
        text = self._library_error() or self._late_operation()
        if not text:
            return ""
        return self.publish(self._with_silent_ranks(text))

    def publish(self, text: str) -> str:
        """The first failure of the group, which is this text if there is none yet.

        Args:
            text: what this rank has seen.
        """
        with suppress(Exception):  # without a store, this rank's own observation counts
            first: bytes = self._store.compare_set(_FAILURE, "", text)
            return first.decode() or text
        return text

    def _late_operation(self) -> str:
        now = time.monotonic()
        with self._lock:
            self._pending = [work for work in self._pending if not work.has_ended()]
            late = next((work for work in self._pending if now > work.end), None)
        rank = self._global_ranks[self._rank]
        return f"rank {rank} reached its timeout of {late.limit:g} s in {late.what}" if late else ""

    def _with_silent_ranks(self, text: str) -> str:
        before = self._counts()
        end = time.monotonic() + _SILENCE
        while time.monotonic() < end and not self._stop.wait(_INTERVAL):
            self._store.add(f"count {self._rank}", 1)  # other ranks look as well
        silent = [
            self._global_ranks[rank]
            for rank, (old, new) in enumerate(zip(before, self._counts(), strict=True))
            if old == new and rank != self._rank
        ]
        if not silent:
            return text
        return f"{text}; rank {', '.join(map(str, silent))} died or stands still"

    def _counts(self) -> list[int]:
        return [self._store.add(f"count {rank}", 0) for rank in range(len(self._global_ranks))]
