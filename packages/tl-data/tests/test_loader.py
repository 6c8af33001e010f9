"""The loader in one process."""

import copy
import itertools
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import Buckets, Dice, Failing, Numbers, Stream, as_list, plain

import tl_core
import tl_data
from tl_data.compat._utils.fetch import _IterableDatasetFetcher
from tl_data.dataloader import _BaseDataLoaderIter, _SingleProcessDataLoaderIter


@given(st.integers(0, 30), st.integers(1, 7), st.booleans())
def test_batches_in_order(count, size, drop_last):
    loader = tl_data.DataLoader(Numbers(count), batch_size=size, drop_last=drop_last)
    expected = [list(range(k, min(k + size, count))) for k in range(0, count, size)]
    expected = [b for b in expected if len(b) == size or not drop_last]
    assert plain(list(loader)) == expected and len(loader) == len(expected)


@given(st.integers(1, 30), st.integers(1, 7), st.integers(0, 5))
def test_shuffled_batches_are_the_sampler_in_pieces(count, size, seed):
    generator = tl_core.Generator().manual_seed(seed)
    loader = tl_data.DataLoader(Numbers(count), batch_size=size, shuffle=True, generator=generator)
    twice = [n for _ in range(2) for batch in loader for n in batch.tolist()]
    # Each epoch draws a seed for workers, then the sampler's numbers.
    generator = tl_core.Generator().manual_seed(seed)
    expected = []
    for _ in range(2):
        tl_core.empty((), dtype=tl_core.int64).random_(generator=generator)
        expected += tl_data.RandomSampler(range(count), generator=generator)
    assert twice == expected


def test_single_samples():
    loader = tl_data.DataLoader([np.arange(2), "a"], batch_size=None)
    first, second = loader
    assert first.tolist() == [0, 1] and second == "a" and len(loader) == 2


def test_batch_sampler():
    loader = tl_data.DataLoader(Numbers(9), batch_sampler=Buckets(range(9), 2, False))
    assert plain(list(loader)) == [[0, 2], [1], [5, 4, 3]]
    assert loader.batch_size is None


def test_a_sampler_may_be_any_iterable():
    assert plain(list(tl_data.DataLoader(Numbers(9), sampler=[3, 1, 2], batch_size=2))) == [[3, 1], [2]]
    assert plain(list(tl_data.DataLoader({"x": 1}, sampler=["x"]))) == [[1]]


def test_streams():
    assert plain(list(tl_data.DataLoader(Stream(7), batch_size=3))) == [[0, 1, 2], [3, 4, 5], [6]]
    assert plain(list(tl_data.DataLoader(Stream(7), batch_size=3, drop_last=True))) == [[0, 1, 2], [3, 4, 5]]
    assert list(tl_data.DataLoader(Stream(3), batch_size=None)) == [0, 1, 2]
    assert plain(list(tl_data.DataLoader(Stream(6), batch_size=3))) == [[0, 1, 2], [3, 4, 5]]


class Restarting(tl_data.IterableDataset):
    """A stream that is its own iterator, begins anew with each `iter`, and counts these."""

    def __init__(self, count=7):
        self.count, self.begun = count, 0

    def __iter__(self):
        self.at, self.begun = 0, self.begun + 1
        return self

    def __next__(self):
        if self.at == self.count:
            raise StopIteration
        self.at += 1
        return self.at - 1


@pytest.mark.parametrize("context", [None, "fork", "forkserver", "thread"])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"batch_size": 3}, [[0, 1, 2], [3, 4, 5], [6]]),
        ({"batch_size": 3, "drop_last": True}, [[0, 1, 2], [3, 4, 5]]),
        ({"batch_size": 7}, [[0, 1, 2, 3, 4, 5, 6]]),
        ({"batch_size": 8, "drop_last": True}, []),
        ({"batch_size": None}, [0, 1, 2, 3, 4, 5, 6]),
    ],
)
def test_an_epoch_of_a_stream_has_one_iterator(context, options, expected):
    dataset = Restarting()
    more = {} if context is None else {"num_workers": 1, "multiprocessing_context": context}
    loader = tl_data.DataLoader(dataset, **options, **more)
    for epoch in range(2):
        assert plain(list(itertools.islice(loader, 20))) == expected
        assert context is not None or dataset.begun == epoch + 1


def test_an_epoch_asks_samplers_for_one_iterator():
    single, batches = Restarting(5), Restarting(2)
    assert plain(list(tl_data.DataLoader(Numbers(9), sampler=single, batch_size=2))) == [[0, 1], [2, 3], [4]]
    assert list(itertools.islice(tl_data.BatchSampler(single, 2, True), 9)) == [[0, 1], [2, 3]]
    assert plain(list(tl_data.DataLoader([[1], [2]], batch_size=None, sampler=batches))) == [[1], [2]]
    assert single.begun == 2 and batches.begun == 1


def test_fetchers_of_other_loaders_have_one_iterator():
    dataset = Restarting(4)
    fetcher = _IterableDatasetFetcher(dataset, True, as_list, False)
    assert [fetcher.fetch([None] * 3), fetcher.fetch([None] * 3)] == [[0, 1, 2], [3]] and dataset.begun == 1
    with pytest.raises(StopIteration):
        fetcher.fetch([None] * 3)


