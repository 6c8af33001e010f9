"""Epochs that go on with another number of processes."""

from __future__ import annotations

import pytest

from tl_data.distributed import DistributedSampler
from tl_data.elastic import CyclingIterator, ElasticDistributedSampler


@pytest.mark.parametrize("before", [1, 2, 3])
@pytest.mark.parametrize("after", [1, 2, 4])
def test_the_rest_of_an_epoch_is_seen_once(before, after):
    size, steps = 24, 3
    records = []
    for rank in range(before):
        sampler = DistributedSampler(range(size), before, rank)
        sampler.set_epoch(5)
        records += list(sampler)[:steps]
    rest = []
    for rank in range(after):
        sampler = ElasticDistributedSampler(range(size), after, rank, start_index=len(records))
        sampler.set_epoch(5)
        part = list(sampler)
        assert len(part) == len(sampler)
        rest += part
    missing = set(range(size)) - set(records)
    assert set(rest) == missing
    assert len(rest) - len(missing) < after  # only what fills the last round stands twice


def test_start_index_is_checked():
    with pytest.raises(ValueError, match="start_index"):
        ElasticDistributedSampler(range(3), 1, 0, start_index=3)


def test_epochs_without_elements_are_passed():
    assert list(CyclingIterator(3, lambda epoch: range(epoch % 2), 0)) == [0]
    assert list(CyclingIterator(0, lambda epoch: range(3))) == []
