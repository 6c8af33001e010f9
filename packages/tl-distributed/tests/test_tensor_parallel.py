"""Tensor parallelism: a model that is cut has the loss and the gradients of the whole one."""

from __future__ import annotations

import threading

import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
import tl_nn.functional as F
from tl_core.testing import assert_close
from tl_distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor, redistribute
from tl_distributed.tensor.dispatch import class_losses
from tl_distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)

BUILDING = threading.Lock()  # ranks are threads, which share the generator


class Block(nn.Module):
    """A transformer layer with 4 heads."""

    def __init__(self, width=8):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(width), nn.RMSNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.w1, self.w2 = nn.Linear(width, 16), nn.Linear(16, width)

    def forward(self, x):
        y = self.n1(x)
        batch, length = y.shape[:2]
        q, k, v = (f(y).view(batch, length, -1, 2).transpose(1, 2) for f in (self.q, self.k, self.v))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(attended.transpose(1, 2).reshape(batch, length, -1))
        return x + self.w2(F.gelu(self.w1(self.n2(x))))


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.b, self.out = nn.Embedding(11, 8), Block(), nn.Linear(8, 11)

    def forward(self, ids):
        return self.out(self.b(self.e(ids)))


def built(kind):
    with BUILDING:
        tl.manual_seed(0)
        return kind()


def counted(calls, name, function):
    def call(*args, **kwargs):
        calls.append(name)
        return function(*args, **kwargs)

    return call


def sequence_plan():
    column = {"input_layouts": Shard(1), "use_local_output": False}
    row = {"output_layouts": Shard(1), "use_local_output": False}
    plan = {f"b.{name}": ColwiseParallel(**column) for name in ("q", "k", "v", "w1")}
    plan |= {f"b.{name}": RowwiseParallel(**row) for name in ("o", "w2")}
    plan |= {"b.n?": SequenceParallel(), "out": ColwiseParallel(**column)}
    return plan | {"e": RowwiseParallel(input_layouts=Replicate(), **row)}


@pytest.mark.parametrize("count", [2, 4])
def test_a_language_model_cut_along_sequence_heads_and_classes(ranks, count):
    ids = (tl.arange(16) * 7 % 11).reshape(2, 8)
    full = built(Language)
    loss = F.cross_entropy(full(ids).flatten(0, 1), ids.flatten())
    loss.backward()
    expected = {name: parameter.grad for name, parameter in full.named_parameters()}

    def body(rank):
        model = parallelize_module(built(Language), dist.init_device_mesh("cpu", (count,)), sequence_plan())
        with loss_parallel():
            scores = model(ids)
            assert scores.placements == (Shard(2),)
            own = F.cross_entropy(scores.flatten(0, 1), ids.flatten())
            own.backward()
        assert_close(own.full_tensor(), loss)
        for name, parameter in model.named_parameters():
            assert_close(parameter.grad.full_tensor(), expected[name], rtol=1e-4, atol=1e-6)
        assert model.e.weight.placements == (Shard(0),) == model.b.q.weight.placements
        assert model.b.o.weight.placements == (Shard(1),) and model.b.n1.weight.placements == (Replicate(),)

    ranks(count, body)


def test_a_pair_of_layers_moves_one_sum(ranks, monkeypatch):
    moved = []
    for name in ("all_gather_into_tensor", "all_reduce", "all_to_all", "reduce_scatter"):
        original = getattr(redistribute.collectives, name)
        monkeypatch.setattr(redistribute.collectives, name, counted(moved, name, original))
    full = built(lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 5)))
    x = tl.arange(12.0).reshape(2, 6)

    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        model = built(lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 5)))
        model = parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
        dist.barrier()
        moved.clear()
        dist.barrier()
        assert_close(model(x), full(x))
        assert model[0](x).shape == (2, 4)

    ranks(2, body)
    assert moved == ["all_reduce"] * 2  # one on each rank


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_of_classes_that_are_cut(ranks, reduction, weighted):
    scores = (tl.arange(35.0).reshape(7, 5) * 1.7 % 3).requires_grad_()
    target, weight = tl.tensor([0, 4, 2, 1, 1, 3, 4]), tl.arange(5.0) + 1 if weighted else None
    options = {"weight": weight, "reduction": reduction, "ignore_index": 1}
    loss = F.cross_entropy(scores, target, **options)
    loss.sum().backward()

    def body(rank):
        mesh = dist.init_device_mesh("cpu", (3,))
        x = distribute_tensor(scores.detach().clone().requires_grad_(), mesh, [Shard(1)])
        with loss_parallel():
            own = F.cross_entropy(x, target, **options)
            own.sum().backward()
        assert_close(own.full_tensor(), loss)
        assert x.grad.placements == (Shard(1),)
        assert_close(x.grad.full_tensor(), scores.grad)

    ranks(3, body)


