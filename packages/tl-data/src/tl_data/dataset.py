"""Datasets: maps from keys to samples, streams of samples, and compositions of datasets.

A map-style dataset may have methods for many keys: `__getitems__` returns a list of samples, and `__getbatch__`
returns their batch as `default_collate` would (or NotImplemented). The loader calls the largest one. A class that
overrides `__getitem__` alone is read key by key, whatever its bases have.
"""

from __future__ import annotations

import abc
import bisect
import itertools
import math
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

import tl_core
from tl_core import Tensor

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "Resumable",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
_T = TypeVar("_T")


def definer(kind: type, name: str) -> type | None:
    """The class in a type's `__mro__` that defines an attribute."""
    return next((base for base in kind.__mro__ if name in vars(base)), None)


def bulk_method(dataset: Any, name: str) -> Callable[[Any], Any] | None:
    """The dataset's method for many keys; None if a subclass of its owner overrides `__getitem__`."""
    owner, single = definer(type(dataset), name), definer(type(dataset), "__getitem__")
    if owner is not None and single is not None and owner is not single and not issubclass(owner, single):
        return None
    method: Callable[[Any], Any] | None = getattr(dataset, name, None)
    return method if callable(method) else None


def take(samples: Iterator[_T], count: int) -> Iterator[_T]:
    """The next `count` elements of an iterator, fewer at its end.

    It calls `next` alone. `itertools.islice` also calls `iter` each time: a stream whose `__iter__` restarts and
    returns the stream itself would then never end.
    """
    return map(next, itertools.repeat(samples, count))


def skip(samples: Iterator[Any], count: int) -> None:
    """Drops the next `count` elements of an iterator."""
    deque(take(samples, count), maxlen=0)


def samples_of(dataset: Any, keys: Sequence[Any]) -> list[Any]:
    """The samples of many keys, in one call if the dataset has `__getitems__`."""
    many = bulk_method(dataset, "__getitems__")
    return list(map(dataset.__getitem__, keys)) if many is None else many(keys)


def batch_of(dataset: Any, keys: Any) -> Any:
    """The batch that `default_collate` would return; NotImplemented if the dataset has no `__getbatch__`."""
    get_batch = bulk_method(dataset, "__getbatch__")
    return NotImplemented if get_batch is None else get_batch(keys)


class Indices(Protocol):
    """The type of indices: lists, ranges, arrays and tensors."""

    def __len__(self) -> int: ...

    def __getitem__(self, position: int, /) -> Any: ...


