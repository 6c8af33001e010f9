"""Steps that change the order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import tl_core
from tl_data.sampler import SequentialSampler

from ..datapipe import IterDataPipe, functional_datapipe, lengths

__all__ = ["SamplerIterDataPipe", "ShufflerIterDataPipe"]


class SamplerIterDataPipe(IterDataPipe[Any]):
    """The keys of a sampler over the pipe.

    Args:
        datapipe: the source pipe.
        sampler: the class of the sampler.
        sampler_args: positional arguments of the class after the pipe.
        sampler_kwargs: keyword arguments of the class.

    Example:
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> from tl_data.compat.datapipes.iter import Sampler
        >>> list(Sampler(IterableWrapper("abc")))
        [0, 1, 2]
    """

    def __init__(
        self,
        datapipe: Any,
        sampler: Any = SequentialSampler,
        sampler_args: tuple[Any, ...] | None = None,
        sampler_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if not hasattr(datapipe, "__len__"):
            raise AssertionError(
                f"Sampler class requires input datapipe implemented `__len__`, got {type(datapipe).__name__}"
            )
        self.datapipe = datapipe
        self.sampler = sampler(datapipe, *(sampler_args or ()), **(sampler_kwargs or {}))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return len(self.sampler)


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(IterDataPipe[Any]):
    """Samples in random order, drawn from a buffer of `buffer_size` samples.

    Each pass takes its seed from `set_seed`, or from the default generator.

    Args:
        datapipe: the source pipe.
        buffer_size: maximum number of samples in the buffer.
        unbatch_level: levels of batches to unbatch first; -1 for all.

    Example:
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> sorted(IterableWrapper(range(4)).shuffle())
        [0, 1, 2, 3]
    """

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        if buffer_size <= 0:
            raise AssertionError(f"buffer_size should be larger than 0, got {buffer_size}")
        self.datapipe = datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level=unbatch_level)
        self.buffer_size = buffer_size
        self._enabled, self._seed = True, None

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Turns shuffling on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """Sets the seed of the next pass."""
        self._seed = seed  # type: ignore[assignment]
        return self

    def _random(self) -> random.Random:
        seed, self._seed = self._seed, None
        if seed is None:
            seed = tl_core.empty((), dtype=tl_core.int64).random_().item()
        return random.Random(seed)

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        choose = self._random()
        buffer: list[Any] = []
        for sample in self.datapipe:
            if len(buffer) < self.buffer_size:
                buffer.append(sample)
                continue
            at = choose.randrange(self.buffer_size)
            yield buffer[at]
            buffer[at] = sample
        choose.shuffle(buffer)
        yield from buffer

    def __len__(self) -> int:
        return lengths(self, self.datapipe)[0]
