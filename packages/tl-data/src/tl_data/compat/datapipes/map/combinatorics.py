"""A step that changes the order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..datapipe import IterDataPipe, MapDataPipe
from ..iter.combinatorics import ShufflerIterDataPipe as IterShuffler
from ..iter.utils import IterableWrapperIterDataPipe

__all__ = ["ShufflerIterDataPipe"]


class ShufflerIterDataPipe(IterDataPipe[Any]):
    """A map's samples in random order: a stream. `indices` are the map's keys, by default 0, 1, …

    Example:
        >>> from tl_data.compat.datapipes.map import SequenceWrapper
        >>> sorted(SequenceWrapper("abc").shuffle())
        ['a', 'b', 'c']
    """

    def __init__(self, datapipe: Any, *, indices: list[Any] | None = None) -> None:
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._order = IterShuffler(
            IterableWrapperIterDataPipe(self.indices, deepcopy=False), buffer_size=len(self.indices) or 1
        )

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Turns shuffling on or off."""
        self._order.set_shuffle(shuffle)
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """Sets the seed of the next pass."""
        self._order.set_seed(seed)
        return self

    def __iter__(self) -> Iterator[Any]:
        return (self.datapipe[index] for index in self._order)

    def __len__(self) -> int:
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
