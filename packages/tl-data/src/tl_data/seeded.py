"""Samples with reproducible random numbers in any worker."""

from __future__ import annotations

import contextlib
import hashlib
import random
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import tl_core
from tl_core import Generator, Tensor

from .dataset import Dataset
from .info import get_worker_info
from .randomness import epoch

__all__ = ["Seeded", "sample_generator"]

_here = threading.local()  # the generator of the sample in fetching


def sample_generator() -> Generator:
    """The generator of the sample in fetching, seeded by `Seeded`.

    Raises RuntimeError outside of a `Seeded` dataset.
    """
    generator: Generator | None = getattr(_here, "generator", None)
    if generator is None:
        raise RuntimeError("sample_generator() is for samples of a Seeded dataset, while they are fetched")
    return generator


class Seeded(Dataset[Any]):
    """A dataset whose samples draw random numbers that depend only on (seed, epoch, index).

    While a sample is fetched, the default generators of tl, of `random` and of an imported NumPy are seeded for the
    sample; afterwards their states are restored. An augmented sample is equal with any number of workers, in any
    order, on any rank and after a resume. The epoch is the loader's, which counts from 0.

    Args:
        dataset (map-style dataset): The source of samples.
        seed (int): Seed of all samples, combined with epoch and index.
        default_generators (bool): Whether the default generators are seeded. `sample_generator()` returns the
            sample's own in any case.

    Raises RuntimeError, when a sample is fetched in a worker that is a thread, if `default_generators` is true: all
    threads share those.

    >>> class Noise(Dataset):
    ...     def __getitem__(self, index):
    ...         return index + tl_core.rand(())
    >>> noise = Seeded(Noise(), seed=1)
    >>> bool(noise[3] == noise[3]), bool(noise[3] == noise[4])
    (True, False)
    """

    def __init__(self, dataset: Any, seed: int = 0, default_generators: bool = True) -> None:
        self.dataset, self.seed, self.default_generators = dataset, seed, default_generators

    def __getitem__(self, index: Any) -> Any:
        key, before = self._key(index), getattr(_here, "generator", None)
        _here.generator = Generator().manual_seed(key)
        try:
            with self._seeding(key):
                return self.dataset[index]
        finally:
            _here.generator = before

    def _seeding(self, key: int) -> contextlib.AbstractContextManager[None]:
        if not self.default_generators:
            return contextlib.nullcontext()
        info = get_worker_info()
        if info is not None and info.worker_method == "thread":
            raise RuntimeError(
                "Seeded can't seed the default generators in a thread, as all threads share them: draw from "
                "sample_generator() and say default_generators=False"
            )
        return _seed_generators(key)

    def __getitems__(self, indices: Sequence[Any]) -> list[Any]:
        return [self[index] for index in indices]

    def __len__(self) -> int:
        return len(self.dataset)

    def _key(self, index: Any) -> int:
        text = f"{self.seed}/{epoch()}/{index!r}".encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


@contextlib.contextmanager
def _seed_generators(key: int) -> Iterator[None]:
    """Seeds the default generators for a `with` block; restores their states afterwards."""
    numpy = sys.modules.get("numpy")
    states: tuple[Tensor, Any] = (tl_core.get_rng_state(), random.getstate())
    legacy = None if numpy is None else numpy.random.get_state()
    tl_core.manual_seed(key)
    random.seed(key)
    if numpy is not None:
        numpy.random.seed(key & 0xFFFFFFFF)
    try:
        yield
    finally:
        tl_core.set_rng_state(states[0])
        random.setstate(states[1])
        if legacy is not None:
            numpy.random.set_state(legacy)  # type: ignore[union-attr]  # loaded, as it had a state
