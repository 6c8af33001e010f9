"""The keys of one epoch, batch after batch, from any position."""

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

LONGEST = 1 << 24  # batches of an order that the state lists because it can't be drawn again


def cut(chunks: Iterable[Any], size: int, drop_last: bool) -> Iterator[Any]:
    """Chunks of keys, tensors or lists, cut into batches.

    Args:
        chunks: one-dimensional tensors or lists of keys.
        size: number of keys of a batch.
        drop_last: whether a last smaller batch is dropped.
    """
    rest: Any = None
    for chunk in chunks:
        joined = chunk if rest is None else _join(rest, chunk)
        end = len(joined) - len(joined) % size
        for first in range(0, end, size):
            yield joined[first : first + size]
        rest = joined[end:] if end < len(joined) else None
    if rest is not None and not drop_last:
        yield rest


def _join(first: Any, second: Any) -> Any:
    return tl_core.cat([first, second]) if isinstance(first, Tensor) else first + second


def _is_random(sampler: Any) -> bool:
    """Whether the sampler's chunks are its order: not if a subclass overrides `__iter__`."""
    if not isinstance(sampler, DrawnSampler):
        return False
    chunks, single = definer(type(sampler), "index_chunks"), definer(type(sampler), "__iter__")
    return chunks is single or single is DrawnSampler or not issubclass(single, chunks)  # type: ignore[arg-type]


def deciding(sampler: Any) -> Any:
    """The sampler that decides the order: the inner one of a plain batch sampler."""
    plain = isinstance(sampler, BatchSampler) and type(sampler).__iter__ is BatchSampler.__iter__
    return sampler.sampler if plain else sampler


class Order:
    """An iterator over the batches of keys of a sampler.

    `state` returns the data to resume an epoch. A sampler of this package is drawn again from its start; a Resumable
    one is set back to the epoch's start; for any other the state lists the keys that are left.

    Args:
        sampler (iterable): Yields keys, or batches of keys.
        state (dict, optional): Result of `state` in the epoch to resume.
        done (int): Number of batches of that epoch to skip.
    """

    def __init__(self, sampler: Any, state: dict[str, Any] | None = None, done: int = 0) -> None:
        self._sampler, self._start_state = sampler, state
        self._blocks: Iterator[Any] | None = None
        self._pending: deque[Any] = deque()  # batches in flight of a sampler that can't be drawn again
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
            self._start_state = {"kind": "drawn", "start": start}
            return self._cut(inner.index_chunks(start))
        if isinstance(inner, Resumable):
            self._start_state = {"kind": "own", "state": inner.state_dict()}
            return iter(self._sampler)
        self._start_state = {"kind": "rest"}
        return self._keeping(iter(self._sampler))

    def _again(self, state: dict[str, Any], count: int) -> Iterator[Any]:
        inner = deciding(self._sampler)
        if state["kind"] == "rest":
            return self._keeping(iter(state["keys"]))
        if state["kind"] == "own":
            inner.load_state_dict(state["state"])
            blocks = iter(self._sampler)
            skip(blocks, count)
            return blocks
        if not _is_random(inner):
            raise ValueError(
                f"the state was taken with another kind of sampler; {type(inner).__name__} can't draw it again"
            )
        return itertools.islice(self._cut(inner.index_chunks(state["start"], again=True)), count, None)

    def _keeping(self, blocks: Iterator[Any]) -> Iterator[Any]:
        for block in take(blocks, sys.maxsize):
            self._pending.append(block)
            yield block

    def handed_out(self) -> None:
        """Removes the oldest batch of keys from those in flight."""
        if self._pending:
            self._pending.popleft()

    def state(self) -> dict[str, Any] | None:
        """Plain data to resume the epoch; None if it has not begun."""
        if self._start_state is None or self._start_state["kind"] != "rest":
            return self._start_state
        # The rest of an order that can't be drawn again is drawn now, and returned from the list.
        assert self._blocks is not None
        left = list(itertools.islice(self._blocks, LONGEST + 1))
        if len(left) > LONGEST:
            raise RuntimeError(
                f"the order of {type(deciding(self._sampler)).__name__} has no end in sight: to be resumed it must be "
                "Resumable"
            )
        self._blocks = iter(left)
        return {"kind": "rest", "keys": list(self._pending)}
