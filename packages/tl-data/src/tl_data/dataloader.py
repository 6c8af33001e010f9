"""The loader: iterates over the batches of a dataset in the order of a sampler."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from . import launch, state
from .collate import default_collate, default_convert
from .dataset import Dataset, IterableDataset
from .info import get_worker_info
from .iterators import _BaseDataLoaderIter, _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

_collate_fn_t = Callable[[list[Any]], Any]
_worker_init_fn_t = Callable[[int], None]

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _DatasetKind:
    """The two styles of datasets, by number."""

    Map = 0
    Iterable = 1


class _InfiniteConstantSampler(Sampler[None]):
    """An endless stream of None: the `sampler` of a loader over an iterable-style dataset."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


def _warn_of_workers(count: int) -> None:
    cores = len(os.sched_getaffinity(0))
    if count > cores:
        warnings.warn(
            f"This DataLoader will create {count} worker processes in total. Our suggested max number of worker in "
            f"current system is {cores}, which is the number of cores that this process may use: more can make it slow "
            "or even freeze it.",
            stacklevel=4,
        )


class DataLoader(Generic[T_co]):
    """An iterable over the batches of a dataset, in this process or with workers that fetch in advance.

    Each `iter` is an epoch. `state_dict` returns the position within the epoch. A loader that loads the state with
    `load_state_dict` continues with the next batch, in the same order and with any number of workers.

    Args:
        dataset (Dataset): Map-style, or an IterableDataset.
        batch_size (int, optional): Samples a batch; None gives single samples.
        shuffle (bool, optional): Whether each epoch has an order of its own.
        sampler, batch_sampler (iterable, optional): The keys in their order, or lists of them.
        num_workers (int): Number of workers; 0 fetches each batch in this process, on demand.
        collate_fn (callable, optional): Function from a list of samples to a batch: `default_collate`, and for
            single samples `default_convert`.
        pin_memory (bool): Whether tensors are copied to page-locked memory. Without an accelerator it warns and
            does nothing.
        drop_last (bool): Whether a smaller last batch is dropped.
        timeout (float): Seconds until a missing batch is an error; 0 waits without limit.
        worker_init_fn (callable, optional): Called in each worker with its number, after seeding.
        multiprocessing_context (str or context, optional): "fork", "forkserver", "spawn", or "thread" for workers
            that are threads of this process. By default that of `multiprocessing`: on Linux "fork" below Python 3.14;
            from there on "forkserver", and "fork" where what the workers need can't be sent to another process.
            Fresh processes take over tl's settings, the environment, logging levels and warning filters.
        generator (Generator, optional): Draws the order, and the seed of the workers.
        prefetch_factor (int, optional): Batches that each worker prefetches (2).
        persistent_workers (bool): Whether the workers stay alive after an epoch.
        pin_memory_device (str): Not used: the accelerator decides.
        in_order (bool): Whether batches come in the order of their keys, even if a later one is ready earlier.
        arena_size (int, optional): Bytes of memory that worker processes share with this one (2**30, of which
            only what is used is taken). What doesn't fit is sent through a pipe.

    The constructor raises ValueError and TypeError for invalid or conflicting arguments. An epoch raises the errors
    of the dataset, and RuntimeError when a worker dies or exceeds the timeout.

    >>> loader = DataLoader(range(5), batch_size=2)
    >>> list(loader), len(loader)
    ([tensor([0, 1]), tensor([2, 3]), tensor([4])], 3)
    """

    dataset: Any
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Any
    batch_sampler: Any
    pin_memory_device: str
    prefetch_factor: int | None
    _iterator: _BaseDataLoaderIter | None = None
    __initialized = False

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        arena_size: int | None = None,
    ) -> None:
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers > 0 else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.in_order = in_order
        self.arena_size = arena_size
        self.generator = generator
        self.persistent_workers = persistent_workers
        self._check_workers(prefetch_factor)
        self.multiprocessing_context = multiprocessing_context
        self._iterable = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if self._iterable else _DatasetKind.Map
        self._check_order(shuffle, sampler, batch_sampler, batch_size, drop_last)
        if batch_sampler is not None:
            batch_size = None
        self.sampler = self._default_sampler(bool(shuffle)) if sampler is None else sampler
        if batch_sampler is None and batch_size is not None:
            batch_sampler = BatchSampler(self.sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.batch_sampler = batch_sampler
        self.drop_last = drop_last
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.epoch = 0
        self._progress: state.Progress | None = None
        self._resumed: dict[str, Any] | None = None
        self._reported_length: int | None = None
        if num_workers > 0 and multiprocessing_context != "thread":
            launch.prepare(self.multiprocessing_context, type(dataset), self.collate_fn)
        self.__initialized = True

    def _check_workers(self, prefetch_factor: int | None) -> None:
        if self.num_workers < 0:
            raise ValueError(
                f"num_workers option should be non-negative, got {self.num_workers}; "
                "use num_workers=0 to disable multiprocessing."
            )
        _warn_of_workers(self.num_workers)
        if self.timeout < 0:
            raise ValueError(f"timeout option should be non-negative, got {self.timeout}")
        if self.num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing."
                "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if prefetch_factor is not None and prefetch_factor <= 0:
            raise ValueError(f"prefetch_factor option should be positive, got {prefetch_factor}")
        if self.persistent_workers and self.num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")

    def _check_order(
        self, shuffle: Any, sampler: Any, batch_sampler: Any, batch_size: int | None, drop_last: bool
    ) -> None:
        if self._iterable:
            unwanted = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
            for name, value in unwanted.items():
                if value is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
            )
        if batch_sampler is None and batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
            )

    def _default_sampler(self, shuffle: bool) -> Any:
        if self._iterable:
            return _InfiniteConstantSampler()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    @property
    def multiprocessing_context(self) -> Any:
        """The start method of workers: None, "thread" or a context of `multiprocessing`."""
        return self.__context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None and self.num_workers == 0:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
                f"but got num_workers={self.num_workers}"
            )
        if isinstance(context, str) and context != "thread":
            valid = multiprocessing.get_all_start_methods()
            if context not in valid:
                raise ValueError(
                    "multiprocessing_context option should specify a valid start method in "
                    f"{[*valid, 'thread']!r}, but got multiprocessing_context={context!r}"
                )
            context = multiprocessing.get_context(context)
        if not (context in (None, "thread") or isinstance(context, multiprocessing.context.BaseContext)):
            raise TypeError(
                "multiprocessing_context option should be a valid context object or a string specifying the "
                f"start method, but got multiprocessing_context={context}"
            )
        self.__context = context

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self) -> _BaseDataLoaderIter:
        if not self.persistent_workers:
            return self._get_iterator()
        if isinstance(self._iterator, _MultiProcessingDataLoaderIter):
            self._iterator._reset()
        else:
            self._iterator = self._get_iterator()
        return self._iterator

    def __len__(self) -> int:
        """Number of batches of an epoch; of a stream, by the length that it reports."""
        if not self._iterable:
            return len(self._index_sampler)
        length = self._reported_length = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def __getstate__(self) -> dict[str, Any]:
        """The state of a copy, without the progress of the current epoch: a copy begins its own."""
        return {**self.__dict__, "_progress": None}

    def check_worker_number_rationality(self) -> None:
        """Does nothing: the useful number of workers depends on the program."""

    def state_dict(self) -> dict[str, Any]:
        """The progress of the epoch as plain data, for `load_state_dict` of a loader with equal arguments.

        The last batch that the loader returned counts as processed. Batches that workers have prefetched do not.
        """
        if self._resumed is not None:
            return self._resumed
        progress = self._progress
        epoch_state = None if progress is None or progress.finished else progress.state_dict()
        return {
            "version": state.VERSION,
            "epoch": self.epoch if epoch_state is None or progress is None else progress.epoch,
            "begun": epoch_state,
            "sources": state.of_sources(self.generator, self._index_sampler),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resumes at the position of a state with the next `iter`; restores the states of sampler and dataset too.

        Raises ValueError for a state of another kind of loader. Warns if samples must be read again.
        """
        state.check(state_dict, self._iterable, self.num_workers)
        self._resumed = state_dict
        self.epoch = state_dict["epoch"]
        state.set_sources(state_dict["sources"], self.generator, self._index_sampler)

    def _take_resumed(self) -> dict[str, Any] | None:
        """Returns the loaded state and clears it; None at the beginning of an epoch."""
        resumed, self._resumed = self._resumed, None
        return None if resumed is None else resumed["begun"]
