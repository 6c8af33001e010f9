"""Iterators over a loader: one epoch each."""

from __future__ import annotations

import itertools
import time
import warnings
import weakref
from collections.abc import Iterator
from multiprocessing import get_context
from typing import Any

import tl_core
from tl_core.base import recording

from . import pin, randomness
from .dataset import Resumable
from .failure import Failure
from .fetch import fetcher
from .launch import may_fork
from .loader_like import Loader, complete
from .order import Order
from .processes import ProcessPool, WorkerDied
from .state import Progress
from .threads import ThreadPool
from .worker import ENDED, FAILED, REFUSED, Response, WorkerConfig

__all__ = ["_BaseDataLoaderIter", "_MultiProcessingDataLoaderIter", "_SingleProcessDataLoaderIter"]


class _BaseDataLoaderIter:
    """One epoch of a loader."""

    def __init__(self, loader: Loader) -> None:
        loader = self._loader = complete(loader)
        self._dataset = loader.dataset
        self._num_workers = loader.num_workers
        self._collate_fn = loader.collate_fn
        self._timeout = loader.timeout
        self._iterable = loader._iterable
        self._pin = loader.pin_memory and pin.accelerator_answers()
        self._begin()

    def _begin(self) -> None:
        """Begins an epoch, or resumes the epoch of a loaded state."""
        loader, resumed = self._loader, self._loader._take_resumed()
        if resumed is None:
            base_seed = getattr(self, "_base_seed", None)
            self._base_seed = draw_seed(loader.generator) if base_seed is None else base_seed
        else:
            self._base_seed = resumed["base_seed"]
        position = resumed["done"] if resumed else 0
        began = resumed and resumed["order"]
        order = Order(
            _Endless(loader.batch_size) if self._iterable else loader._index_sampler, began, position
        )
        self._progress = Progress(loader.epoch, self._base_seed, order, resumed)
        loader._progress = self._progress
        loader.epoch += 1
        self._num_yielded = self._progress.done + len(self._progress.ahead)

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def __len__(self) -> int:
        return len(self._loader._index_sampler)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        if recording.is_recording():
            with recording.EventRange(f"enumerate(DataLoader)#{type(self).__name__}.__next__"):
                return self._next()
        return self._next()

    def _next(self) -> Any:
        try:
            data = self._next_data()
        except StopIteration:
            self._progress.finished = True
            raise
        self._num_yielded += 1
        if self._iterable:
            self._compare_with_length()
        return pin.pin_memory(data) if self._pin else data

    def _compare_with_length(self) -> None:
        length = self._loader._reported_length
        if length is not None and self._num_yielded > length:
            warnings.warn(
                f"Length of IterableDataset {self._dataset} was reported to be {length} (when accessing "
                f"len(dataloader)), but {self._num_yielded} samples have been fetched. ",
                stacklevel=3,
            )

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


def draw_seed(generator: Any) -> int:
    """An epoch's seed for workers, from the generator or the default one."""
    return int(tl_core.empty((), dtype=tl_core.int64).random_(generator=generator).item())