class Dataset(Generic[T_co]):
    """A map from keys to samples: a subclass has `__getitem__`, and `__len__` for samplers that need it.

    An optional `__getitems__(keys)` returns the list of the samples of many keys.

    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return index * index
    >>> list(DataLoader(Squares(), batch_size=2))
    [tensor([0, 1]), tensor([4, 9])]
    """

    def __getitem__(self, index: Any, /) -> T_co:  # a subclass names the key as it likes
        raise NotImplementedError(
            f"{type(self).__name__} must have __getitem__: a dataset maps keys to samples"
        )

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class Resumable(abc.ABC):
    """Base of streams, iterators and samplers whose state is enough to resume them exactly.

    `state_dict` returns the position as plain data. `load_state_dict` restores it: an iterator resumes with its next
    element, a stream or a sampler with its next `iter`. A loader saves only the states of objects of this class, or of
    classes registered with it (`Resumable.register`): many other classes have a `state_dict` of another meaning.

    >>> class Count(Resumable):
    ...     def __init__(self):
    ...         self.at = 0
    ...     def __iter__(self):
    ...         return self
    ...     def __next__(self):
    ...         self.at += 1
    ...         return self.at
    ...     def state_dict(self):
    ...         return {"at": self.at}
    ...     def load_state_dict(self, state):
    ...         self.at = state["at"]
    >>> class Numbers(IterableDataset):
    ...     def __iter__(self):
    ...         return Count()
    >>> first, second = DataLoader(Numbers(), batch_size=2), DataLoader(Numbers(), batch_size=2)
    >>> next(iter(first))
    tensor([1, 2])
    >>> second.load_state_dict(first.state_dict())
    >>> next(iter(second))
    tensor([3, 4])
    """

    @abc.abstractmethod
    def state_dict(self) -> Any:
        """The position, as plain data."""

    @abc.abstractmethod
    def load_state_dict(self, state: Any) -> None:
        """Resumes at the position of a state.

        Args:
            state: the result of `state_dict`.
        """


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """A stream of samples: a subclass has `__iter__`.

    Each worker has a copy of the dataset; `get_worker_info` distinguishes them. A stream that is `Resumable`, or
    whose iterator is, resumes from its state; any other is read again up to the position.

    Example:
        >>> class Count(IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(3))
        ...
        >>> list(Count())
        [0, 1, 2]
    """

    def __add__(self, other: Dataset[T_co]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Tensors of one length; a sample is the tuple of their rows.

    Raises AssertionError if the first sizes differ.

    >>> TensorDataset(tl_core.arange(3), tl_core.eye(3))[1]
    (tensor(1), tensor([0., 1., 0.]))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        lengths = [t.shape[0] for t in tensors]
        if len(set(lengths)) > 1:
            raise AssertionError(f"Size mismatch between tensors: their first sizes are {lengths}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([t[index] for t in self.tensors])

    def __getitems__(self, indices: Sequence[int]) -> list[tuple[Tensor, ...]]:
        if not all(isinstance(t, Tensor) for t in self.tensors):
            return [self[i] for i in indices]
        at = tl_core.tensor(indices, dtype=tl_core.int64)
        return list(zip(*(t[at].unbind(0) for t in self.tensors)))

    def __getbatch__(self, indices: Any) -> Any:
        if any(not isinstance(t, Tensor) or t.layout is not tl_core.strided for t in self.tensors):
            return NotImplemented
        return [t[indices] for t in self.tensors]

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])


