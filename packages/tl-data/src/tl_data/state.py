"""The progress of a loader, as plain data."""

from __future__ import annotations

import warnings
from typing import Any

from tl_core import Generator

from .dataset import Resumable
from .order import Order, deciding

__all__ = ["Progress"]

VERSION = 1


class Progress:
    """The progress of an epoch: the batches that the loader has returned, without prefetched ones.

    Batches are numbered from 0 in the order of their keys. All below `done` were returned, and with `in_order=False`
    those in `ahead`.

    Args:
        epoch: the number of the epoch.
        base_seed: the seed of worker 0; the others count on from it.
        order: the iterator over the batches of keys.
        state: result of `state_dict` to resume from; None at the beginning.
    """

    def __init__(self, epoch: int, base_seed: int, order: Order, state: dict[str, Any] | None = None) -> None:
        self.epoch, self.base_seed, self.order = epoch, base_seed, order
        self.done: int = state["done"] if state else 0
        self.ahead: set[int] = set(state["ahead"]) if state else set()
        self.finished = False
        self.streams: dict[int, Any] = dict(state["streams"]) if state else {}
        self.next_worker: int = state["next_worker"] if state else 0
        self.workers: int = state["workers"] if state else 0
        self.live: Any = None  # the fetcher of an iterable-style dataset in this process

    def hand_out(self, number: int) -> None:
        """Records that the loader returns a batch."""
        self.ahead.add(number)
        while self.done in self.ahead:
            self.ahead.remove(self.done)
            self.done += 1
            self.order.handed_out()

    def state_dict(self) -> dict[str, Any]:
        """Plain data: numbers, lists, dicts, tensors, and the states of samplers and datasets."""
        if self.live is not None:
            self.streams = {0: self.live.state()}
        return {
            "base_seed": self.base_seed,
            "order": self.order.state(),
            "done": self.done,
            "ahead": sorted(self.ahead),
            "streams": dict(self.streams),
            "next_worker": self.next_worker,
            "workers": self.workers,
        }


def of_sources(generator: Any, sampler: Any) -> dict[str, Any]:
    """The states of the sources of orders: the loader's generator, the sampler's generator, the sampler."""
    inner = deciding(sampler)
    own = getattr(inner, "generator", None)
    return {
        "generator": None if generator is None else generator.get_state(),
        "sampler_generator": own.get_state() if isinstance(own, Generator) else None,
        "sampler": inner.state_dict() if isinstance(inner, Resumable) else None,
    }


def set_sources(state: dict[str, Any], generator: Any, sampler: Any) -> None:
    """Restores the result of `of_sources`."""
    inner = deciding(sampler)
    pairs = (("generator", generator), ("sampler_generator", getattr(inner, "generator", None)))
    for name, target in pairs:
        if state[name] is not None and isinstance(target, Generator):
            target.set_state(state[name])
    if state["sampler"] is not None and isinstance(inner, Resumable):
        inner.load_state_dict(state["sampler"])


def check(state: Any, iterable: bool, workers: int) -> None:
    """Raises ValueError for a state that does not fit the loader; warns if a stream is read again."""
    if not isinstance(state, dict) or state.get("version") != VERSION:
        raise ValueError(f"this is no state of a DataLoader, or one of another version than {VERSION}")
    if state["begun"] is None:
        return
    streams, count = state["begun"]["streams"], state["begun"]["workers"]
    if iterable and streams and count != workers:
        raise ValueError(
            f"the state was taken with num_workers={count}, the loader has {workers}: an iterable-style "
            "dataset is read by each worker on its own, and can only be resumed with as many"
        )
    skipped = sum(stream.get("skip", 0) for stream in streams.values())
    if skipped:
        warnings.warn(
            f"the dataset is not Resumable: the {skipped} samples that were read before are read again and dropped",
            stacklevel=3,
        )
