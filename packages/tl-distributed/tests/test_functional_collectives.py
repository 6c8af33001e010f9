"""Collectives through which gradients flow, coalesced ones, and data-parallel training in its rarer forms."""

from __future__ import annotations

import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_distributed.nn import functional as F
from tl_distributed.nn import gradient_operators  # noqa: F401 - registers the operators
from tl_distributed.parallel import DistributedDataParallel
from tl_distributed.parallel.mixed_precision import _MixedPrecision
from tl_nn.optim import SGD


def leaf(*values):
    return tl.tensor([float(v) for v in values], requires_grad=True)


@pytest.mark.parametrize("size", [2, 3])
def test_gradients_go_the_way_back(ranks, size):
    total = sum(range(1, size + 1))  # of the ranks' factors

    def body(rank):
        factor = rank + 1.0
        x = leaf(1, 2)
        (F.all_reduce(x) * factor).sum().backward()
        assert x.grad.tolist() == [total, total]
        x = leaf(rank, rank)
        y = F.broadcast(x, 1)
        (y * factor).sum().backward()
        assert y.tolist() == [1, 1] and x.grad.tolist() == ([total] * 2 if rank == 1 else [0, 0])
        x = leaf(rank)
        parts = F.all_gather(x)
        assert [float(p) for p in parts] == list(range(size))
        sum(p * factor for p in parts).sum().backward()
        assert x.grad.tolist() == [total]
        x = leaf(1)
        (F.reduce(x, 0) * factor).sum().backward()
        assert x.grad.tolist() == [1]
        xs = [leaf(rank + 10 * to) for to in range(size)]
        y = F.reduce_scatter(tl.empty(1), xs)
        (y * factor).sum().backward()
        assert [float(x.grad) for x in xs] == [to + 1 for to in range(size)]
        xs = [leaf(rank + 10 * to) for to in range(size)]
        ys = F.all_to_all([tl.empty(1) for _ in range(size)], xs)
        assert [float(y) for y in ys] == [r + 10 * rank for r in range(size)]
        sum(y * factor for y in ys).sum().backward()
        assert [float(x.grad) for x in xs] == [to + 1 for to in range(size)]
        x = leaf(rank)
        parts = F.gather(x, 0)
        sum((i + 1) * p for i, p in enumerate(parts)).sum().backward()
        assert x.grad.tolist() == [rank + 1]
        xs = [leaf(5 + i) for i in range(size)]
        y = F.scatter(xs, 0)
        assert y.tolist() == [5 + rank]
        (y * factor).sum().backward()
        assert [float(x.grad) for x in xs] == ([i + 1 for i in range(size)] if rank == 0 else [0] * size)
        x = tl.arange(2.0 * size, requires_grad=True)
        (F.all_to_all_single(tl.empty(2 * size), x) * factor).sum().backward()
        assert x.grad.tolist() == [i // 2 + 1 for i in range(2 * size)]

    ranks(size, body)


def test_several_tensors_at_once(ranks):
    def body(rank):
        tensors = [tl.full((n,), float(rank)) for n in (1, 5)]
        dist.all_reduce_coalesced(tensors)
        assert [t.tolist() for t in tensors] == [[1], [1] * 5]
        dist.all_reduce_coalesced(tensors, async_op=True).wait()
        assert tensors[1].tolist() == [2] * 5
        with dist._coalescing_manager(async_ops=True) as manager:
            for tensor in tensors:
                dist.all_reduce(tensor)
        manager.wait()
        assert tensors[1].tolist() == [4] * 5
        with dist._coalescing_manager():
            dist.all_reduce(tensors[0])
        assert tensors[0].tolist() == [8]

    ranks(2, body)


def test_the_divisor_shrinks_with_those_that_still_have_inputs(ranks):
    def body(rank):
        model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
        result = []
        with model.join(divide_by_initial_world_size=False):
            for _ in range(1 + rank):
                model.zero_grad()
                model(tl.ones(1, 1)).sum().backward()
                result.append(float(model.module.weight.grad))
        return result

    assert ranks(2, body) == [[1.0], [1.0, 1.0]]

    def halve(rank):
        model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
        result = []
        with model.join():
            for _ in range(1 + rank):
                model.zero_grad()
                model(tl.ones(1, 1)).sum().backward()
                result.append(float(model.module.weight.grad))
        return result

    assert ranks(2, halve) == [[1.0], [1.0, 0.5]]


def test_computing_in_a_shorter_type(ranks):
    def body(rank):
        layer = nn.Linear(4, 2)
        events = []
        layer.register_forward_hook(lambda m, args, out: events.append((args[0].dtype, out.dtype)))
        precision = _MixedPrecision(param_dtype=tl.bfloat16, reduce_dtype=tl.float32)
        model = DistributedDataParallel(layer, mixed_precision=precision)
        model(tl.full((3, 4), float(rank))).float().sum().backward()
        assert events == [(tl.bfloat16, tl.bfloat16)]
        assert layer.weight.dtype == layer.weight.grad.dtype == tl.float32
        assert layer.weight.grad.tolist() == [[1.5] * 4] * 2

    ranks(2, body)


def test_gradients_that_wait_for_one(ranks):
    def body(rank):
        layers = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
        with tl.no_grad():
            for parameter in layers.parameters():
                parameter.fill_(1.0)
        named = list(layers.named_parameters())
        model = DistributedDataParallel(
            layers,
            delay_all_reduce_named_params=[named[1]],
            param_to_hook_all_reduce=named[0][1],
        )
        model(tl.full((1, 1), float(rank))).sum().backward()
        assert [float(p.grad) for p in layers.parameters()] == [0.5, 0.5]
        SGD(model.parameters(), lr=0.1).step()

    ranks(2, body)
    with pytest.raises(ValueError, match="need to be set at the same time"):
        ranks(1, lambda rank: DistributedDataParallel(nn.Linear(1, 1), param_to_hook_all_reduce=tl.ones(1)))


def test_operators_with_gradients(ranks):
    def body(rank):
        name, operators = dist.group.WORLD.group_name, tl.ops._c10d_functional_autograd
        x = tl.full((2,), rank + 1.0, requires_grad=True)
        weights = tl.arange(4.0) + rank
        (operators.all_gather_into_tensor(x, 2, name) * weights).sum().backward()
        assert x.grad.tolist() == [4.0 * rank + 1, 4.0 * rank + 3]
        x.grad = None
        (operators.reduce_scatter_tensor(x, "sum", 2, name) * (rank + 1)).sum().backward()
        assert x.grad.tolist() == [1.0, 2.0]
        x.grad = None
        (operators.all_to_all_single(x, [1, 1], [1, 1], name) * tl.tensor([1.0, 2.0])).sum().backward()
        assert x.grad.tolist() == [rank + 1.0] * 2

    ranks(2, body)
