"""The seed and the epoch of a worker, on which its random numbers depend."""

from __future__ import annotations

import random
import sys
import threading

import tl_core

__all__ = ["epoch", "generate_state", "seed_worker", "set_epoch"]

_here = threading.local()  # threads of a loader, and two loaders in turn, have different epochs


def set_epoch(number: int) -> None:
    """Sets the epoch of the samples that this thread fetches; the loader calls it."""
    _here.epoch = number


def epoch() -> int:
    """The epoch of the sample in fetching: 0 for a loader's first."""
    number: int = getattr(_here, "epoch", 0)
    return number


def seed_worker(base_seed: int, worker_id: int) -> int:
    """Seeds the generators of a worker process; returns the worker's seed."""
    seed = base_seed + worker_id
    tl_core.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(generate_state(base_seed, worker_id))
    return seed


_MASK = 0xFFFFFFFF


class _Hash:
    """Mixes words with a constant that changes with each word."""

    def __init__(self, start: int, factor: int) -> None:
        self._constant, self._factor = start, factor

    def __call__(self, word: int) -> int:
        word ^= self._constant
        self._constant = self._constant * self._factor & _MASK
        word = word * self._constant & _MASK
        return word ^ word >> 16


def _mix(x: int, y: int) -> int:
    word = 0xCA01F9DD * x - 0x4973F715 * y & _MASK
    return word ^ word >> 16


def generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Four words of 32 bits to seed the generator of a worker, independent of the words of other workers.

    They are the words of NumPy's `SeedSequence([worker_id, low half of base_seed, high half, 0])`, whose method is
    O'Neill's `seed_seq_fe` (2015).

    Args:
        base_seed: the seed that all workers share.
        worker_id: the number of the worker.

    Example:
        >>> generate_state(123, 4)
        [3133042655, 609701789, 3156826794, 1639029168]
    """
    scramble = _Hash(0x43B0D7E5, 0x931E8875)
    pool = [scramble(word) for word in (worker_id, base_seed & _MASK, base_seed >> 32 & _MASK, 0)]
    for i in range(4):
        for j in range(4):
            if i != j:
                pool[j] = _mix(pool[j], scramble(pool[i]))
    return list(map(_Hash(0x8B51F9DD, 0x58F38DED), pool))
