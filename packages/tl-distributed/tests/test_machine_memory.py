"""Parameters of sharded models in memory that the ranks of a machine have in common."""

from __future__ import annotations

import os
import re
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("tl_nn")
sys.path.insert(0, str(Path(__file__).parent))

from test_faults import Job

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_core.testing import assert_close
from tl_distributed.fsdp import MixedPrecisionPolicy, fully_shard, machine_memory
from tl_distributed.parallel import DistributedDataParallel

BUILDING = threading.Lock()  # ranks are threads, which share the generator
SIZE = 360  # whose squares are large enough for 3 ranks


def build():
    with BUILDING:
        tl.manual_seed(0)
        return nn.Sequential(nn.Linear(SIZE, SIZE), nn.Tanh(), nn.Linear(SIZE, SIZE), nn.Linear(SIZE, 2))


def shard(model, **options):
    for layer in (model[0], model[2]):
        fully_shard(layer, **options)
    return fully_shard(model, **options)


def batch(rank):
    return tl.randn(4, SIZE, generator=tl.Generator().manual_seed(rank))


def train(model, rank, steps=4):
    optimizer = nn.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for step in range(steps):
        loss = model(batch(rank + 10 * step)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def members(model):
    return [p for m in (model[0], model[2], model) for p in m._state().group.parameters]


def pieces_of(model):
    return [p.full_tensor() for p in model.parameters()]


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("reshard", [True, False])
def test_training_equals_that_of_replicas_and_of_copies(ranks, count, reshard, monkeypatch):
    def body(rank):
        expected = train(DistributedDataParallel(build()), rank)
        model = shard(build(), reshard_after_forward=reshard)
        losses = train(model, rank)
        assert [p.is_shared for p in members(model)] == [True, False] * 2 + [False] * 2
        return expected, losses, pieces_of(model)

    shared = ranks(count, body)
    monkeypatch.setenv("TL_FSDP_SHARED", "0")

    def copies(rank):
        model = shard(build(), reshard_after_forward=reshard)
        return train(model, rank), pieces_of(model), any(p.is_shared for p in members(model))

    for (expected, losses, pieces), (bare, others, is_shared) in zip(
        shared, ranks(count, copies), strict=True
    ):
        assert losses == bare and not is_shared
        assert all(map(tl.equal, pieces, others))
        assert_close(tl.tensor(losses), tl.tensor(expected), rtol=1e-5, atol=1e-6)


def test_a_write_to_the_whole_parameter_raises(ranks):
    def body(rank):
        model = shard(build())
        model(batch(rank))
        model[0].unshard()
        with tl.no_grad(), pytest.raises(RuntimeError, match="memory is read-only"):
            model[0].weight.add_(1)
        before = model[0].weight.clone()
        model[0].reshard()
        with tl.no_grad():
            model[0].weight.mul_(2)  # the piece
        model(batch(rank))
        model[0].unshard()
        assert tl.equal(model[0].weight, 2 * before)
        model[0].reshard()

    ranks(2, body)


def test_pieces_that_a_program_replaces_come_back(ranks):
    def body(rank):
        model = shard(build())
        model(batch(rank))
        state = {name: value.clone() for name, value in model.state_dict().items()}
        train(model, rank, 1)
        changed = model(batch(0))
        model.load_state_dict(state, assign=True)
        model.zero_grad()
        restored = model(batch(0))
        assert not tl.equal(changed, restored)
        assert_close(restored, build()(batch(0)), rtol=1e-5, atol=1e-6)
        assert members(model)[0].is_shared
        own = members(model)[0]._own_memory.data_ptr()
        assert model[0].weight.to_local().data_ptr() == own
        model.to(tl.float64)
        assert model[0].weight.dtype == tl.float64
        assert_close(model(batch(0).double()), restored.double(), rtol=1e-5, atol=1e-6)

    ranks(2, body)


def test_parameters_that_stay_whole_show_what_optimizers_do(ranks):
    def body(rank):
        model = shard(build(), reshard_after_forward=False)
        model.set_reshard_after_backward(False)
        for _ in range(3):
            train(model, rank, 1)
            whole = [p._memory.clone() for p in members(model) if p.is_shared]
        model(batch(rank))
        after = [p._memory.clone() for p in members(model) if p.is_shared]
        return [whole, after]

    first, second = ranks(2, body)
    assert all(map(tl.equal, first[1], second[1]))


@pytest.mark.parametrize(
    ("options", "is_shared"),
    [
        ({"mp_policy": MixedPrecisionPolicy(param_dtype=tl.bfloat16)}, False),
        ({"mp_policy": MixedPrecisionPolicy(reduce_dtype=tl.float64)}, True),
        ({"shard_placement_fn": lambda p: dist.tensor.Shard(p.dim() - 1)}, False),
    ],
)
def test_parameters_that_are_no_row_of_their_pieces_are_copies(ranks, options, is_shared):
    def body(rank):
        model = shard(build(), **options)
        model(batch(rank)).sum().backward()
        assert members(model)[0].is_shared == is_shared

    ranks(2, body)


def test_ranks_that_differ_have_no_common_memory(ranks, monkeypatch):
    names = iter(["one machine", "another"])
    monkeypatch.setattr(machine_memory, "domain", lambda: next(names))

    def body(rank):
        model = shard(build())
        model(batch(rank)).sum().backward()
        assert not any(p.is_shared for p in members(model))

    ranks(2, body)


def test_memory_that_one_rank_cannot_open_is_that_of_none(ranks, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "not for you")

    monkeypatch.setattr(machine_memory.os, "open", refuse)  # which ranks but the first call
    before = len(os.listdir("/proc/self/fd"))

    def body(rank):
        assert machine_memory.common_block(100, dist.group.WORLD) is None

    ranks(2, body)
    assert len(os.listdir("/proc/self/fd")) == before


def test_common_memory_outlives_the_rank_that_allocated_it(ranks):
    def body(rank):
        block = machine_memory.common_block(4096, dist.group.WORLD)
        if rank == 0:
            block[:3] = b"abc"
            del block
            dist.barrier()
            dist.barrier()
            return b"abc"
        dist.barrier()
        content = bytes(block[:3])
        dist.barrier()
        return content

    assert ranks(2, body) == [b"abc"] * 2
    assert not [name for name in os.listdir("/dev/shm") if name.startswith("tl-")]


def test_a_machine_has_one_copy_of_the_parameters(tmp_path):
    with Job(tmp_path, 3, "copies") as job:
        outputs = [job.outcome(rank) for rank in range(3)]
    copies = [float(re.search(r"([\d.]+) copies", output)[1]) for output in outputs]
    assert sum(copies) < 1.2, outputs
    assert all(", 0 of them its own" in output for output in outputs), outputs