class StackDataset(Dataset[Any]):
    """Datasets side by side: a sample is the tuple of their samples, or a dict for datasets passed by name.

    Raises ValueError for no dataset, for a mix of both forms, and for different lengths.

    >>> StackDataset(a=[1, 2], b=[3, 4])[1]
    {'a': 2, 'b': 4}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            what = "both positional and named datasets" if args else "no dataset"
            raise ValueError(f"StackDataset takes datasets either by position or by name, got {what}")
        self.datasets = args or kwargs
        lengths = [len(d) for d in self._members()]
        if len(set(lengths)) > 1:
            raise ValueError(f"Size mismatch between datasets: their lengths are {lengths}")
        self._length = lengths[0]

    def _members(self) -> Iterable[Any]:
        return self.datasets.values() if isinstance(self.datasets, dict) else self.datasets

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: d[index] for name, d in self.datasets.items()}
        return tuple([d[index] for d in self.datasets])

    def __getitems__(self, indices: Sequence[Any]) -> list[Any]:
        columns = []
        for member in self._members():
            samples = samples_of(member, indices)
            if len(samples) != len(indices):
                raise ValueError(
                    f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(samples)}"
                )
            columns.append(samples)
        if isinstance(self.datasets, dict):
            return [dict(zip(self.datasets, row)) for row in zip(*columns)]
        return list(zip(*columns))

    def __getbatch__(self, indices: Any) -> Any:
        columns = []
        for member in self._members():
            column = batch_of(member, indices)
            if column is NotImplemented:
                return NotImplemented
            columns.append(column)
        return dict(zip(self.datasets, columns)) if isinstance(self.datasets, dict) else columns

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other.

    Raises AssertionError if there is none, or one is iterable-style.

    >>> ConcatDataset([[1, 2], [3]])[2]
    3
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The cumulative lengths of the members."""
        return list(itertools.accumulate(len(member) for member in sequence))

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset; ChainDataset does")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def _locate(self, index: int) -> tuple[int, int]:
        """The number of the member, and the index in it."""
        length = len(self)
        if index < -length:
            raise ValueError(f"absolute value of index should not exceed dataset length: {index} of {length}")
        index = index + length if index < 0 else index
        member = bisect.bisect_right(self.cumulative_sizes, index)
        return member, index - (self.cumulative_sizes[member - 1] if member else 0)

    def __getitem__(self, index: int) -> T_co:
        member, at = self._locate(index)
        sample: T_co = self.datasets[member][at]
        return sample

    def __getitems__(self, indices: Sequence[int]) -> list[T_co]:
        located: dict[int, list[tuple[int, int]]] = {}
        for position, index in enumerate(indices):
            member, at = self._locate(index)
            located.setdefault(member, []).append((position, at))
        samples: list[Any] = [None] * len(indices)
        for member, pairs in located.items():
            part = samples_of(self.datasets[member], [at for _, at in pairs])
            for (position, _), sample in zip(pairs, part):
                samples[position] = sample
        return samples

    def __getbatch__(self, indices: Any) -> Any:
        keys = indices.tolist() if isinstance(indices, Tensor) else indices
        located = [self._locate(index) for index in keys]
        if len({member for member, _ in located}) != 1:
            return NotImplemented
        return batch_of(self.datasets[located[0][0]], [at for _, at in located])

    @property
    def cummulative_sizes(self) -> list[int]:
        """The old spelling of `cumulative_sizes`."""
        warnings.warn(
            "cummulative_sizes attribute is renamed to cumulative_sizes", FutureWarning, stacklevel=2
        )
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """Streams one after the other.

    Iteration raises AssertionError at a member that is no IterableDataset.

    Example:
        >>> class Count(IterableDataset):
        ...     def __init__(self, start, stop):
        ...         self.numbers = range(start, stop)
        ...     def __iter__(self):
        ...         return iter(self.numbers)
        ...
        >>> list(ChainDataset([Count(0, 2), Count(7, 9)]))
        [0, 1, 7, 8]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def _members(self) -> Iterator[Any]:
        for member in self.datasets:
            if not isinstance(member, IterableDataset):
                raise AssertionError(
                    f"ChainDataset only supports IterableDataset, got {type(member).__name__}"
                )
            yield member

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self._members())

    def __len__(self) -> int:
        return sum(len(member) for member in self._members())


class Subset(Dataset[T_co]):
    """The samples of a dataset at some indices.

    >>> Subset("abcd", [3, 1])[0]
    'd'
    """

    dataset: Any
    indices: Any  # as given, so that programs index arrays by it

    def __init__(self, dataset: Dataset[T_co], indices: Indices) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: Sequence[int]) -> list[T_co]:
        return samples_of(self.dataset, [self.indices[i] for i in indices])

    def __getbatch__(self, indices: Any) -> Any:
        keys = indices.tolist() if isinstance(indices, Tensor) else indices
        return batch_of(self.dataset, [self.indices[i] for i in keys])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[T], lengths: Sequence[int | float], generator: Any = tl_core.default_generator
) -> list[Subset[T]]:
    """Disjoint random subsets of the given lengths, in samples or in fractions of 1.

    The samples that fractions leave over go to the subsets in turn, one each.

    Args:
        dataset: the dataset to split.
        lengths: numbers of samples, or fractions that add up to 1.
        generator: the random generator that permutes the samples.

    Raises:
        ValueError: a share lies outside [0, 1], or the lengths don't add up to the dataset's.

    >>> [len(part) for part in random_split(range(30), [0.3, 0.3, 0.4])]
    [9, 9, 12]
    """
    length = len(dataset)  # type: ignore[arg-type]
    counts = _counts(lengths, length)
    if sum(counts) != length:
        raise ValueError(
            f"Sum of input lengths does not equal the length of the input dataset! {sum(counts)} and {length}"
        )
    order = tl_core.randperm(length, generator=generator).tolist()
    ends = itertools.accumulate(counts)
    return [Subset(dataset, order[end - count : end]) for end, count in zip(ends, counts)]


def _counts(lengths: Sequence[int | float], total: int) -> list[int]:
    if not (math.isclose(sum(lengths), 1) and sum(lengths) <= 1):
        return [int(n) for n in lengths]
    for i, share in enumerate(lengths):
        if not 0 <= share <= 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1: {share}")
    counts = [math.floor(total * share) for share in lengths]
    for i in range(total - sum(counts)):
        counts[i % len(counts)] += 1
    for i, count in enumerate(counts):
        if count == 0:
            warnings.warn(
                f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=3
            )
    return counts
