"""The thread that writes the copies of `async_save`, one save after another."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .future import Future
from .logger import log

__all__ = ["Background", "background"]


class _Watched(Future[Any]):
    """A future that records whether its result was read."""

    was_read = False

    def result(self, timeout: float | None = None) -> Any:
        self.was_read = True
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self.was_read = True
        return super().exception(timeout)

    def failed(self) -> bool:
        return self.done() and super().exception() is not None

    def finish(self) -> None:
        """Waits without reading the result."""
        super().exception()


class Background:
    """Tasks in a thread, in order. The program waits for them at its end."""

    _thread: ThreadPoolExecutor | None
    _open: list[_Watched]

    def __init__(self) -> None:
        self.restart()

    def submit(self, work: Callable[[], Any]) -> Future[Any]:
        """Queues a task behind all earlier ones."""
        future = _Watched()
        with self._lock:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, "tl-async-save")
            self._open.append(future)
            self._thread.submit(_fulfil, future, work)
        return future

    def wait(self) -> None:
        """Waits for all tasks."""
        for future in list(self._open):
            future.finish()

    def raise_failure(self) -> None:
        """Raises the first failure whose result was not read."""
        with self._lock:
            complete = [future for future in self._open if future.done()]
            self._open = [future for future in self._open if not future.done()]
        for future in complete:
            if future.failed() and not future.was_read:
                future.result()

    def restart(self) -> None:
        """Resets the queue in a forked child, which has no such thread."""
        self._lock = threading.Lock()
        self._thread = None
        self._open = []


def _fulfil(future: _Watched, work: Callable[[], Any]) -> None:
    try:
        value = work()
    except BaseException as error:
        log.error("work in the background failed: %s", error)
        future.set_exception(error)
    else:
        future.set_result(value)


background = Background()
os.register_at_fork(after_in_child=background.restart)
