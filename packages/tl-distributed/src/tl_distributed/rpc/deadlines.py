"""The deadlines of open calls, which a thread watches."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable


class Deadlines:
    """Calls a function for each number whose time is over.

    A new deadline costs an entry of a heap; the thread is woken only if the deadline is earlier than its next look.

    Args:
        expire: called with the number and its limit.
    """

    def __init__(self, expire: Callable[[int, float], None]):
        self._expire = expire
        self._changed = threading.Condition()
        self._heap: list[tuple[float, int, float]] = []
        self._next_look = float("inf")
        self._thread: threading.Thread | None = None
        self._is_over = False

    def add(self, number: int, limit: float) -> None:
        """Starts the time of a number.

        Args:
            number: the number.
            limit: the seconds.
        """
        at = time.monotonic() + limit
        with self._changed:
            heapq.heappush(self._heap, (at, number, limit))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="rpc deadlines", daemon=True)
                self._thread.start()
            elif at < self._next_look:
                self._changed.notify()

    def stop(self) -> None:
        """Ends the thread."""
        with self._changed:
            self._is_over = True
            self._changed.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(1.0)

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._is_over:
                    return
                self._next_look = self._heap[0][0] if self._heap else time.monotonic() + 60.0
                self._changed.wait(max(0.0, self._next_look - time.monotonic()))
                now = time.monotonic()
                over = []
                while self._heap and self._heap[0][0] <= now:
                    over.append(heapq.heappop(self._heap))
            for _, number, limit in over:
                self._expire(number, limit)