class _Endless(Resumable):
    """The keys of a stream: the number of samples of a batch, repeated without end."""

    def __init__(self, count: int | None) -> None:
        self.count = count

    def __iter__(self) -> Iterator[int | None]:
        return itertools.repeat(self.count)

    def state_dict(self) -> dict[str, Any]:
        """An empty state: the stream has its own."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Does nothing."""


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """An epoch that this process fetches, batch by batch on demand."""

    def __init__(self, loader: Loader) -> None:
        super().__init__(loader)
        loader = self._loader
        stream = self._progress.streams.get(0)
        self._fetcher = fetcher(
            self._dataset, loader._auto_collation, self._collate_fn, loader.drop_last, self._iterable, stream
        )
        if self._iterable:
            self._progress.live = self._fetcher

    def _next_data(self) -> Any:
        keys = next(self._progress.order)
        randomness.set_epoch(self._progress.epoch)
        data = self._fetcher.fetch(keys)
        self._progress.hand_out(self._progress.done)
        return data


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """An epoch that worker processes or threads prefetch.

    Batches are numbered in the order of their keys and requested of the workers round robin. Responses are buffered
    until their batch is due.
    """

    def __init__(self, loader: Loader) -> None:
        super().__init__(loader)
        loader = self._loader
        self._epoch_id = 0
        self._abrupt = False  # whether workers are ended without waiting for their current batch
        self._use(_pool(loader, self._base_seed, loader.multiprocessing_context))
        self._start_epoch()

    def _use(self, pool: Any) -> None:
        self._pool = pool
        self._close = weakref.finalize(self, pool.close, abrupt=True)
        self._workers = pool.processes

    def _reset(self) -> None:
        """Begins another epoch with the same workers."""
        self._begin()
        self._epoch_id += 1
        self._start_epoch()

    def _start_epoch(self) -> None:
        self._responses: dict[int, tuple[int, Response]] = {}
        self._requested: dict[int, tuple[int, Any]] = {}
        self._at_end = [False] * self._num_workers  # a worker whose stream has ended
        self._number = self._progress.done
        self._turn = self._progress.next_worker % self._num_workers  # there may have been more
        self._exhausted = False
        self._progress.workers = self._num_workers
        self._begin_workers()
        for _ in range(self._loader.prefetch_factor * self._num_workers):
            self._request_next()

    def _begin_workers(self) -> None:
        for worker in range(self._num_workers):
            stream = self._progress.streams.get(worker)
            self._pool.begin(worker, self._epoch_id, self._progress.epoch, stream)

    def _relaunch(self, failure: Failure) -> None:
        """Forks the workers after fresh processes failed to load the dataset."""
        if self._loader.multiprocessing_context is not None or not may_fork():
            failure.throw()
        warnings.warn(
            f"workers are forked, as a fresh process can't load the dataset ({failure.last_line()})",
            stacklevel=5,
        )
        self._close.detach()
        self._pool.close(abrupt=True)
        self._use(_pool(self._loader, self._base_seed, get_context("fork")))
        self._begin_workers()
        for number, (worker, keys) in self._requested.items():
            self._pool.request(worker, self._epoch_id, number, keys)

    def _request_next(self) -> None:
        """Requests the next batch of the next worker (round robin)."""
        if self._exhausted or all(self._at_end):
            return
        keys = self._next_keys()
        if self._exhausted:
            return
        while self._at_end[self._turn]:
            self._turn = (self._turn + 1) % self._num_workers
        keys = keys.tolist() if isinstance(keys, tl_core.Tensor) else keys
        self._requested[self._number] = (self._turn, keys)
        self._pool.request(self._turn, self._epoch_id, self._number, keys)
        self._turn = (self._turn + 1) % self._num_workers
        self._number += 1

    def _next_keys(self) -> Any:
        try:
            keys = next(self._progress.order)
            while self._number in self._progress.ahead:  # returned before the epoch was resumed
                self._number += 1
                keys = next(self._progress.order)
            return keys
        except StopIteration:
            self._exhausted = True

    def _next_data(self) -> Any:
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else None
        try:
            while (number := self._ready()) is None and self._requested:
                self._wait(deadline)
        except BaseException:
            self._abrupt = True
            self._shutdown_workers()
            raise
        if number is None:
            self._end()
            raise StopIteration
        worker, response = self._responses.pop(number)
        del self._requested[number]
        self._progress.hand_out(number)
        self._progress.next_worker = (worker + 1) % self._num_workers
        if response.stream is not None:
            self._progress.streams[worker] = response.stream
        self._request_next()
        if response.kind == FAILED:
            response.value.throw()
        return response.value

    def _ready(self) -> int | None:
        """The number of the next batch that is ready; None if there is none."""
        if not self._loader.in_order:
            return next(iter(self._responses), None)
        while (requested := self._requested.get(self._progress.done)) is not None:
            if self._progress.done in self._responses:
                return self._progress.done
            if not self._at_end[requested[0]]:
                return None
            self._skip(self._progress.done)
        return None

    def _skip(self, number: int) -> None:
        """Skips a batch that was requested of a worker whose stream has ended."""
        del self._requested[number]
        self._progress.hand_out(number)

    def _wait(self, deadline: float | None) -> None:
        """Waits for one response."""
        left = None if deadline is None else max(deadline - time.monotonic(), 0)
        try:
            reply = self._pool.receive(left)
        except WorkerDied as error:
            raise WorkerDied(f"{error}{self._work_of(error.worker)}", error.worker) from None
        if reply is None:
            raise _TimedOut(self._late())
        worker, response = reply
        if response.epoch_id != self._epoch_id:  # of an epoch that was abandoned
            return
        if response.kind == REFUSED:
            self._relaunch(response.value)
        elif response.kind == ENDED:
            self._stop_worker(worker)
        elif response.number in self._requested:
            self._responses[response.number] = (worker, response)

    def _stop_worker(self, worker: int) -> None:
        if self._at_end[worker]:
            return
        self._at_end[worker] = True
        if not self._loader.in_order:
            for number in [
                n for n, (w, _) in self._requested.items() if w == worker and n not in self._responses
            ]:
                self._skip(number)
        for _ in range(self._loader.prefetch_factor):
            self._request_next()

    def _work_of(self, worker: int) -> str:
        """The oldest open request of a worker, for a message."""
        open_ = ((w, keys) for n, (w, keys) in self._requested.items() if n not in self._responses)
        keys = next((keys for w, keys in open_ if w == worker), None)
        return "" if keys is None or self._iterable else f" while it fetched the samples {keys!r}"

    def _late(self) -> str:
        """Message of a timeout: the late worker and its request."""
        number = next((n for n in self._requested if n not in self._responses), None)
        worker = self._requested[number][0] if number is not None else 0
        return (
            f"DataLoader timed out after {self._timeout} seconds: worker {worker} (pid {self._pool.pids[worker]}) "
            f"has not answered{self._work_of(worker)}"
        )

    def _end(self) -> None:
        """Ends the epoch."""
        if not self._loader.persistent_workers:
            self._shutdown_workers()

    def __del__(self) -> None:
        if hasattr(self, "_requested"):  # else the constructor failed
            self._abrupt = True
            self._shutdown_workers()

    # Programs override it to learn when workers go: it takes no arguments, and is called at the end of an epoch, when
    # an epoch fails, and when the iterator is no longer held.
    def _shutdown_workers(self) -> None:
        self._exhausted = True
        self._requested.clear()
        self._responses.clear()
        if self._close.detach() is not None:
            self._pool.close(self._abrupt)
        if self._loader._iterator is self:
            self._loader._iterator = None


class _TimedOut(RuntimeError):
    pass


def _pool(loader: Loader, base_seed: int, context: Any) -> Any:
    config = WorkerConfig(
        dataset=loader.dataset,
        batching=loader._auto_collation,
        collate_fn=loader.collate_fn,
        drop_last=loader.drop_last,
        worker_init_fn=loader.worker_init_fn,
        num_workers=loader.num_workers,
        base_seed=base_seed,
        iterable=loader._iterable,
    )
    return ThreadPool(config) if context == "thread" else ProcessPool(config, context, loader.arena_size)
