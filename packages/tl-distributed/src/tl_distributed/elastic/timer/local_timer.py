"""Timers for workers that share a queue of `multiprocessing` with their agent."""

from __future__ import annotations

import os
import signal
import time
from queue import Empty
from typing import Any

from .api import RequestQueue, TimerClient, TimerRequest
from .kept_timers import KeptTimerServer

__all__ = ["LocalTimerClient", "LocalTimerServer", "MultiprocessingRequestQueue"]


class LocalTimerClient(TimerClient):
    """A worker's side; the worker is named by its process.

    Args:
        mp_queue: a queue of `multiprocessing`.

    Example:
        >>> from tl_distributed.elastic import timer
        >>> timer.configure(LocalTimerClient(queue))  # doctest: +SKIP
    """

    def __init__(self, mp_queue: Any):
        self._queue = mp_queue

    def acquire(self, scope_id: str, expiration_time: float) -> None:
        self._queue.put(TimerRequest(os.getpid(), scope_id, expiration_time))

    def release(self, scope_id: str) -> None:
        self._queue.put(TimerRequest(os.getpid(), scope_id, -1))


class MultiprocessingRequestQueue(RequestQueue):
    """Wishes in a queue of `multiprocessing`.

    Args:
        mp_queue: the queue.
    """

    def __init__(self, mp_queue: Any):
        self._queue = mp_queue

    def size(self) -> int:
        return int(self._queue.qsize())

    def get(self, size: int, timeout: float) -> list[TimerRequest]:
        requests: list[TimerRequest] = []
        end = time.monotonic() + timeout
        while len(requests) < size and (left := end - time.monotonic()) > 0:
            try:
                requests.append(self._queue.get(timeout=left))
            except Empty:
                break
        return requests


class LocalTimerServer(KeptTimerServer):
    """An agent's side: SIGKILL ends a worker that is late.

    Args:
        mp_queue: the queue.
        max_interval: how many seconds may go by between two looks.
        daemon: whether the thread lets the process end.

    Example:
        >>> import multiprocessing
        >>> queue = multiprocessing.get_context("spawn").Queue()
        >>> server = LocalTimerServer(queue, max_interval=0.01)
        >>> server.register_timers([TimerRequest(71, "step", 5.0)])
        >>> list(server.get_expired_timers(6.0))
        [71]
    """

    def __init__(self, mp_queue: Any, max_interval: float = 60, daemon: bool = True):
        super().__init__(MultiprocessingRequestQueue(mp_queue), max_interval, daemon)

    def _reap_worker(self, worker_id: int) -> bool:
        return send_signal(worker_id, signal.SIGKILL)


def send_signal(pid: int, number: int) -> bool:
    """Sends a process a signal; says whether it is gone, or will be by that signal."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True
