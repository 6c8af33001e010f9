"""What random numbers of a worker depend on: its seed, and the epoch."""

from __future__ import annotations

import random
import sys
import threading

import tl_core

__all__ = ["epoch", "seed_worker", "set_epoch"]

_here = threading.local()  # a loader's threads, and two loaders in turn, are in epochs of their own


def set_epoch(number: int) -> None:
    """Says which epoch the samples belong to that this thread fetches from now on; the loader does."""
    _here.epoch = number


def epoch() -> int:
    """The epoch that the sample belongs to which is being fetched: 0 for a loader's first."""
    number: int = getattr(_here, "epoch", 0)
    return number


def seed_worker(base_seed: int, worker_id: int) -> int:
    """Seeds the generators of a worker process, each worker's otherwise; returns the worker's seed."""
    seed = base_seed + worker_id
    tl_core.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
        numpy.random.seed(numpy.random.SeedSequence(entropy).generate_state(4))
    return seed
