"""The side of an agent that keeps wishes in its memory."""

from __future__ import annotations

from typing import Any

from .api import RequestQueue, TimerRequest, TimerServer

__all__ = ["KeptTimerServer"]


class KeptTimerServer(TimerServer):
    """Keeps the wishes by worker and block; a subclass says how a worker is ended.

    Args:
        request_queue: the wishes.
        max_interval: how many seconds may go by between two looks.
        daemon: whether the thread lets the process end.
    """

    def __init__(self, request_queue: RequestQueue, max_interval: float, daemon: bool = True):
        super().__init__(request_queue, max_interval, daemon)
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
        expired: dict[Any, list[TimerRequest]] = {}
        for request in self._timers.values():
            if request.expiration_time <= deadline:
                expired.setdefault(request.worker_id, []).append(request)
        return expired
