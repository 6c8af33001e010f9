"""Workers that are threads: for datasets that spend their time outside of Python's lock."""

from __future__ import annotations

import copy
import queue
import threading
from typing import Any

from .info import WorkerInfo, set_thread_info
from .worker import Answer, Job, Server

__all__ = ["ThreadPool"]


class ThreadPool:
    """Worker threads that are asked for batches. They share the dataset; of a stream each has a shallow copy."""

    def __init__(self, job: Job) -> None:
        self.pids: list[int | None] = [None] * job.num_workers
        self._answers: queue.SimpleQueue[tuple[int, Answer]] = queue.SimpleQueue()
        self._questions: list[queue.SimpleQueue[Any]] = [queue.SimpleQueue() for _ in self.pids]
        self.processes = [
            threading.Thread(target=_serve, args=(job, i, questions, self._answers), daemon=True)
            for i, questions in enumerate(self._questions)
        ]
        for thread in self.processes:
            thread.start()

    def begin(self, worker: int, round: int, epoch: int, stream: dict[str, Any] | None) -> None:
        """Tells a worker that an epoch begins."""
        self._questions[worker].put(("begin", round, epoch, stream))

    def ask(self, worker: int, round: int, number: int, keys: Any) -> None:
        """Asks a worker for a batch."""
        self._questions[worker].put(("fetch", round, number, keys))

    def answer(self, timeout: float | None) -> tuple[int, Answer] | None:
        """The next answer and whose it is; None if none has come within `timeout` seconds."""
        try:
            return self._answers.get(timeout=timeout)
        except queue.Empty:
            return None

    def close(self, abrupt: bool = False) -> None:
        """Ends the workers. One that does not come back from the dataset can't be ended, and is not waited for."""
        for questions in self._questions:
            questions.put(None)
        for thread in self.processes:
            thread.join(0.3 if abrupt else 5)


def _serve(job: Job, worker_id: int, questions: Any, answers: Any) -> None:
    if job.iterable:
        job = job._replace(dataset=copy.copy(job.dataset))
    info = WorkerInfo(
        worker_id, job.num_workers, job.base_seed + worker_id, job.dataset, worker_method="thread"
    )
    set_thread_info(info)
    server = Server(job, worker_id, f"DataLoader worker thread {worker_id}")
    server.initialize()
    while (question := questions.get()) is not None:
        kind, round, number, content = question
        if kind == "begin":
            server.begin(number, content)
        else:
            answers.put((worker_id, server.answer(round, number, content)))
