"""What a checkpoint's ranks tell each other."""

from __future__ import annotations

import tl_distributed as dist
from tl_core import ranks as process_ranks


def test_objects_go_to_the_coordinator_and_back(ranks):
    def body(rank):
        channel = dist.group.WORLD.__checkpoint_channel__(1)
        assert (channel.rank, channel.world_size, channel.coordinator) == (rank, 3, 1)
        found = channel.gather(("from", rank))
        assert found == ([("from", 0), ("from", 1), ("from", 2)] if rank == 1 else None)
        assert channel.scatter(["a", "b", "c"] if rank == 1 else None) == "abc"[rank]
        assert channel.broadcast(rank) == 1
        assert channel.all_gather(rank) == [0, 1, 2]
        assert process_ranks.default_group() is dist.group.WORLD

    ranks(3, body)
