"""Sharded models with frozen parameters train as one process does with the batches of all ranks."""

from __future__ import annotations

import threading
from functools import partial

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
from tl_autograd.checkpoint import checkpoint
from tl_core.testing import assert_close
from tl_distributed.fsdp import FullyShardedDataParallel, fully_shard
from tl_distributed.fsdp.wrap import ModuleWrapPolicy
from tl_distributed.tensor import DTensor
from tl_nn import optim

BUILDING = threading.Lock()  # ranks are threads, which share the generator
SIZE, RANKS = 6, 2


class Adapter(nn.Module):
    """A frozen layer with a trained correction of low rank."""

    def __init__(self):
        super().__init__()
        self.base = nn.Linear(SIZE, SIZE)
        self.down, self.up = nn.Linear(SIZE, 2, bias=False), nn.Linear(2, SIZE, bias=False)
        self.base.requires_grad_(False)

    def forward(self, x):
        return self.base(x).tanh() + self.up(self.down(x))


class FrozenBetween(nn.Module):
    """A frozen layer, whose gradient goes from a trained layer to an inner group."""

    def __init__(self):
        super().__init__()
        self.inner, self.frozen, self.last = Adapter(), nn.Linear(SIZE, SIZE), nn.Linear(SIZE, SIZE)
        self.frozen.requires_grad_(False)

    def forward(self, x):
        return self.last(self.frozen(self.inner(x)).tanh())


class Repeated(nn.Module):
    """A frozen module that computes several times in a pass."""

    def __init__(self):
        super().__init__()
        self.first, self.inner = nn.Linear(SIZE, SIZE), nn.Sequential(nn.Linear(SIZE, SIZE), nn.Tanh())
        self.inner.requires_grad_(False)

    def forward(self, x):
        x = self.first(x)
        for _ in range(3):
            x = self.inner(x)
        return x


class Checkpointed(nn.Module):
    """A module whose forward pass runs again in the backward pass."""

    def __init__(self, use_reentrant):
        super().__init__()
        self.inner, self.use_reentrant = Adapter(), use_reentrant

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=self.use_reentrant)


def shard(model):
    for module in [*model.modules()][:0:-1]:
        if isinstance(module, Adapter | FrozenBetween | nn.Sequential):
            fully_shard(module)
    return fully_shard(model)


def wrap(model):
    policy = ModuleWrapPolicy({Adapter, FrozenBetween})
    return FullyShardedDataParallel(model, auto_wrap_policy=policy, use_orig_params=True)


def build(kind, count=3):
    with BUILDING:
        tl.manual_seed(0)
        return nn.Sequential(*[kind() for _ in range(count)])


def batch(rank, step=0):
    return tl.randn(4, SIZE, generator=tl.Generator().manual_seed(10 * step + rank))


def trainable(model):
    return [p for p in model.parameters() if p.requires_grad]


def gradients(model):
    return [None if p.grad is None else p.grad.full_tensor() for p in model.parameters()]


def mean_gradients(model, loss_of):
    """The means over the ranks of the gradients of a model that is not sharded."""
    sum(loss_of(model, rank) for rank in range(RANKS)).backward()
    return [None if p.grad is None else p.grad / RANKS for p in model.parameters()]


def compare(actual, expected):
    assert [a is None for a in actual] == [e is None for e in expected]
    for a, e in zip(actual, expected, strict=True):
        if e is not None:
            assert_close(a, e, rtol=1e-5, atol=1e-6)


KINDS = [Adapter, FrozenBetween, Repeated, partial(Checkpointed, False), partial(Checkpointed, True)]


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_beside_frozen_parameters(ranks, kind):
    def loss(model, rank):
        return (model(batch(rank).requires_grad_()) ** 2).sum()

    def body(rank):
        model = shard(build(kind))
        loss(model, rank).backward()
        compare(gradients(model), mean_gradients(build(kind), loss))

    ranks(RANKS, body)


