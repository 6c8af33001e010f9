"""Samplers. The orders for a seed were written down once from PyTorch 2.13."""

import collections

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tl_core
import tl_data
from tl_core.base import ranks


def seeded(seed=5):
    return tl_core.Generator().manual_seed(seed)


def test_sequential():
    assert list(tl_data.SequentialSampler("abc")) == [0, 1, 2]
    assert list(tl_data.SequentialSampler("")) == []


def test_random_orders_are_those_of_the_reference():
    assert list(tl_data.RandomSampler(range(8), generator=seeded())) == RANDOM
    sampler = tl_data.RandomSampler(range(8), replacement=True, num_samples=6, generator=seeded())
    assert list(sampler) == REPLACED
    tl_core.manual_seed(5)
    assert list(tl_data.RandomSampler(range(8))) == DEFAULT
    assert list(tl_data.SubsetRandomSampler([9, 7, 5, 3], generator=seeded())) == SUBSET
    weights = [0.1, 0.9, 0.4, 0.7, 3.0, 0.6]
    assert list(tl_data.WeightedRandomSampler(weights, 5, generator=seeded())) == WEIGHTED
    assert list(tl_data.WeightedRandomSampler(weights, 5, False, generator=seeded())) == WEIGHTED_ONCE
    sampler = tl_data.DistributedSampler(range(7), num_replicas=2, rank=0, seed=3)
    sampler.set_epoch(2)
    assert list(sampler) == DISTRIBUTED


@given(st.integers(1, 30), st.integers(1, 90))
def test_more_samples_than_there_are_take_each_equally_often(size, count):
    samples = list(tl_data.RandomSampler(range(size), num_samples=count))
    times = collections.Counter(samples)
    assert len(samples) == count
    assert {times[i] for i in range(size)} <= {count // size, -(-count // size)}


def test_random_sampler_errors():
    with pytest.raises(TypeError, match="replacement should be a boolean value"):
        tl_data.RandomSampler(range(3), replacement=1)
    with pytest.raises(
        ValueError, match="num_samples should be a positive integer value, but got num_samples=0"
    ):
        tl_data.RandomSampler([])


def test_a_subset_of_keys_that_are_no_numbers():
    keys = ["a", "b", "c"]
    loader = tl_data.DataLoader(
        {"a": 1, "b": 2, "c": 3}, sampler=tl_data.SubsetRandomSampler(keys), batch_size=3
    )
    assert sorted(next(iter(loader)).tolist()) == [1, 2, 3]


def test_weighted_sampler_errors():
    with pytest.raises(ValueError, match="num_samples should be a positive integer value"):
        tl_data.WeightedRandomSampler([1.0], 0)
    with pytest.raises(ValueError, match="replacement should be a boolean value"):
        tl_data.WeightedRandomSampler([1.0], 1, replacement="yes")
    with pytest.raises(ValueError, match=r"1d sequence but given weights have shape \(1, 1\)"):
        tl_data.WeightedRandomSampler([[1.0]], 1)


@given(st.integers(0, 20), st.integers(1, 6), st.booleans())
def test_batches(count, size, drop_last):
    sampler = tl_data.BatchSampler(range(count), size, drop_last)
    expected = [list(range(k, min(k + size, count))) for k in range(0, count, size)]
    if drop_last and expected and len(expected[-1]) < size:
        expected.pop()
    assert list(sampler) == expected and len(sampler) == len(expected)


def test_batch_sampler_errors():
    for size in (0, -1, True, 1.0):
        with pytest.raises(ValueError, match="batch_size should be a positive integer value"):
            tl_data.BatchSampler(range(3), size, False)
    with pytest.raises(ValueError, match="drop_last should be a boolean value"):
        tl_data.BatchSampler(range(3), 1, 1)


@given(st.integers(1, 25), st.integers(1, 5), st.booleans(), st.booleans())
def test_processes_share_the_dataset(count, processes, shuffle, drop_last):
    samplers = [
        tl_data.DistributedSampler(range(count), processes, rank, shuffle, drop_last=drop_last)
        for rank in range(processes)
    ]
    parts = [list(s) for s in samplers]
    assert len({len(p) for p in parts}) == 1 and all(len(p) == len(s) for p, s in zip(parts, samplers))
    everything = [i for p in parts for i in p]
    if drop_last and count >= processes:
        assert len(set(everything)) == len(everything) == count - count % processes
    elif not drop_last:
        assert set(everything) == set(range(count))


def test_epochs_have_orders_of_their_own():
    sampler = tl_data.DistributedSampler(range(50), 1, 0)
    first = list(sampler)
    assert list(sampler) == first
    sampler.set_epoch(1)
    assert list(sampler) != first


def test_rank_and_world_size():
    with pytest.raises(ValueError, match="needs num_replicas and rank"):
        tl_data.DistributedSampler(range(3))
    with pytest.raises(ValueError, match=r"Invalid rank 2, rank should be in the interval \[0, 1\]"):
        tl_data.DistributedSampler(range(3), 2, 2)
    ranks.register(lambda: (1, 3))
    try:
        sampler = tl_data.DistributedSampler(range(6), shuffle=False)
        assert (sampler.rank, sampler.num_replicas, list(sampler)) == (1, 3, [1, 4])
    finally:
        ranks.register(lambda: None)


def test_a_sampler_must_have_an_order():
    with pytest.raises(NotImplementedError, match="Sampler must have __iter__"):
        iter(tl_data.Sampler())
    with pytest.warns(UserWarning, match="data_source"):
        tl_data.Sampler([1])


RANDOM = [3, 6, 0, 2, 1, 4, 5, 7]
REPLACED = [3, 6, 7, 5, 6, 6]
DEFAULT = [5, 3, 0, 7, 4, 1, 6, 2]
SUBSET = [3, 7, 9, 5]
WEIGHTED = [4, 3, 3, 3, 3]
WEIGHTED_ONCE = [4, 1, 3, 2, 5]
DISTRIBUTED = [1, 4, 6, 3]
