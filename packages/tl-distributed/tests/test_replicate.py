"""`replicate`: a module that stays itself trains as `DistributedDataParallel` does."""

from __future__ import annotations

import copy
import threading

import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_distributed.fsdp import fully_shard
from tl_distributed.parallel import DistributedDataParallel
from tl_distributed.parallel.replicate import DDP, replicate

BUILDING = threading.Lock()  # ranks are threads, which share the generator


def stack():
    with BUILDING:
        tl.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


def train(model, rank, steps=4, pause=()):
    generator = tl.Generator().manual_seed(rank)
    optimizer = nn.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        if step in pause:
            model.set_requires_gradient_sync(False)
        model(tl.randn(5, 3, generator=generator)).square().sum().backward()
        if step in pause:
            model.set_requires_gradient_sync(True)
            continue
        optimizer.step()
        optimizer.zero_grad()
    return [parameter.tolist() for parameter in model.parameters()]


def test_parameters_after_training(ranks):
    def body(rank):
        model = replicate(stack())
        assert type(model).__name__ == "DDPSequential" and isinstance(model, DDP)
        assert type(model[:2]).__name__ == "Sequential" and next(iter(model.state_dict())) == "0.weight"
        assert train(model, rank) == train(DistributedDataParallel(stack()), rank)
        return train(replicate(stack()), rank, pause=(0, 2))

    first, second = ranks(2, body)
    assert first == second


def test_parts_that_are_left_alone_and_hooks(ranks):
    def body(rank):
        model = stack()
        model = replicate(model, ignored_modules=[model[0]], broadcast_buffers=False)
        buckets = []

        def double(state, bucket):
            buckets.append(state)
            return dist.algorithms.ddp_comm_hooks.default_hooks.allreduce_hook(None, bucket)

        model.register_comm_hook("state", double)
        model(tl.full((2, 3), rank + 1.0)).sum().backward()
        assert buckets == ["state"]
        return model[0].bias.grad.tolist(), model[2].weight.grad.tolist()

    first, second = ranks(2, body)
    assert first[1] == second[1]


def test_what_cannot_be_replicated(world):
    model = replicate(nn.Linear(2, 2))
    with pytest.raises(AssertionError, match="replicate has already been applied"):
        replicate(model)
    with pytest.raises(AssertionError, match="does not support deepcopy"):
        copy.deepcopy(model)
    with pytest.raises(RuntimeError, match="already managed by `fully_shard`"):
        replicate(fully_shard(nn.Linear(2, 2)))
    with pytest.raises(NotImplementedError, match="mixed_precision"):
        replicate(nn.Linear(2, 2), mixed_precision=object())
    with pytest.raises(RuntimeError, match="one dimension, got 2"):
        replicate(nn.Linear(2, 2), device_mesh=dist.init_device_mesh("cpu", (1, 1)))
    assert replicate.state(model) is not None and replicate.state(nn.Linear(2, 2)) is None
