"""What a worker knows of itself."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

__all__ = ["WorkerInfo", "get_worker_info"]


class WorkerInfo(NamedTuple):
    """Which of how many workers this is, its seed, and its copy of the dataset.

    Args:
        id: the number of this worker.
        num_workers: the number of workers.
        seed: its seed.
        dataset: the dataset.
        rng: its own sources of random numbers.
        worker_method: "multiprocessing" for a process, "thread" for a thread.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_process: WorkerInfo | None = None
_thread = threading.local()


def set_process_info(info: WorkerInfo | None) -> None:
    """Makes this process a worker in all its threads, or with None no worker."""
    global _process
    _process = info


def set_thread_info(info: WorkerInfo) -> None:
    """Makes this thread a worker."""
    _thread.info = info


def get_worker_info() -> WorkerInfo | None:
    """The worker that this code runs in; None outside of workers.

    >>> get_worker_info() is None
    True
    """
    info: WorkerInfo | None = getattr(_thread, "info", _process)
    return info
