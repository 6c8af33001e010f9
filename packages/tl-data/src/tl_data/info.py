"""Description of the current worker."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

__all__ = ["WorkerInfo", "get_worker_info"]


class WorkerInfo(NamedTuple):
    """The number of a worker, its seed, and its copy of the dataset.

    Args:
        id: the number of this worker.
        num_workers: the number of workers.
        seed: seed of this worker's generators.
        dataset: this worker's copy of the dataset.
        rng: this worker's random generators.
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
    """Sets the worker of this process, for all its threads; None for no worker."""
    global _process
    _process = info


def set_thread_info(info: WorkerInfo) -> None:
    """Sets the worker of this thread."""
    _thread.info = info


def get_worker_info() -> WorkerInfo | None:
    """The current worker; None outside of workers.

    >>> get_worker_info() is None
    True
    """
    info: WorkerInfo | None = getattr(_thread, "info", _process)
    return info
