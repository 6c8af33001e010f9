"""The ranks that a failed barrier waits for, as data of the error."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

import tl_distributed as dist


def test_monitored_barrier_names_all_missing_ranks(ranks):
    end = threading.Barrier(3, timeout=20)

    def body(rank):
        if rank == 0:
            with pytest.raises(dist.DistBackendError, match="Ranks 1, 2 failed to pass") as caught:
                dist.monitored_barrier(timeout=timedelta(seconds=0.1), wait_all_ranks=True)
            assert caught.value.__cause__.missing_ranks == (1, 2)
        end.wait()

    ranks(3, body)


def test_each_rank_of_a_failed_barrier_has_the_missing_ranks(ranks):
    end = threading.Barrier(3, timeout=20)

    def body(rank):
        if rank < 2:
            text = "Rank 2 failed to pass" if rank == 0 else "Rank 1 successfully reached monitoredBarrier"
            with pytest.raises(dist.DistBackendError, match=text) as caught:
                dist.monitored_barrier(timeout=timedelta(seconds=0.2))
            assert caught.value.__cause__.missing_ranks == (2,)
        end.wait()

    ranks(3, body)
