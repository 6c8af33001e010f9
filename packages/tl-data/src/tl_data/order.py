"""The keys of one epoch, batch after batch, from any place in it."""

from __future__ import annotations

import itertools
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import tl_core
from tl_core import Tensor

from .dataset import Resumable, definer, skip, take
from .sampler import BatchSampler, DrawnSampler

__all__ = ["Order", "cut", "deciding"]

LONGEST = 1 << 24  # batches of an order that is written down because nobody can draw it again


def cut(chunks: Iterable[Any], size: int, drop_last: bool) -> Iterator[Any]:
    """Chunks of keys, tensors or lists, cut into batches.

    Args:
        chunks: the chunks.
        size: the keys of a batch.
        drop_last: whether a last smaller batch is dropped.
    """
    rest: Any = None
    for chunk in chunks:
        joined = chunk if rest is None else _join(rest, chunk)
        whole = len(joined) - len(joined) % size
        for first in range(0, whole, size):
            yield joined[first : first + size]
        rest = joined[whole:] if whole < len(joined) else None
    if rest is not None and not drop_last:
        yield rest


def _join(first: Any, second: Any) -> Any:
    return tl_core.cat([first, second]) if isinstance(first, Tensor) else first + second


def _is_random(sampler: Any) -> bool:
    """Whether the sampler's chunks are its order: not if a class further down has an `__iter__` of its own."""
    if not isinstance(sampler, DrawnSampler):
        return False
    chunks, single = definer(type(sampler), "index_chunks"), definer(type(sampler), "__iter__")
    return chunks is single or single is DrawnSampler or not issubclass(single, chunks)  # type: ignore[arg-type]


def deciding(sampler: Any) -> Any:
    """The sampler that decides the order: a plain batch sampler only cuts it."""
    plain = isinstance(sampler, BatchSampler) and type(sampler).__iter__ is BatchSampler.__iter__
    return sampler.sampler if plain else sampler


class Order:
    """An iterator over the batches of keys that a sampler gives.

    What a resumed epoch needs is told by `state`. A sampler of this package is drawn again from where it started; one
    with a state of its own is set back to the epoch's start; of any other the keys that are left are kept.

    Args:
        sampler (iterable): Gives keys, or batches of them.
        state (dict, optional): What `state` told of an epoch to be resumed.
        done (int): How many of that epoch's batches are not wanted again.
    """

    def __init__(self, sampler: Any, state: dict[str, Any] | None = None, done: int = 0) -> None:
        self._sampler, self._begun = sampler, state
        self._blocks: Iterator[Any] | None = None
        self._kept: deque[Any] = deque()  # drawn of a foreign sampler, in case their state is asked for
        if state is not None:
            self._blocks = self._again(state, done)

    def __iter__(self) -> Order:
        return self

    def __next__(self) -> Any:
        if self._blocks is None:
            self._blocks = self._fresh()
        return next(self._blocks)

    def _cut(self, chunks: Iterator[Any]) -> Iterator[Any]:
        if deciding(self._sampler) is self._sampler:
            return (
                key for chunk in chunks for key in (chunk.tolist() if isinstance(chunk, Tensor) else chunk)
            )
        return cut(chunks, self._sampler.batch_size, self._sampler.drop_last)

    def _fresh(self) -> Iterator[Any]:
        inner = deciding(self._sampler)
        if _is_random(inner):
            start = inner.start()
            self._begun = {"kind": "drawn", "start": start}
            return self._cut(inner.index_chunks(start))
        if isinstance(inner, Resumable):
            self._begun = {"kind": "own", "state": inner.state_dict()}
            return iter(self._sampler)
        self._begun = {"kind": "rest"}
        return self._keeping(iter(self._sampler))

    def _again(self, state: dict[str, Any], done: int) -> Iterator[Any]:
        inner = deciding(self._sampler)
        if state["kind"] == "rest":
            return self._keeping(iter(state["keys"]))
        if state["kind"] == "own":
            inner.load_state_dict(state["state"])
            blocks = iter(self._sampler)
            skip(blocks, done)
            return blocks
        if not _is_random(inner):
            raise ValueError(
                f"the state was taken with another kind of sampler; {type(inner).__name__} can't draw it again"
            )
        return itertools.islice(self._cut(inner.index_chunks(state["start"], again=True)), done, None)

    def _keeping(self, blocks: Iterator[Any]) -> Iterator[Any]:
        for block in take(blocks, sys.maxsize):
            self._kept.append(block)
            yield block

    def handed_out(self) -> None:
        """Says that the oldest batch of keys is no longer in flight."""
        if self._kept:
            self._kept.popleft()

    def state(self) -> dict[str, Any] | None:
        """Plain data from which the epoch can be resumed; None if it has not begun."""
        if self._begun is None or self._begun["kind"] != "rest":
            return self._begun
        # The rest of an order that nobody can draw again: drawn now, and handed out from here.
        assert self._blocks is not None
        left = list(itertools.islice(self._blocks, LONGEST + 1))
        if len(left) > LONGEST:
            raise RuntimeError(
                f"the order of {type(deciding(self._sampler)).__name__} has no end in sight: to be resumed it must be "
                "Resumable"
            )
        self._blocks = iter(left)
        return {"kind": "rest", "keys": list(self._kept)}
