"""Blocks of a worker that must end in time: its agent ends the worker that is late."""

from __future__ import annotations

import logging
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

__all__ = ["RequestQueue", "TimerClient", "TimerRequest", "TimerServer", "configure", "expires"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TimerRequest:
    """A worker's wish: to be ended unless it takes the wish back before a time.

    Args:
        worker_id: the worker.
        scope_id: names the block.
        expiration_time: the time, as `time.time()`; negative takes the wish back.

    Example:
        >>> TimerRequest(4711, "step", 60.0).scope_id
        'step'
    """

    worker_id: Any
    scope_id: str
    expiration_time: float


class TimerClient(ABC):
    """A worker's side.

    Example:
        >>> from tl_distributed.elastic.timer import FileTimerClient
        >>> issubclass(FileTimerClient, TimerClient)
        True
    """

    @abstractmethod
    def acquire(self, scope_id: str, expiration_time: float) -> None:
        """Wishes to be ended at a time."""

    @abstractmethod
    def release(self, scope_id: str) -> None:
        """Takes the wish back."""


class RequestQueue(ABC):
    """Wishes on their way."""

    @abstractmethod
    def size(self) -> int:
        """The approximate number of requests."""

    @abstractmethod
    def get(self, size: int, timeout: float) -> list[TimerRequest]:
        """Takes up to so many, and waits for them up to a time."""


class TimerServer(ABC):
    """An agent's side: a thread that ends workers that are late.

    Args:
        request_queue: the wishes.
        max_interval: how many seconds may go by between two looks.
        daemon: whether the thread lets the process end.

    Example:
        >>> from tl_distributed.elastic.timer import LocalTimerServer
        >>> issubclass(LocalTimerServer, TimerServer)
        True
    """

    def __init__(self, request_queue: RequestQueue, max_interval: float, daemon: bool = True):
        self._request_queue = request_queue
        self._max_interval = max_interval
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tl-timers", daemon=daemon)

    @abstractmethod
    def register_timers(self, timer_requests: list[TimerRequest]) -> None:
        """Takes wishes, those that are taken back too."""

    @abstractmethod
    def clear_timers(self, worker_ids: set[Any]) -> None:
        """Forgets all wishes of workers."""

    @abstractmethod
    def get_expired_timers(self, deadline: float) -> dict[Any, list[TimerRequest]]:
        """The wishes whose time is before `deadline`, by worker."""

    @abstractmethod
    def _reap_worker(self, worker_id: Any) -> bool:
        """Ends a worker; says whether it is gone."""

    def start(self) -> None:
        """Begins to look."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._look()

    def _look(self) -> None:
        count = max(1, self._request_queue.size())
        self.register_timers(self._request_queue.get(count, self._max_interval))
        ended = set()
        for worker, late in self.get_expired_timers(time.time()).items():
            _log.warning("worker %s is late in %s", worker, ", ".join(each.scope_id for each in late))
            if self._reap_worker(worker):
                ended.add(worker)
        self.clear_timers(ended)


_client: TimerClient | None = None


def configure(timer_client: TimerClient) -> None:
    """Says how this worker's wishes reach its agent.

    Args:
        timer_client: the worker's side.

    Example:
        >>> configure(client)  # doctest: +SKIP
    """
    global _client
    _client = timer_client


@contextmanager
def expires(after: float, scope: str | None = None, client: TimerClient | None = None) -> Iterator[None]:
    """A block that must end in time; otherwise the agent ends this process.

    Args:
        after: how many seconds it may take.
        scope: names the block; file and line otherwise.
        client: the worker's side; that of `configure` otherwise.

    Raises:
        RuntimeError: there is no client.

    Example:
        >>> with expires(after=60):  # doctest: +SKIP
        ...     train_one_step()
    """
    client = client or _client
    if client is None:
        raise RuntimeError("expires: no timer client; call configure first, or give one")
    if scope is None:
        frame = sys._getframe(2)
        scope = f"{frame.f_code.co_filename}#{frame.f_lineno}"
    client.acquire(scope, time.time() + after)
    try:
        yield
    finally:
        client.release(scope)
