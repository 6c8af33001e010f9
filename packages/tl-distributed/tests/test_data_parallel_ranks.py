"""Data-parallel training on several ranks, which are threads here, equals training on the joined batch."""

from __future__ import annotations

import pytest

import tl_core as tl
import tl_nn as nn
from tl_distributed.algorithms.ddp_comm_hooks import default_hooks
from tl_distributed.parallel import DistributedDataParallel
from tl_nn.optim import SGD

WIDTH = 96  # so that there are several buckets


def make_model():
    generator = tl.Generator().manual_seed(1)
    model = nn.Sequential(
        nn.Linear(8, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1)
    )
    with tl.no_grad():
        for parameter in model.parameters():
            parameter.copy_(tl.randn(parameter.shape, generator=generator) * 0.1)
    return model


def batches():
    generator = tl.Generator().manual_seed(2)
    return tl.randn(5, 12, 8, generator=generator), tl.randn(5, 12, 1, generator=generator)


def train(model, inputs, targets, steps=5):
    optimizer = SGD(model.parameters(), lr=0.1, momentum=0.9)
    for x, y in zip(inputs[:steps], targets[:steps], strict=True):
        optimizer.zero_grad()
        ((model(x) - y) ** 2).mean().backward()
        optimizer.step()
    return tl.cat([p.detach().reshape(-1) for p in model.parameters()])


@pytest.fixture(scope="module")
def alone():
    return train(make_model(), *batches())


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"gradient_as_bucket_view": True},
        {"find_unused_parameters": True},
        {"static_graph": True},
        {"bucket_cap_mb": 0.01},
    ],
    ids=lambda s: next(iter(s), "plain"),
)
def test_it_equals_the_joined_batch(ranks, alone, size, settings):
    def body(rank):
        inputs, targets = batches()
        model = DistributedDataParallel(make_model(), **settings)
        return train(
            model, inputs.chunk(size, 1)[rank].contiguous(), targets.chunk(size, 1)[rank].contiguous()
        )

    first, *rest = ranks(size, body)
    assert tl.allclose(first, alone, rtol=1e-5, atol=1e-6)
    assert all(tl.equal(first, other) for other in rest)
    assert tl.equal(ranks(size, body)[0], first)  # the same run twice


@pytest.mark.parametrize("hook", ["allreduce_hook", "fp16_compress_hook", "bf16_compress_hook"])
def test_hooks(ranks, alone, hook):
    def body(rank):
        inputs, targets = batches()
        model = DistributedDataParallel(make_model())
        model.register_comm_hook(None, getattr(default_hooks, hook))
        return train(model, inputs.chunk(2, 1)[rank], targets.chunk(2, 1)[rank])

    first, second = ranks(2, body)
    assert tl.equal(first, second)
    tolerance = 1e-6 if hook == "allreduce_hook" else 0.02
    assert tl.allclose(first, alone, rtol=tolerance, atol=tolerance)


def test_gathering_without_reducing(ranks):
    def body(rank):
        model = DistributedDataParallel(nn.Linear(2, 1, bias=False))
        with model.no_sync():
            model(tl.full((1, 2), float(rank + 1))).sum().backward()
        assert tl.equal(model.module.weight.grad, tl.full((1, 2), float(rank + 1)))
        model(tl.full((1, 2), 1.0)).sum().backward()
        assert tl.equal(model.module.weight.grad, tl.full((1, 2), 2.5))

    ranks(2, body)


def test_all_begin_with_the_first_ranks_parameters_and_buffers(ranks):
    def body(rank):
        layer = nn.BatchNorm1d(3)
        with tl.no_grad():
            layer.weight.fill_(float(rank))
            layer.running_mean.fill_(float(rank + 1))
        model = DistributedDataParallel(layer)
        assert tl.equal(model.module.weight.detach(), tl.zeros(3))
        assert tl.equal(model.module.running_mean, tl.ones(3))

    ranks(2, body)


def test_uneven_inputs(ranks):
    def body(rank):
        model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
        optimizer = SGD(model.parameters(), lr=0.1)
        with model.join():
            for _ in range(2 + rank):
                optimizer.zero_grad()
                model(tl.ones(1, 1)).sum().backward()
                optimizer.step()
        return float(model.module.weight)

    first, second = ranks(2, body)
    assert first == second


def test_a_gradient_that_does_not_come_is_named(ranks):
    def body(rank):
        model = DistributedDataParallel(nn.ModuleDict({"a": nn.Linear(1, 1), "b": nn.Linear(1, 1)}))
        model.module.forward = lambda x: model.module["a"](x)
        model(tl.ones(1, 1)).sum().backward()
        with pytest.raises(RuntimeError, match=r"b\.weight, b\.bias got no gradient"):
            model(tl.ones(1, 1))

    ranks(2, body)


@pytest.mark.parametrize(
    "settings", [{}, {"find_unused_parameters": True}, {"gradient_as_bucket_view": True}]
)
def test_sparse_gradients_of_tables(ranks, settings):
    words = tl.tensor([[1, 4, 4], [0, 4, 9], [7, 7, 2], [1, 0, 3]])

    def steps(wrap, rows):
        model = nn.Sequential(nn.Embedding(10, 3, sparse=True), nn.Linear(3, 1))
        with tl.no_grad():
            for parameter in model.parameters():
                parameter.copy_(tl.linspace(-1, 1, parameter.numel()).view(parameter.shape))
        model = wrap(model)
        optimizer = SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (model(rows) ** 2).mean().backward()
            optimizer.step()
        table = next(iter(model.parameters()))
        assert table.grad.is_sparse
        return tl.cat([p.detach().reshape(-1) for p in model.parameters()]), table.grad.to_dense()

    def body(rank):
        return steps(lambda m: DistributedDataParallel(m, **settings), words[2 * rank : 2 * rank + 2])

    alone = steps(lambda m: m, words)
    for trained in ranks(2, body):
        for actual, expected in zip(trained, alone, strict=True):
            assert tl.allclose(actual, expected, rtol=1e-5, atol=1e-6)


def test_static_is_said_before_training(ranks):
    def body(rank):
        model = DistributedDataParallel(nn.Linear(2, 1))
        model(tl.ones(1, 2)).sum().backward()
        with pytest.raises(RuntimeError, match="before training loop starts"):
            model._set_static_graph()

    ranks(2, body)
