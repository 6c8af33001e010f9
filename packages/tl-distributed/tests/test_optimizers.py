"""Optimizers for several processes."""

from __future__ import annotations

import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from tl_distributed.optim import PostLocalSGDOptimizer, ZeroRedundancyOptimizer, utils
from tl_distributed.parallel import DistributedDataParallel
from tl_nn.optim import SGD, Adam, AdamW


def model_of(seed=1):
    layers = nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 4))
    generator = tl.Generator().manual_seed(seed)
    with tl.no_grad():
        for parameter in layers.parameters():
            parameter.copy_(tl.randn(parameter.shape, generator=generator))
    return layers


def train(model, optimizer, inputs, steps):
    for x in inputs[:steps]:
        optimizer.zero_grad()
        (model(x) ** 2).mean().backward()
        optimizer.step()
    return tl.cat([p.detach().reshape(-1) for p in model.parameters()])


INPUTS = tl.randn(6, 8, 6, generator=tl.Generator().manual_seed(4))


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("kind", [Adam, AdamW])
def test_a_divided_state_trains_as_a_whole_one(ranks, size, kind):
    plain = model_of()
    expected = train(plain, kind(plain.parameters(), lr=0.05), INPUTS, 6)

    def body(rank):
        model = model_of()
        optimizer = ZeroRedundancyOptimizer(model.parameters(), kind, lr=0.05)
        train(model, optimizer, INPUTS, 3)
        owned = 0 if optimizer.optim is None else len(optimizer.optim.state)
        optimizer.consolidate_state_dict(to=0)
        state = [optimizer.state_dict() if rank == 0 else None]
        if size > 1:
            dist.broadcast_object_list(state)
        again = ZeroRedundancyOptimizer(model.parameters(), kind, lr=0.9)
        again.load_state_dict(state[0])
        assert again.param_groups[0]["lr"] == 0.05
        return train(model, again, INPUTS[3:], 3), owned, len(state[0]["state"])

    result = ranks(size, body)
    assert sum(owned for _, owned, _ in result) == 4
    for parameters, _, states in result:
        assert states == 4
        assert tl.allclose(parameters, expected, rtol=1e-5, atol=1e-6)


def test_a_state_that_was_not_collected(ranks):
    def body(rank):
        optimizer = ZeroRedundancyOptimizer(model_of().parameters(), Adam)
        optimizer.consolidate_state_dict(to=1)
        if rank == 0:
            with pytest.raises(RuntimeError, match="has not been consolidated on this rank"):
                optimizer.state_dict()
        else:
            assert optimizer.state_dict()["state"] == {}

    ranks(2, body)


def test_a_divided_state_with_uneven_inputs(ranks):
    def body(rank):
        model = DistributedDataParallel(model_of())
        optimizer = ZeroRedundancyOptimizer(model.parameters(), SGD, lr=0.1)
        from tl_distributed.algorithms import Join

        with Join([model, optimizer]):
            train(model, optimizer, INPUTS, 2 + rank)
        return tl.cat([p.detach().reshape(-1) for p in model.parameters()])

    first, second = ranks(2, body)
    assert tl.equal(first, second)


def test_post_local_sgd(ranks):
    def body(rank):
        model = model_of()
        averager = PeriodicModelAverager(period=1)
        optimizer = PostLocalSGDOptimizer(SGD(model.parameters(), lr=0.1), averager)
        result = train(model, optimizer, INPUTS[rank:], 2)
        state = optimizer.state_dict()
        assert state["step"] == 2
        averager.step = 0
        optimizer.load_state_dict(state)
        assert averager.step == 2
        return result

    first, second = ranks(2, body)
    assert tl.equal(first, second)


def test_gradients_that_are_handed_over():
    one, other = model_of(), model_of()
    expected = train(one, Adam(one.parameters(), lr=0.05), INPUTS, 3)
    functional = utils.as_functional_optim(Adam, list(other.parameters()), lr=0.05)
    for x in INPUTS[:3]:
        other.zero_grad()
        (other(x) ** 2).mean().backward()
        gradients = [p.grad for p in other.parameters()]
        other.zero_grad()
        functional.step(gradients)
    assert tl.equal(expected, tl.cat([p.detach().reshape(-1) for p in other.parameters()]))
    with pytest.raises(ValueError, match="Gradients length: 1"):
        functional.step([None])
