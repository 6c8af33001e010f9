"""The pool of worker threads, for datasets that release Python's lock."""

from __future__ import annotations

import copy
import queue
import threading
from typing import Any

from tl_core.api.process_settings import ThreadSettings

from .info import WorkerInfo, set_thread_info
from .worker import Response, Server, WorkerConfig

__all__ = ["ThreadPool"]


class ThreadPool:
    """Pool of worker threads. They share a map-style dataset; each has a shallow copy of a stream."""

    def __init__(self, config: WorkerConfig) -> None:
        self.pids: list[int | None] = [None] * config.num_workers
        self._responses: queue.SimpleQueue[tuple[int, Response]] = queue.SimpleQueue()
        self._requests: list[queue.SimpleQueue[Any]] = [queue.SimpleQueue() for _ in self.pids]
        self.processes = [
            threading.Thread(
                target=_serve,
                args=(config, i, requests, self._responses, ThreadSettings.current()),
                daemon=True,
            )
            for i, requests in enumerate(self._requests)
        ]
        for thread in self.processes:
            thread.start()

    def begin(self, worker: int, epoch_id: int, epoch: int, stream: dict[str, Any] | None) -> None:
        """Sends a worker the begin of an epoch."""
        self._requests[worker].put(("begin", epoch_id, epoch, stream))

    def request(self, worker: int, epoch_id: int, number: int, keys: Any) -> None:
        """Requests a batch of a worker."""
        self._requests[worker].put(("fetch", epoch_id, number, keys))

    def receive(self, timeout: float | None) -> tuple[int, Response] | None:
        """The next response and the index of its worker; None if none has come within `timeout` seconds."""
        try:
            return self._responses.get(timeout=timeout)
        except queue.Empty:
            return None

    def close(self, abrupt: bool = False) -> None:
        """Ends the workers. A thread that hangs in the dataset can't be ended; `close` doesn't wait for it."""
        for requests in self._requests:
            requests.put(None)
        for thread in self.processes:
            thread.join(0.3 if abrupt else 5)


def _serve(
    config: WorkerConfig, worker_id: int, requests: Any, responses: Any, settings: ThreadSettings
) -> None:
    settings.restore()
    if config.iterable:
        config = config._replace(dataset=copy.copy(config.dataset))
    info = WorkerInfo(
        worker_id, config.num_workers, config.base_seed + worker_id, config.dataset, worker_method="thread"
    )
    set_thread_info(info)
    server = Server(config, worker_id, f"DataLoader worker thread {worker_id}")
    server.initialize()
    while (request := requests.get()) is not None:
        kind, epoch_id, number, content = request
        if kind == "begin":
            server.begin(number, content)
        else:
            responses.put((worker_id, server.respond(epoch_id, number, content)))
