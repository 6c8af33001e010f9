"""What a checkpoint's ranks tell each other."""

from __future__ import annotations

import pytest

import tl_distributed as dist
from tl_core.base import ranks as process_ranks


def test_objects_go_to_the_coordinator_and_back(ranks):
    def body(rank):
        channel = dist.group.WORLD.__checkpoint_channel__(1)
        assert (channel.rank, channel.world_size, channel.coordinator) == (rank, 3, 1)
        result = channel.gather(("from", rank))
        assert result == ([("from", 0), ("from", 1), ("from", 2)] if rank == 1 else None)
        assert channel.scatter(["a", "b", "c"] if rank == 1 else None) == "abc"[rank]
        assert channel.broadcast(rank) == 1
        assert channel.all_gather(rank) == [0, 1, 2]
        assert process_ranks.default_group() is dist.group.WORLD

    ranks(3, body)


def test_the_wrapper_that_planners_call(ranks):
    utils = pytest.importorskip("tl_checkpoint.distributed.utils")
    api = pytest.importorskip("tl_checkpoint.distributed.api")

    def fail():
        raise OSError("no disk")

    def body(rank):
        here = utils._DistWrapper(dist.group.WORLD, True, 1)
        assert (here.get_rank(), here.get_world_size(), here.is_coordinator) == (rank, 3, rank == 1)
        assert here.broadcast_object(rank) == 1 and here.all_gather_object(rank) == [0, 1, 2]
        assert here.gather_object(rank) == ([0, 1, 2] if rank == 1 else None)
        assert here.scatter_object(["a", "b", "c"] if rank == 1 else None) == "abc"[rank]
        assert here.reduce_scatter("plan", lambda: rank, lambda all: [10 * n for n in all]) == 10 * rank
        assert here.all_reduce("sum", lambda: rank, sum) == 3
        assert here.all_gather("names", lambda: f"rank {rank}") == ["rank 0", "rank 1", "rank 2"]
        assert here.broadcast("first", lambda: rank) == 1
        with pytest.raises(api.CheckpointException, match="no disk"):
            here.all_gather("write", fail if rank == 2 else lambda: None)
        here.barrier()

    ranks(3, body)
    alone = utils._DistWrapper(None, False, 0)
    assert alone.is_coordinator and alone.all_reduce("sum", lambda: 4, sum) == 4
