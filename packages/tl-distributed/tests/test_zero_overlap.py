"""An optimizer that steps within the backward pass, its state divide among the ranks."""

from __future__ import annotations

import pytest

import tl_core as tl

nn = pytest.importorskip("tl_nn")

from tl_distributed.algorithms.ddp_comm_hooks.ddp_zero_hook import (  # noqa: E402
    hook_with_zero_step,
    hook_with_zero_step_interleaved,
)
from tl_distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook  # noqa: E402
from tl_distributed.optim import ZeroRedundancyOptimizer  # noqa: E402
from tl_distributed.optim.named_optimizer import _NamedOptimizer  # noqa: E402
from tl_distributed.parallel import DistributedDataParallel  # noqa: E402


def model():
    models = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    with tl.no_grad():
        for number, p in enumerate(models.parameters()):
            p.copy_(tl.linspace(-0.3, 0.3, p.numel()).view(p.shape) * (1 + number % 3))
    return models


def data(rank, step):
    return tl.linspace(-1, 1, 24).view(3, 8) * (1 + rank) + 0.1 * step


def train(rank, settings, wrap):
    ddp = DistributedDataParallel(model(), bucket_cap_mb=0.002)
    step_of = wrap(ddp)
    for step in range(4):
        ddp.zero_grad()
        ddp(data(rank, step)).square().mean().backward()
        step_of.step()
    return [p.detach().clone() for p in ddp.parameters()], step_of


@pytest.mark.parametrize("hook", [hook_with_zero_step, hook_with_zero_step_interleaved])
@pytest.mark.parametrize("shard", [False, True])
@pytest.mark.parametrize(
    ("kind", "settings"), [(nn.optim.SGD, {"lr": 0.1, "momentum": 0.9}), (nn.optim.Adam, {"lr": 0.01})]
)
def test_it_is_the_optimizer_of_one_process(ranks, hook, shard, kind, settings):
    def make_full(ddp):
        return kind(ddp.parameters(), **settings)

    def divide(ddp):
        zero = ZeroRedundancyOptimizer(ddp.parameters(), kind, overlap_with_ddp=True, **settings)
        ddp.register_comm_hook(None, hook(allreduce_hook, ddp, zero, shard_buckets=shard))
        return zero

    def body(rank):
        expected, _ = train(rank, settings, make_full)
        result, zero = train(rank, settings, divide)
        assert all(tl.equal(a, b) for a, b in zip(expected, result, strict=True))
        own = zero.optim.state_dict()["state"] if zero.optim else {}
        assert len(own) < len(result)  # the state is divide
        zero.consolidate_state_dict()
        if rank == 0:
            state = zero.state_dict()["state"]
            assert sorted(state) == list(range(len(result)))
        return len(own)

    assert sum(ranks(2, body)) == 6


def test_the_state_can_be_loaded(ranks):
    def body(rank):
        def make_overlapped(ddp):
            zero = ZeroRedundancyOptimizer(ddp.parameters(), nn.optim.Adam, overlap_with_ddp=True, lr=0.01)
            ddp.register_comm_hook(None, hook_with_zero_step(allreduce_hook, ddp, zero))
            return zero

        _, zero = train(rank, {}, make_overlapped)
        for to in range(2):
            zero.consolidate_state_dict(to)
            if rank == to:
                state = zero.state_dict()
        ddp = DistributedDataParallel(model(), bucket_cap_mb=0.002)
        fresh = make_overlapped(ddp)
        fresh.load_state_dict(state)
        mine = fresh.optim.state_dict()["state"]
        other = zero.optim.state_dict()["state"]
        assert mine.keys() == other.keys()
        assert all(tl.equal(mine[i]["exp_avg"], other[i]["exp_avg"]) for i in mine)

    ranks(2, body)


def test_what_does_not_fit(world):
    ddp = DistributedDataParallel(model())
    with pytest.raises(ValueError, match="functional counterpart"):
        ZeroRedundancyOptimizer(ddp.parameters(), nn.optim.ASGD, overlap_with_ddp=True, lr=0.1)
    parts = [{"params": [p]} for p in ddp.parameters()]
    with pytest.raises(RuntimeError, match="single parameter group"):
        ZeroRedundancyOptimizer(parts, nn.optim.SGD, overlap_with_ddp=True, lr=0.1)
    zero = ZeroRedundancyOptimizer(ddp.parameters(), nn.optim.SGD, overlap_with_ddp=True, lr=0.1)
    with pytest.raises(RuntimeError, match="hook of ddp_zero_hook must be registered first"):
        zero.consolidate_state_dict()
    with pytest.raises(RuntimeError, match="single parameter group"):
        zero.add_param_group({"params": [tl.zeros(1)]})
    plain = ZeroRedundancyOptimizer(ddp.parameters(), nn.optim.SGD, lr=0.1)
    with pytest.raises(RuntimeError, match="overlap_with_ddp=True"):
        hook_with_zero_step(allreduce_hook, ddp, plain)
    other = ZeroRedundancyOptimizer(model().parameters(), nn.optim.SGD, overlap_with_ddp=True, lr=0.1)
    with pytest.raises(RuntimeError, match="not those of the DistributedDataParallel"):
        hook_with_zero_step(allreduce_hook, ddp, other)


def test_states_by_names():
    layer = nn.Linear(3, 2)
    named = dict(layer.named_parameters())
    optimizer = _NamedOptimizer(named, nn.optim.Adam, lr=0.01, weight_decay=0.1)
    before = [p.detach().clone() for p in layer.parameters()]
    optimizer.init_state()
    assert all(tl.equal(a, b) for a, b in zip(before, layer.parameters(), strict=True))
    assert optimizer.param_groups[0]["lr"] == 0.01 and optimizer.param_groups[0]["weight_decay"] == 0.1
    layer(tl.ones(1, 3)).sum().backward()
    optimizer.step()
    state = optimizer.state_dict()
    assert set(state["state"]) == {"weight", "bias"} and state["param_groups"][0]["params"] == [
        "bias",
        "weight",
    ]
    other = nn.Linear(3, 2)
    fresh = _NamedOptimizer(dict(other.named_parameters()), nn.optim.Adam, lr=0.5)
    fresh.load_state_dict(state)
    assert fresh.param_groups[0]["lr"] == 0.01
    assert tl.equal(fresh.state[other.weight]["exp_avg"], optimizer.state[layer.weight]["exp_avg"])
    del state["state"]["bias"]
    with pytest.raises(ValueError, match="state of bias is missing"):
        fresh.load_state_dict(state)
    with pytest.raises(ValueError, match="without a name"):
        fresh.add_param_group({"params": [tl.zeros(2, requires_grad=True)]})
    with pytest.raises(ValueError, match="must have params"):
        _NamedOptimizer(named, nn.optim.SGD, [{"lr": 0.1}], lr=0.1)
