"""Samplers: the keys of an epoch, in their order.

Samplers draw an epoch's indices as tensors (`index_chunks`), which the loader cuts into batches without a Python number
for each. `start` returns the seed or the generator state that the order depends on, so a resumed epoch draws the same
order. For the same seed, the orders are those of PyTorch's samplers.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Sized
from typing import Any, Generic, TypeVar

import tl_core
from tl_core import Generator, Tensor

from .dataset import Indices, take

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)

CHUNK = 1 << 16  # indices of a chunk
_DRAW = 32  # PyTorch draws with replacement in pieces of this size; a chunk is a multiple


class Sampler(Generic[T_co]):
    """The keys of a dataset, or lists of keys, in the order of an epoch: a subclass has `__iter__`.

    `len(loader)` needs `__len__`. A sampler that is `Resumable` resumes from its state.

    Example:
        >>> class Backwards(Sampler):
        ...     def __init__(self, data):
        ...         self.data = data
        ...     def __iter__(self):
        ...         return iter(range(len(self.data) - 1, -1, -1))
        ...
        >>> list(Backwards("abc"))
        [2, 1, 0]
    """

    def __init__(self, data_source: Sized | None = None) -> None:
        if data_source is not None:
            warnings.warn("`data_source` argument is not used and may be left out", stacklevel=2)

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(
            f"{type(self).__name__} must have __iter__: a sampler gives keys in an order"
        )


class DrawnSampler(Sampler[int]):
    """Base of samplers whose epoch can be drawn again from its `start`."""

    def start(self) -> Any:
        """The seed or state that the order of the next epoch depends on, as plain data."""
        raise NotImplementedError

    def index_chunks(self, start: Any, again: bool = False) -> Iterator[Any]:
        """The epoch's indices, in lists or one-dimensional int64 tensors; `again` draws an earlier epoch again."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[int]:
        for chunk in self.index_chunks(self.start()):
            yield from (chunk.tolist() if isinstance(chunk, Tensor) else chunk)


def generator_at(generator: Generator | None, start: Tensor, again: bool) -> Generator:
    """The generator of an epoch: the current one, or for an epoch drawn again one at the state of its start.

    The default generator is not set back, because other code uses it too: a copy draws.
    """
    if not again:
        return tl_core.default_generator if generator is None else generator
    copy = Generator() if generator is None else generator
    copy.set_state(start)
    return copy


class SequentialSampler(DrawnSampler):
    """0, 1, 2, … up to the dataset's length.

    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def start(self) -> None:
        return None

    def index_chunks(self, start: None, again: bool = False) -> Iterator[Tensor]:
        count = len(self.data_source)
        for first in range(0, count, CHUNK):
            yield tl_core.arange(first, min(first + CHUNK, count))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(DrawnSampler):
    """All indices in random order, or `num_samples` drawn with replacement.

    Without a `generator`, each epoch draws a seed from the default generator. More samples than the dataset has,
    without replacement, come from several orders in sequence.

    Args:
        data_source: a dataset, of which only the length is used.
        replacement: whether an index may be drawn more than once.
        num_samples: the number of indices in an epoch; the dataset's length by default.
        generator: the random generator; None for the default one.

    Raises:
        TypeError: `replacement` is no bool.
        ValueError: `num_samples` is no positive integer.

    >>> sorted(RandomSampler("abc"))
    [0, 1, 2]
    """

    data_source: Sized
    replacement: bool

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={self.num_samples}"
            )

    @property
    def num_samples(self) -> int:
        """Number of indices of an epoch."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def start(self) -> Any:
        if self.generator is not None:
            return self.generator.get_state()
        return int(tl_core.empty((), dtype=tl_core.int64).random_().item())

    def index_chunks(self, start: Any, again: bool = False) -> Iterator[Tensor]:
        if self.generator is None:
            generator = Generator().manual_seed(start)
        else:
            generator = generator_at(self.generator, start, again)
        return self._with_replacement(generator) if self.replacement else self._orders(generator)

    def _with_replacement(self, generator: Generator) -> Iterator[Tensor]:
        total, size = self.num_samples, len(self.data_source)
        multiple = total - total % _DRAW
        for first in range(0, multiple, CHUNK):
            yield tl_core.randint(size, (min(CHUNK, multiple - first),), generator=generator)
        yield tl_core.randint(size, (total - multiple,), generator=generator)

    def _orders(self, generator: Generator) -> Iterator[Tensor]:
        size = len(self.data_source)
        for _ in range(self.num_samples // size):
            yield tl_core.randperm(size, generator=generator)
        # Drawn even for 0 indices, as PyTorch does: the next epoch's order depends on it.
        yield tl_core.randperm(size, generator=generator)[: self.num_samples % size]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(DrawnSampler):
    """The given indices in random order.

    >>> sorted(SubsetRandomSampler([7, 3]))
    [3, 7]
    """

    indices: Any  # as given

    def __init__(self, indices: Indices, generator: Any = None) -> None:
        self.indices = indices
        self.generator = generator

    def start(self) -> Tensor:
        return (tl_core.default_generator if self.generator is None else self.generator).get_state()

    def index_chunks(self, start: Tensor, again: bool = False) -> Iterator[list[int]]:
        generator = generator_at(self.generator, start, again)
        order = tl_core.randperm(len(self.indices), generator=generator).tolist()
        yield [self.indices[i] for i in order]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(DrawnSampler):
    """Indices drawn with the given probabilities, which need not add up to 1.

    Args:
        weights: the relative probability of each index.
        num_samples: the number of indices in an epoch.
        replacement: whether an index may be drawn more than once.
        generator: the random generator; None for the default one.

    Raises:
        ValueError: the weights have not one dimension, or another argument has the wrong type.

    >>> list(WeightedRandomSampler([0.0, 1.0], 3))
    [1, 1, 1]
    """

    weights: Tensor
    num_samples: int
    replacement: bool

    def __init__(
        self,
        weights: Collection[float] | Tensor,
        num_samples: int,
        replacement: bool = True,
        generator: Any = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={num_samples}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = tl_core.as_tensor(weights, dtype=tl_core.float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def start(self) -> Tensor:
        return (tl_core.default_generator if self.generator is None else self.generator).get_state()

    def index_chunks(self, start: Tensor, again: bool = False) -> Iterator[Tensor]:
        generator = generator_at(self.generator, start, again)
        yield tl_core.multinomial(self.weights, self.num_samples, self.replacement, generator=generator)

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` keys of another sampler; the last may be shorter, or is dropped.

    Args:
        sampler: the sampler, or any iterable, that yields the keys.
        batch_size: the number of keys in a batch.
        drop_last: whether a shorter last batch is left out.

    Raises:
        ValueError: `batch_size` is no positive integer, or `drop_last` no bool.

    >>> list(BatchSampler(SequentialSampler(range(5)), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[Any]]:
        keys = iter(self.sampler)
        while batch := list(take(keys, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        count, size = len(self.sampler), self.batch_size  # type: ignore[arg-type]
        return count // size if self.drop_last else -(-count // size)
