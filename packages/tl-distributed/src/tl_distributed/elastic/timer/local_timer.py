"""Timers for workers that share a queue of `multiprocessing` with their agent."""

from __future__ import annotations

import os
import signal
import time
from queue import Empty
from typing import Any

from .api import RequestQueue, TimerClient, TimerRequest, TimerServer

__all__ = ["LocalTimerClient", "LocalTimerServer", "MultiprocessingRequestQueue"]


class LocalTimerClient(TimerClient):
    """A worker's side; the worker is named by its process.

    Args:
        mp_queue: a queue of `multiprocessing`.
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
        found: list[TimerRequest] = []
        end = time.monotonic() + timeout
        while len(found) < size and (left := end - time.monotonic()) > 0:
            try:
                found.append(self._queue.get(timeout=left))
            except Empty:
                break
        return found


class LocalTimerServer(TimerServer):
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
        self._timers: dict[tuple[Any, str], TimerRequest] = {}

    def register_timers(self, timer_requests: list[TimerRequest]) -> None:
        for request in timer_requests:
            key = (request.worker_id, request.scope_id)
            if request.expiration_time < 0:
                self._timers.pop(key, None)
            else:
                self._timers[key] = request

    def clear_timers(self, worker_ids: set[Any]) -> None:
        self._timers = {key: each for key, each in self._timers.items() if key[0] not in worker_ids}

    def get_expired_timers(self, deadline: float) -> dict[Any, list[TimerRequest]]:
        found: dict[Any, list[TimerRequest]] = {}
        for request in self._timers.values():
            if request.expiration_time <= deadline:
                found.setdefault(request.worker_id, []).append(request)
        return found

    def _reap_worker(self, worker_id: int) -> bool:
        try:
            os.kill(worker_id, signal.SIGKILL)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return True
