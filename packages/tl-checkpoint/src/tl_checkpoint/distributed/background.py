"""The thread that writes what `async_save` has copied, one save after another."""

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
    """A future that knows whether anybody has asked how it went."""

    asked = False

    def result(self, timeout: float | None = None) -> Any:
        self.asked = True
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self.asked = True
        return super().exception(timeout)

    def failed(self) -> bool:
        return self.done() and super().exception() is not None

    def finish(self) -> None:
        """Waits, and leaves it to others to ask how it went."""
        super().exception()


class Background:
    """Work that is done in a thread, in order. A program that ends waits for it."""

    _thread: ThreadPoolExecutor | None
    _open: list[_Watched]

    def __init__(self) -> None:
        self.restart()

    def submit(self, work: Callable[[], Any]) -> Future[Any]:
        """Does work after all that was submitted before."""
        future = _Watched()
        with self._lock:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, "tl-async-save")
            self._open.append(future)
            self._thread.submit(_fulfil, future, work)
        return future

    def wait(self) -> None:
        """Waits until all is done."""
        for future in list(self._open):
            future.finish()

    def raise_failure(self) -> None:
        """Raises the first failure that nobody has asked for."""
        with self._lock:
            done = [future for future in self._open if future.done()]
            self._open = [future for future in self._open if not future.done()]
        for future in done:
            if future.failed() and not future.asked:
                future.result()

    def restart(self) -> None:
        """Begins anew, in a child process, which hasn't the thread."""
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
