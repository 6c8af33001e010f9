"""Steps that join several streams, or split one."""

from __future__ import annotations

import copy
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from ..datapipe import IterDataPipe, functional_datapipe, lengths

__all__ = [
    "ConcaterIterDataPipe",
    "DemultiplexerIterDataPipe",
    "ForkerIterDataPipe",
    "MultiplexerIterDataPipe",
    "ZipperIterDataPipe",
]


def _check(datapipes: tuple[Any, ...]) -> tuple[Any, ...]:
    if not datapipes:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    for pipe in datapipes:
        if not isinstance(pipe, IterDataPipe):
            raise TypeError(f"Expected all inputs to be `IterDataPipe`, got {type(pipe).__name__}")
    return datapipes


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe[Any]):
    """Streams one after the other.

    Example:
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([1, 2]).concat(IterableWrapper([7])))
        [1, 2, 7]
    """

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = _check(datapipes)

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datapipes)

    def __len__(self) -> int:
        return sum(lengths(self, *self.datapipes))


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe[Any]):
    """One sample of each stream in turn, up to the end of the shortest.

    Example:
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([1, 2]).mux(IterableWrapper([7, 8])))
        [1, 7, 2, 8]
    """

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = _check(datapipes)

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(zip(*self.datapipes))

    def __len__(self) -> int:
        return min(lengths(self, *self.datapipes)) * len(self.datapipes)


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe[Any]):
    """Tuples of one sample of each stream, up to the end of the shortest.

    Example:
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([1, 2]).zip(IterableWrapper("ab")))
        [(1, 'a'), (2, 'b')]
    """

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = _check(datapipes)

    def __iter__(self) -> Iterator[Any]:
        return zip(*self.datapipes)

    def __len__(self) -> int:
        return min(lengths(self, *self.datapipes))


class _Everywhere:
    """Each sample goes to every reader."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(self, sample: Any) -> range:
        return range(self.count)


class _OneBranch:
    """Each sample goes to the reader whose number a function returns."""

    def __init__(self, classifier_fn: Callable[[Any], int | None], count: int, drop_none: bool) -> None:
        self.classifier_fn, self.count, self.drop_none = classifier_fn, count, drop_none

    def __call__(self, sample: Any) -> tuple[int, ...]:
        branch = self.classifier_fn(sample)
        if branch is None and self.drop_none:
            return ()
        if branch is None or not 0 <= branch < self.count:
            raise ValueError(
                f"Output of the classification fn should be between 0 and {self.count - 1}. {branch} is returned."
            )
        return (branch,)


class _Parted:
    """One stream with several readers: samples that one reads ahead are buffered for the others."""

    def __init__(self, datapipe: Any, count: int, branches: Callable[[Any], Any], limit: int) -> None:
        self.main_datapipe, self.count, self.branches, self.limit = datapipe, count, branches, limit
        self.source: Iterator[Any] | None = None
        self.buffers: list[deque[Any]] = []
        self.passes: list[int] = []
        self.pass_number = 0

    def __getstate__(self) -> Any:
        """Without the pass, whose iterator stays in this process."""
        return self.__dict__ | {"source": None, "buffers": [], "passes": []}

    def begin(self, instance: int) -> None:
        """Begins a reader's pass; the stream restarts with the first reader that has begun this pass before."""
        if self.source is None or self.passes[instance] == self.pass_number:
            self.source, self.pass_number = iter(self.main_datapipe), self.pass_number + 1
            self.buffers = [deque() for _ in range(self.count)]
            self.passes = [self.pass_number - 1] * self.count
        self.passes[instance] = self.pass_number

    def read(self, instance: int) -> Iterator[Any]:
        """A reader's samples."""
        self.begin(instance)
        own, number = self.buffers[instance], self.pass_number
        while number == self.pass_number:
            if own:
                yield own.popleft()
                continue
            assert self.source is not None
            for sample in self.source:
                for branch in self.branches(sample):
                    self.buffers[branch].append(sample)
                break
            else:
                return
            if self.limit >= 0 and sum(map(len, self.buffers)) - len(own) > self.limit:
                raise BufferError(f"more than buffer_size={self.limit} samples wait for slower readers")


class _Part(IterDataPipe[Any]):
    """One of the streams that another was split into."""

    _is_child_datapipe = True

    def __init__(
        self, parted: _Parted, instance: int, sized: bool, change: Callable[[Any], Any] | None = None
    ) -> None:
        self.main_datapipe, self.instance_id, self._sized, self._change = parted, instance, sized, change

    def __iter__(self) -> Iterator[Any]:
        samples = self.main_datapipe.read(self.instance_id)
        return samples if self._change is None else map(self._change, samples)

    def __len__(self) -> int:
        if not self._sized:
            raise TypeError("a part of a stream has no length")
        return len(self.main_datapipe.main_datapipe)


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe[Any]):
    """Several streams of the same samples: a list of `num_instances`; `copy` may be "shallow" or "deep".

    Args:
        datapipe: the source pipe.
        num_instances: the number of streams.
        buffer_size: maximum number of buffered samples; -1 for no limit.
        copy: None shares the sample among streams; "shallow" or "deep" copies it.

    Example:
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> first, second = IterableWrapper(range(2)).fork(2)
        >>> list(first), list(second)
        ([0, 1], [0, 1])
    """

    def __new__(
        cls, datapipe: Any, num_instances: int, buffer_size: int = 1000, copy: str | None = None
    ) -> Any:
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
        change = _change(copy)
        if num_instances == 1:
            return [datapipe]
        parted = _Parted(datapipe, num_instances, _Everywhere(num_instances), buffer_size)
        return [_Part(parted, i, True, change) for i in range(num_instances)]


def _change(how: str | None) -> Callable[[Any], Any] | None:
    if how not in (None, "shallow", "deep"):
        raise ValueError(f"copy should be None, 'shallow' or 'deep', got {how!r}")
    return None if how is None else copy.copy if how == "shallow" else copy.deepcopy


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe[Any]):
    """Several streams, between which `classifier_fn` chooses by number; None drops a sample if `drop_none`.

    Args:
        datapipe: the source pipe.
        num_instances: the number of streams.
        classifier_fn: function of a sample that returns the number of its stream.
        drop_none: whether samples of the class None are dropped; otherwise they raise ValueError.
        buffer_size: maximum number of buffered samples; -1 for no limit.

    Example:
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> even, odd = IterableWrapper(range(5)).demux(2, lambda x: x % 2)
        >>> list(even), list(odd)
        ([0, 2, 4], [1, 3])
    """

    def __new__(
        cls,
        datapipe: Any,
        num_instances: int,
        classifier_fn: Callable[[Any], int | None],
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> Any:
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
        branches = _OneBranch(classifier_fn, num_instances, drop_none)
        parted = _Parted(datapipe, num_instances, branches, buffer_size)
        return [_Part(parted, i, False) for i in range(num_instances)]


_ChildDataPipe = _Part