def test_a_stream_that_is_longer_than_it_said():
    class Liar(Stream):
        def __len__(self):
            return 2

    loader = tl_data.DataLoader(Liar(5))
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="was reported to be 2 .* but . samples have been fetched"):
        list(loader)


def test_collate_fn():
    assert list(tl_data.DataLoader(Numbers(3), batch_size=2, collate_fn=as_list)) == [[0, 1], [2]]


def test_an_error_names_the_sample():
    with pytest.raises(KeyError) as caught:
        list(tl_data.DataLoader(Failing(KeyError("gone")), batch_size=5))
    assert caught.value.args == ("gone",) and caught.value.__notes__ == ["while the sample 13 was fetched"]
    with pytest.raises(KeyError) as caught:
        list(tl_data.DataLoader(Failing(KeyError("gone")), batch_size=None))
    assert caught.value.__notes__ == ["while the sample 13 was fetched"]


def test_errors_of_many_samples_at_once():
    dataset = tl_data.TensorDataset(tl_core.arange(3))
    with pytest.raises(IndexError) as caught:
        list(tl_data.DataLoader(dataset, sampler=[0, 7], batch_size=2))
    assert caught.value.__notes__ == ["while the samples [0, 7] were fetched at once"]


def test_pinning_without_an_accelerator_says_so():
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert plain(list(tl_data.DataLoader(Numbers(2), pin_memory=True))) == [[0], [1]]


def test_nothing_is_said_otherwise():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(tl_data.DataLoader(Numbers(2)))


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"num_workers": -1}, ValueError, "num_workers option should be non-negative, got -1"),
        ({"timeout": -1}, ValueError, "timeout option should be non-negative, got -1"),
        (
            {"prefetch_factor": 2},
            ValueError,
            "prefetch_factor option could only be specified in multiprocessing",
        ),
        (
            {"prefetch_factor": 0, "num_workers": 1},
            ValueError,
            "prefetch_factor option should be positive, got 0",
        ),
        ({"persistent_workers": True}, ValueError, "persistent_workers option needs num_workers > 0"),
        ({"sampler": [1], "shuffle": True}, ValueError, "sampler option is mutually exclusive with shuffle"),
        ({"batch_sampler": [[1]], "batch_size": 2}, ValueError, "batch_sampler option is mutually exclusive"),
        (
            {"batch_sampler": [[1]], "drop_last": True},
            ValueError,
            "batch_sampler option is mutually exclusive",
        ),
        (
            {"batch_size": None, "drop_last": True},
            ValueError,
            "batch_size=None option disables auto-batching",
        ),
        ({"multiprocessing_context": "fork"}, ValueError, "can only be used with multi-process loading"),
        (
            {"multiprocessing_context": "x", "num_workers": 1},
            ValueError,
            "should specify a valid start method",
        ),
        ({"multiprocessing_context": 3, "num_workers": 1}, TypeError, "should be a valid context object"),
        ({"batch_size": 0}, ValueError, "batch_size should be a positive integer value"),
    ],
)
def test_arguments_that_exclude_each_other(options, error, message):
    with pytest.raises(error, match=message):
        tl_data.DataLoader(Numbers(), **options)


@pytest.mark.parametrize("name", ["shuffle", "sampler", "batch_sampler"])
def test_streams_have_no_order(name):
    value = True if name == "shuffle" else [1]
    with pytest.raises(ValueError, match=f"IterableDataset: expected unspecified {name} option"):
        tl_data.DataLoader(Stream(), **{name: value})


def test_a_loader_of_nothing():
    assert list(tl_data.DataLoader(Numbers(0))) == []
    with pytest.raises(ValueError, match="num_samples=0"):
        tl_data.DataLoader(Numbers(0), shuffle=True)


def test_what_a_loader_reads_is_fixed():
    loader = tl_data.DataLoader(Numbers())
    for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
        with pytest.raises(
            ValueError, match=f"{name} attribute should not be set after DataLoader is initialized"
        ):
            setattr(loader, name, None)
    loader.timeout = 3


def test_iterators_by_name():
    iterator = iter(tl_data.DataLoader(Numbers(3), sampler=Dice(3)))
    assert isinstance(iterator, _SingleProcessDataLoaderIter) and isinstance(iterator, _BaseDataLoaderIter)
    assert len(iterator) == 3 and iter(iterator) is iterator
    with pytest.raises(NotImplementedError, match="_SingleProcessDataLoaderIter cannot be pickled"):
        pickle.dumps(iterator)


def test_a_loader_can_be_pickled():
    loader = pickle.loads(pickle.dumps(tl_data.DataLoader(Numbers(3), batch_size=2)))
    assert plain(list(loader)) == [[0, 1], [2]]


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda loader: pickle.loads(pickle.dumps(loader))]
)
def test_a_copy_of_a_loader_begins_anew(duplicate):
    loader = tl_data.DataLoader(Numbers(3), batch_size=2)
    iterator = iter(loader)
    next(iterator)
    for other in (duplicate(loader), list(iterator) and duplicate(loader)):
        assert other.state_dict()["begun"] is None
        assert plain(list(other)) == [[0, 1], [2]]


def test_a_batch_is_no_view_of_the_dataset():
    rows = tl_core.ones(4, 2)
    (batch,) = next(iter(tl_data.DataLoader(tl_data.TensorDataset(rows), batch_size=4)))
    batch.add_(1)
    assert rows.tolist() == [[1.0, 1.0]] * 4