@pytest.mark.parametrize("kind", KINDS[:3])
def test_wrapped_models_with_frozen_parameters(ranks, kind):
    def steps(model, batches):
        optimizer, losses = optim.SGD(trainable(model), lr=0.1), []
        for step in range(3):
            several = [(model(batch(rank, step)) ** 2).mean() for rank in batches]
            (sum(several) / len(several)).backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append([float(loss) for loss in several])
        return losses

    def body(rank):
        expected = np.array(steps(build(kind), range(RANKS)))[:, rank : rank + 1]
        np.testing.assert_allclose(steps(wrap(build(kind)), [rank]), expected, rtol=1e-5)

    ranks(RANKS, body)


class TwoInputs(nn.Module):
    """A frozen module of two inputs, whose gradients arrive one after the other."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(SIZE, SIZE), nn.Linear(SIZE, SIZE)
        self.requires_grad_(False)

    def forward(self, x, y):
        return self.first(self.second(x).tanh()) + self.first(y)


@pytest.mark.parametrize("distribute", [fully_shard, FullyShardedDataParallel])
def test_inputs_of_a_frozen_module(ranks, distribute):
    def body(rank):
        results = []
        for prepare in (distribute, lambda model: model):
            model = prepare(build(TwoInputs, 1)[0])
            x, y = batch(rank).requires_grad_(), batch(rank, 1).requires_grad_()
            for _ in range(2):  # the inputs are used again
                (model(x, y) ** 2).sum().backward()
            results.append((x.grad, y.grad))
            assert not x._backward_hooks and not y._backward_hooks
        compare(*results)

    ranks(RANKS, body)


def loss_of_both_calls(model, rank):
    return 2 * model(batch(rank)).sum()


def loss_of_two_batches(model, rank):
    return model(batch(rank)).sum() + (model(batch(rank, 1)) ** 2).sum()


def test_several_backward_passes(ranks):
    def body(rank):
        for is_retained in (False, True):
            model = shard(build(Adapter))
            first = model(batch(rank)).sum()
            second = first if is_retained else (model(batch(rank, 1)) ** 2).sum()
            first.backward(retain_graph=is_retained)
            second.backward()
            reference = build(Adapter)
            loss = loss_of_both_calls if is_retained else loss_of_two_batches
            compare(gradients(model), mean_gradients(reference, loss))

    ranks(RANKS, body)


def test_parameters_are_frozen_later(ranks):
    def body(rank):
        for prepare in (shard, wrap):
            model, reference = prepare(build(Repeated)), build(Repeated)
            for is_frozen in (False, True, False):
                for each in (model, reference):
                    for name, p in each.named_parameters():
                        if "0.first" in name:
                            p.requires_grad_(not is_frozen)
                        p.grad = None
                (model(batch(rank)) ** 2).sum().backward()
                sum((reference(batch(r)) ** 2).sum() for r in range(RANKS)).backward()
                for (name, p), q in zip(model.named_parameters(), reference.parameters(), strict=True):
                    assert (p.grad is None) == (q.grad is None or p.numel() == 0), (name, is_frozen)
                    if isinstance(p, DTensor) and p.grad is not None:
                        assert_close(p.grad.full_tensor(), q.grad / RANKS, rtol=1e-5, atol=1e-6)

    ranks(RANKS, body)


@pytest.mark.parametrize("prepare", [shard, wrap])
def test_inference_before_training(ranks, prepare):
    def body(rank):
        model, reference = prepare(build(Adapter)), build(Adapter)
        with tl.inference_mode():
            output = model(batch(rank))
        assert output.is_inference()
        assert_close(output, reference(batch(rank)).detach(), rtol=1e-5, atol=1e-6)
        loss = (model(batch(rank)) ** 2).sum()
        loss.backward()
        assert_close(loss.detach(), (reference(batch(rank)) ** 2).sum().detach(), rtol=1e-5, atol=1e-6)
        optim.SGD(trainable(model), lr=0.1).step()

    ranks(RANKS, body)
