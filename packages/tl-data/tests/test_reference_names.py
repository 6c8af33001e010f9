"""The private names of the reference's loader that libraries use."""

import itertools
import os

import numpy as np
import pytest

import tl_data
from tl_data.compat._utils import collate, fetch, worker
from tl_data.compat._utils.worker import _generate_state
from tl_data.dataloader import _DatasetKind, _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter


@pytest.mark.parametrize("worker_id", [0, 4, 2**31])
@pytest.mark.parametrize("base_seed", [0, 1, 123, 2**32, 2**63 + 5, 2**64 - 1])
def test_states_are_those_of_numpys_seed_sequences(base_seed, worker_id):
    sequence = np.random.SeedSequence([worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0])
    assert _generate_state(base_seed, worker_id) == sequence.generate_state(4).tolist()


def test_what_is_set_is_what_a_worker_knows_of_itself():
    assert worker._worker_info is None
    worker._worker_info = worker.WorkerInfo(1, 3, 7, [0])
    try:
        assert tl_data.get_worker_info() is worker._worker_info
        assert (worker._worker_info.id, worker._worker_info.num_workers) == (1, 3)
    finally:
        worker._worker_info = None
    assert tl_data.get_worker_info() is None


def test_the_watchdog_sees_the_parent_end():
    watchdog = worker.ManagerWatchdog()
    assert watchdog.is_alive()
    watchdog.manager_pid = os.getpid()  # which isn't its own parent
    assert not watchdog.is_alive()


class Counting(tl_data.IterableDataset):
    def __iter__(self):
        return iter(range(5))


def test_fetchers_take_the_references_arguments():
    fetched = fetch._MapDatasetFetcher([10, 20, 30], True, list, False)
    assert (fetched.fetch([2, 0]), fetched.auto_collation, fetched.drop_last) == ([30, 10], True, False)
    assert fetch._MapDatasetFetcher([10, 20, 30], False, str, False).fetch(1) == "20"
    stream = fetch._IterableDatasetFetcher(Counting(), True, list, False)
    assert [stream.fetch([None] * 3), stream.fetch([None] * 3)] == [[0, 1, 2], [3, 4]]
    with pytest.raises(StopIteration):
        stream.fetch([None] * 3)
    dropping = fetch._IterableDatasetFetcher(Counting(), True, list, True)
    dropping.fetch([None] * 3)
    with pytest.raises(StopIteration):
        dropping.fetch([None] * 3)
    with pytest.raises(NotImplementedError):
        fetch._BaseDatasetFetcher([], True, list, False).fetch([0])


@pytest.mark.parametrize("array, taken", [(["a"], False), ([None], False), ([1], True), ([1.5], True)])
def test_the_pattern_finds_arrays_that_are_not_collated(array, taken):
    array = np.array(array)
    assert (collate.np_str_obj_array_pattern.search(array.dtype.str) is None) is taken
    if not taken:
        with pytest.raises(TypeError):
            tl_data.default_collate([array])


class ForeignLoader:
    """What libraries hand to the iterators: the reference's attributes of a loader, and nothing else."""

    collate_fn, worker_init_fn, generator, multiprocessing_context = list, None, None, None
    pin_memory, persistent_workers, timeout, in_order, pin_memory_device = False, False, 0, True, ""
    drop_last, prefetch_factor = False, 2

    def __init__(self, dataset, kind, keys, workers=0, batching=True):
        self.dataset, self._dataset_kind, self._index_sampler = dataset, kind, keys
        self.num_workers, self._auto_collation = workers, batching
        if not batching:
            self.collate_fn = str


class Counter:
    """Not an `IterableDataset`."""

    def __iter__(self):
        return iter(range(5))


ITERATORS = [(_SingleProcessDataLoaderIter, 0), (_MultiProcessingDataLoaderIter, 1)]


@pytest.mark.parametrize("iterator, workers", ITERATORS)
def test_iterators_take_loaders_of_other_libraries(iterator, workers):
    mapped = ForeignLoader([10, 20, 30], _DatasetKind.Map, [[2, 0], [1]], workers)
    assert list(iterator(mapped)) == [[30, 10], [20]]
    assert len(iterator(mapped)) == 2
    stream = ForeignLoader(Counter(), _DatasetKind.Iterable, [[None] * 3] * 9, workers)
    assert list(iterator(stream)) == [[0, 1, 2], [3, 4]]
    single = ForeignLoader(Counter(), _DatasetKind.Iterable, itertools.count(), workers, batching=False)
    assert list(iterator(single)) == ["0", "1", "2", "3", "4"]
