"""Several epochs as one sequence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

__all__ = ["CyclingIterator"]

T = TypeVar("T")


class CyclingIterator(Generic[T], Iterator[T]):
    """The elements of several epochs in sequence.

    Args:
        n: number of epochs.
        generator_fn: function of the number of an epoch that returns an iterable of its elements.
        start_epoch: number of the first epoch.

    Example:
        >>> list(CyclingIterator(3, lambda epoch: [(epoch, i) for i in range(2)], start_epoch=1))
        [(1, 0), (1, 1), (2, 0), (2, 1)]
    """

    def __init__(self, n: int, generator_fn: Callable[[int], Any], start_epoch: int = 0):
        self._count = n
        self._begin = generator_fn
        self._epoch = start_epoch
        self._now: Iterator[T] | None = None

    def __iter__(self) -> CyclingIterator[T]:
        return self

    def __next__(self) -> T:
        while self._epoch < self._count:
            if self._now is None:
                self._now = iter(self._begin(self._epoch))
            for element in self._now:
                return element
            self._now = None
            self._epoch += 1
        raise StopIteration