def test_a_block_of_losses_belongs_to_its_thread():
    entered, end = threading.Event(), threading.Event()

    def other():
        with loss_parallel():
            entered.set()
            end.wait()

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait()
    assert class_losses.get() is None
    with loss_parallel():
        end.set()
        thread.join()
        assert class_losses.get()
    assert class_losses.get() is None


class Pair(nn.Module):
    def forward(self, x, scale=None, *, bias=None):
        y = x if bias is None else x + bias
        return (y, scale)


def test_inputs_and_outputs_are_prepared(ranks):
    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        style = PrepareModuleInput(
            input_layouts=(Shard(0), None),
            desired_input_layouts=(Replicate(), None),
            input_kwarg_layouts={"bias": Shard(0)},
            desired_input_kwarg_layouts={"bias": Replicate()},
        )
        module = parallelize_module(Pair(), mesh, style)
        result, scale = module(tl.full((2,), float(rank)), 3, bias=tl.ones(2))
        assert isinstance(result, DTensor) and result.to_local().tolist() == [1, 1, 2, 2] and scale == 3
        with pytest.raises(ValueError, match="same length"):
            module(tl.ones(2))
        output = PrepareModuleOutput(
            output_layouts=(Replicate(), None), desired_output_layouts=(Shard(0), None)
        )
        result, _ = parallelize_module(Pair(), mesh, output)(tl.arange(4.0), 3)
        assert result.tolist() == [[0, 1], [2, 3]][rank]
        both = PrepareModuleInputOutput(
            input_layouts=(Shard(0), None),
            desired_input_layouts=(Replicate(), None),
            use_local_input=True,
            output_layouts=(Replicate(), None),
            desired_output_layouts=(Shard(0), None),
        )
        result, _ = parallelize_module(Pair(), mesh, both)(tl.full((2,), float(rank)), None)
        assert result.tolist() == [float(rank)] * 2

    ranks(2, body)


def test_plans_that_make_no_sense(ranks):
    def body(rank):
        grid = dist.init_device_mesh("cpu", (2, 1), mesh_dim_names=("dp", "tp"))
        with pytest.raises(ValueError, match="only accepts a 1D DeviceMesh"):
            parallelize_module(nn.Linear(2, 2), grid, ColwiseParallel())
        mesh = grid["dp"]
        with pytest.raises(NotImplementedError, match=r"nn\.Linear and nn\.Embedding, got ReLU"):
            parallelize_module(nn.ReLU(), mesh, ColwiseParallel())
        with pytest.raises(NotImplementedError, match=r"nn\.Linear and nn\.Embedding, got ReLU"):
            parallelize_module(nn.ReLU(), mesh, RowwiseParallel())
        with pytest.raises(TypeError, match="Expect Union"):
            parallelize_module(nn.ReLU(), mesh, 3)
        parallelize_module(nn.Sequential(nn.ReLU()), mesh, {"1": SequenceParallel()})
        with pytest.raises(AssertionError, match="same length"):
            PrepareModuleInput(input_layouts=(Shard(0), None), desired_input_layouts=(Shard(0),))

    with pytest.warns(UserWarning, match="could not be resolved"):
        ranks(2, body)


def test_terms_of_an_embedding_are_its_rows(ranks):
    table, ids = tl.arange(15.0).reshape(5, 3), tl.tensor([[0, 4], [2, 1]])

    def body(rank):
        mesh = dist.init_device_mesh("cpu", (3,))
        weight = distribute_tensor(table.clone().requires_grad_(), mesh, [Shard(0)])
        index = distribute_tensor(ids, mesh, [Replicate()])
        result = F.embedding(index, weight, padding_idx=4)
        assert result.placements == (Partial("sum"),)
        result.sum().backward()
        assert weight.grad.placements == (Shard(0),)
        assert weight.grad.full_tensor().sum(1).tolist() == [3, 3, 3, 0, 0]
        return result.full_tensor().tolist()

    assert ranks(3, body)[0] == table[ids].tolist()
