"""`torch.ops._c10d_functional`: collectives by the name of their group; what programs read about groups."""

from __future__ import annotations

from datetime import timedelta

import pytest

import tl_core as tl
import tl_distributed as dist
from tl_distributed import distributed_c10d as c10d
from tl_distributed.collectives import functional_operators as collect


@pytest.mark.parametrize("size", [1, 2, 3])
def test_collectives_by_name(ranks, size):
    def body(rank):
        name = dist.group.WORLD.group_name
        operators = tl.ops._c10d_functional
        x = tl.full((2,), rank + 1.0)
        total = size * (size + 1) / 2
        assert operators.all_reduce(x, "sum", name).tolist() == [total] * 2 and x[0] == rank + 1
        assert operators.all_reduce_(x.clone(), "max", name).tolist() == [size] * 2
        gathered = operators.all_gather_into_tensor(x.view(1, 2), size, name)
        assert operators.wait_tensor(gathered)[:, 0].tolist() == [r + 1 for r in range(size)]
        assert collect.all_gather_into_tensor(x[0], size, name).shape == (size,)
        parts = tl.arange(float(size)) + rank
        assert operators.reduce_scatter_tensor(parts, "sum", size, name).tolist() == [
            size * rank + sum(range(size))
        ]
        data = tl.full((size,), float(rank))
        received = operators.all_to_all_single(data, [1] * size, [1] * size, name)
        assert received.tolist() == list(range(size))
        assert operators.broadcast(x, size - 1, name).tolist() == [size] * 2
        both = operators.all_reduce_coalesced([x, x * 2], "sum", name)
        assert [t[0].item() for t in both] == [total, 2 * total]

    ranks(size, body)


def test_groups_by_name(ranks):
    def body(rank):
        world = dist.group.WORLD
        assert c10d._resolve_process_group(world.group_name) is world and c10d._world.default_pg is world
        assert c10d._pg_map[world][0] == str(world.backend) and c10d._pg_names[world] == world.group_name
        assert c10d._pg_group_ranks[world] == {0: 0, 1: 1} and len(c10d._pg_map) >= 1
        c10d._get_default_store().set(f"key {rank}", "here")
        assert c10d._get_default_store().get(f"key {1 - rank}") == b"here"
        assert c10d._get_group_size(None) == 2 and c10d._get_pg_default_device().type == "cpu"
        with pytest.raises(ValueError, match=r"under the name nobody: there are"):
            c10d._resolve_process_group("nobody")
        with pytest.raises(KeyError):
            c10d._pg_map["nobody"]
        c10d._set_pg_timeout(timedelta(seconds=70))
        with pytest.raises(TypeError, match="timedelta"):
            c10d._set_pg_timeout(70)

    ranks(2, body)
