"""Passes over streams: a stream has one valid iterator, and counts the samples of its pass."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

__all__ = ["hook_iterator"]


class _SnapshotState(Enum):
    """Whether a stream has begun its pass, or continues at the position of a snapshot."""

    NotStarted = 0
    Restored = 1
    Iterating = 2


class _Pass:
    """The iterator of one pass over a stream.

    Args:
        pipe: the stream.
        number: the number of the pass.
        samples: the iterator of the stream's own `__iter__`.
    """

    def __init__(self, pipe: Any, number: int, samples: Iterator[Any]) -> None:
        self._pipe, self._number, self._samples = pipe, number, samples

    def __iter__(self) -> _Pass:
        return self

    def __next__(self) -> Any:
        if self._pipe._valid_iterator_id != self._number:
            raise RuntimeError(
                "This iterator has been invalidated because another iterator has been created from the same "
                f"IterDataPipe: {self._pipe!r}. A stream has one valid iterator; fork() gives several streams of the "
                "same samples"
            )
        sample = next(self._samples)
        self._pipe._number_of_samples_yielded += 1
        return sample

    def __getattr__(self, name: str) -> Any:
        return getattr(self._samples, name)


def begin_pass(pipe: Any) -> int:
    """Begins a pass, which invalidates earlier iterators, and returns its number.

    Args:
        pipe: the stream.
    """
    number: int = (pipe._valid_iterator_id or 0) + 1
    pipe._valid_iterator_id = number
    pipe._number_of_samples_yielded = 0
    pipe.reset()
    pipe._snapshot_state = _SnapshotState.Iterating
    return number


def hook_iterator(function: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    """An `__iter__` whose iterators are passes.

    Args:
        function: the `__iter__` of a class of streams.
    """

    @functools.wraps(function)
    def __iter__(self: Any) -> Iterator[Any]:
        if self._is_child_datapipe or type(self).__iter__ is not __iter__:
            return function(self)  # one of several readers, or a call of super()
        restored = self._fast_forward_iterator
        if restored is not None:
            self._fast_forward_iterator, self._snapshot_state = None, _SnapshotState.Iterating
            return restored
        number = begin_pass(self)
        return _Pass(self, number, function(self))

    return __iter__
