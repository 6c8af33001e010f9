"""`fully_shard`: a model whose parameters are pieces trains as its replicas do."""

from __future__ import annotations

import threading
from contextlib import nullcontext

import numpy as np
import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_core.testing import assert_close
from tl_distributed.fsdp import (
    FSDPModule,
    MixedPrecisionPolicy,
    fully_shard,
    managed_states,
    register_fsdp_forward_method,
    sharded_parameter,
)
from tl_distributed.parallel import DistributedDataParallel
from tl_distributed.parallel.composable import checkpoint, replicate
from tl_distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, redistribute
from tl_distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from tl_distributed.tensor.placement_types import _NormPartial, _StridedShard
from tl_nn import optim

BUILDING = threading.Lock()  # ranks are threads, which share the generator
STEPS = 10


class Tied(nn.Module):
    """The output layer has the weight of the first one, and a layer without gradients stands between."""

    def __init__(self):
        super().__init__()
        self.first, self.middle, self.last = nn.Linear(5, 7), nn.Linear(7, 5), nn.Linear(5, 7)
        self.last.weight = self.first.weight
        self.middle.requires_grad_(False)
        self.out = nn.Linear(7, 3)

    def forward(self, x):
        return self.out(self.last(self.middle(self.first(x).relu())).relu())


def stack():
    layers = [nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 7), nn.LayerNorm(7), nn.Linear(7, 3)]
    return nn.Sequential(*layers)


def built(kind=stack):
    with BUILDING:
        tl.manual_seed(0)
        return kind()


def pair():
    return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))


def batches(rank, steps=STEPS):
    sample = tl.Generator().manual_seed(rank)
    for _ in range(steps):
        yield tl.randn(4, 5, generator=sample), tl.randn(4, 3, generator=sample)


def train(model, rank, steps=STEPS, dtype=None):
    """The mean loss of the ranks in each step."""
    optimizer = optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.05)
    losses = []
    for x, y in batches(rank, steps):
        loss = ((model(x if dtype is None else x.to(dtype)).float() - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        losses.append(float(mean))
    return losses


def shard_layers(model, **options):
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, **options)
    return fully_shard(model, **options)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("reshard", [None, True, False])
def test_losses_of_replicas(ranks, count, reshard):
    def body(rank):
        expected = train(DistributedDataParallel(built()), rank)
        model = shard_layers(built(), reshard_after_forward=reshard)
        losses = train(model, rank)
        np.testing.assert_allclose(losses, expected, rtol=1e-5)
        assert all(isinstance(p, DTensor) and p.placements == (Shard(0),) for p in model.parameters())
        return losses

    results = ranks(count, body)
    assert results[0][-1] < results[0][0]


def test_frozen_and_shared_parameters(ranks):
    def body(rank):
        expected = train(DistributedDataParallel(built(Tied)), rank)
        for layers in ((), ("middle",), ("middle", "out")):
            model = built(Tied)
            for name in layers:
                fully_shard(getattr(model, name))
            fully_shard(model)
            np.testing.assert_allclose(train(model, rank), expected, rtol=1e-5)
            assert model.last.weight is model.first.weight and model.middle.weight.grad is None

    ranks(2, body)


def test_memory_between_and_during_passes(ranks):
    def body(rank):
        model = shard_layers(built())
        layer = model[0]
        full = []
        layer.register_forward_hook(lambda module, args, output: full.append(module.weight.shape))
        x = tl.ones(2, 5, requires_grad=True)
        output = model(x)
        memory = layer._state().group.parameters[0]._memory
        assert memory.untyped_storage().nbytes() == 0 and isinstance(layer.weight, DTensor)
        output.sum().backward()
        assert (
            memory.untyped_storage().nbytes() == 0
            and layer.weight.grad.to_local().shape == layer.weight.to_local().shape
        )
        layer.unshard()
        assert type(layer.weight) is nn.Parameter and layer.weight.shape == (7, 5)
        layer.reshard()
        handle = layer.unshard(async_op=True)
        handle.wait()
        assert memory.untyped_storage().nbytes() == 7 * 5 * 4
        layer.reshard()

    ranks(2, body)


def test_low_precision(ranks):
    policy = MixedPrecisionPolicy(param_dtype=tl.bfloat16, reduce_dtype=tl.float32)
    outer = MixedPrecisionPolicy(param_dtype=tl.bfloat16, reduce_dtype=tl.float32, output_dtype=tl.float32)

    def body(rank):
        dtypes = []
        model = built()
        for index in (0, 2, 4):
            fully_shard(model[index], mp_policy=policy)
        fully_shard(model, mp_policy=outer)
        model[1].register_forward_hook(lambda module, args, output: dtypes.append(output.dtype))
        model.register_forward_hook(lambda module, args, output: dtypes.append(output.dtype))
        losses = train(model, rank)
        assert (
            dtypes[:2] == [tl.bfloat16, tl.float32]
            and model[0].weight.dtype == model[0].weight.grad.dtype == tl.float32
        )
        np.testing.assert_allclose(losses, train(DistributedDataParallel(built()), rank), rtol=0.1)
        exact = shard_layers(built(), mp_policy=MixedPrecisionPolicy(param_dtype=tl.float64))
        double = built().double()
        np.testing.assert_allclose(
            train(exact, rank), train(DistributedDataParallel(double), rank, dtype=tl.float64), rtol=1e-4
        )

    ranks(2, body)


def large():
    """Layers of which the middle one's pieces lie in the common memory."""
    layers = [nn.Linear(5, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 3)]
    return nn.Sequential(*layers)


@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize("kind", [stack, large])
def test_a_conversion_after_sharding(ranks, kind, steps):
    """The parameters, gradients and results have the new type, also after steps of the former one."""

    def body(rank):
        model, copy = shard_layers(built(kind)), DistributedDataParallel(built(kind))
        np.testing.assert_allclose(train(model, rank, steps), train(copy, rank, steps), rtol=1e-5)
        model.double()
        copy.double()
        losses, expected = (train(each, rank, 3, dtype=tl.float64) for each in (model, copy))
        np.testing.assert_allclose(losses, expected, rtol=1e-5)
        for parameter in model.parameters():
            grad = parameter.grad
            dtypes = [parameter.dtype, parameter.to_local().dtype, grad.dtype, grad.to_local().dtype]
            assert dtypes == [tl.float64] * 4

    ranks(2, body)


@pytest.mark.parametrize("is_sharded", [False, True])
def test_a_checkpointed_module_stays_itself(ranks, is_sharded):
    def body(rank):
        plain, model = built(), built()
        runs = []
        for layer in (model[2], model[4]):
            kind = type(layer)
            assert checkpoint(layer) is layer and type(layer) is kind
            layer.register_forward_pre_hook(lambda module, args: runs.append(module))
        if is_sharded:
            shard_layers(model)
        x = tl.ones(4, 5) + rank
        expected, output = plain(x), model(x)
        assert_close(output, expected)
        assert runs == [model[2], model[4]]
        (output**2).sum().backward(retain_graph=not is_sharded)
        assert sorted(map(id, runs)) == sorted([id(model[2]), id(model[4])] * 2)
        (expected**2).sum().backward()
        if not is_sharded:
            (output**2).sum().backward()
        for own, other in zip(model.parameters(), plain.parameters(), strict=True):
            grad = other.grad * (1 if is_sharded else 2)
            if is_sharded:
                dist.all_reduce(grad, dist.ReduceOp.AVG)
                assert_close(own.grad.full_tensor(), grad)
            else:
                assert_close(own.grad, grad)

    ranks(2, body)


def test_what_a_checkpointed_module_refuses():
    layer = checkpoint(nn.Linear(2, 2), preserve_rng_state=False)
    with pytest.raises(AssertionError, match="checkpoint has already been applied"):
        checkpoint(layer)
    with pytest.raises(NotImplementedError, match="use_reentrant=True is not supported"):
        checkpoint(nn.Linear(2, 2), use_reentrant=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: unknown"):
        checkpoint(nn.Linear(2, 2), unknown=1)
    assert checkpoint.state(layer).enable_hook


def test_copies_of_pieces(ranks):
    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("copies", "pieces"))
        model = shard_layers(built(), mesh=mesh)
        assert model[0].weight.placements == (Replicate(), Shard(0))
        np.testing.assert_allclose(
            train(model, rank, 5), train(DistributedDataParallel(built()), rank, 5), rtol=1e-5
        )

    ranks(4, body)


def test_with_tensor_parallelism(ranks):
    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
        model = parallelize_module(built(pair), mesh["tp"], plan)
        fully_shard(model[0], mesh=mesh["dp"])
        fully_shard(model, mesh=mesh["dp"])
        assert model[0].weight.placements == (_StridedShard(0, split_factor=2), Shard(0))
        assert model[2].weight.placements == (Shard(0), Shard(1))
        assert model[0].weight.device_mesh == mesh
        full = built(pair)
        for mine, other in zip(model.parameters(), full.parameters(), strict=True):
            assert_close(mine.full_tensor(), other)
        replicas = DistributedDataParallel(full, process_group=mesh["dp"].get_group())
        np.testing.assert_allclose(train(model, rank // 2), train(replicas, rank // 2), rtol=1e-5)
        for mine, other in zip(model.parameters(), full.parameters(), strict=True):
            assert_close(mine.full_tensor(), other, rtol=1e-4, atol=1e-5)

    ranks(4, body)


def test_gradients_accumulate_without_communication(ranks):
    def body(rank):
        model, replicas = shard_layers(built()), DistributedDataParallel(built())
        for number, (x, y) in enumerate(batches(rank, 3)):
            model.set_requires_gradient_sync(number == 2)
            ((model(x) - y) ** 2).mean().backward()
            assert (model[0].weight.grad is None) == (number < 2)
        with replicas.no_sync():
            for x, y in list(batches(rank, 3))[:2]:
                ((replicas(x) - y) ** 2).mean().backward()
        x, y = list(batches(rank, 3))[2]
        ((replicas(x) - y) ** 2).mean().backward()
        for mine, other in zip(model.parameters(), replicas.parameters(), strict=True):
            assert_close(mine.grad.full_tensor(), other.grad)

    ranks(2, body)


def test_norms_of_gradients(ranks):
    def body(rank):
        model, replicas = shard_layers(built()), DistributedDataParallel(built())
        x, y = next(batches(rank))
        for each in (model, replicas):
            ((each(x) - y) ** 2).mean().backward()
        norms = [nn.utils.clip_grad_norm_(each.parameters(), 0.1) for each in (model, replicas)]
        assert_close(norms[0].full_tensor(), norms[1])
        for mine, other in zip(model.parameters(), replicas.parameters(), strict=True):
            assert_close(mine.grad.full_tensor(), other.grad)

    ranks(3, body)


def test_state_dicts_and_checkpoints(ranks, tmp_path):
    checkpoint = pytest.importorskip("tl_checkpoint.distributed")

    def save(rank):
        model = shard_layers(built())
        train(model, rank, 2)
        with tl.no_grad():
            model(tl.ones(2, 5))  # the outermost layers stay whole
        state = model.state_dict()
        assert all(isinstance(value, DTensor) for value in state.values())
        checkpoint.save(state, checkpoint_id=str(tmp_path))
        return {name: value.full_tensor() for name, value in state.items()}

    saved = ranks(3, save)[0]

    def load(rank):
        model = shard_layers(built())
        state = model.state_dict()
        checkpoint.load(state, checkpoint_id=str(tmp_path))
        model.load_state_dict(state)
        for name, value in model.state_dict().items():
            assert value.full_tensor().equal(saved[name])
        full = built()
        state = full.state_dict()
        checkpoint.load(state, checkpoint_id=str(tmp_path))
        assert all(value.equal(saved[name]) for name, value in state.items())

    ranks(2, load)


def test_models_without_memory_get_it_piece_by_piece(ranks):
    def body(rank):
        with tl.device("meta"):
            model = shard_layers(stack())
        assert model[0].weight.is_meta
        model.to_empty(device="cpu")
        assert (
            isinstance(model[0].weight, DTensor)
            and model[0].weight.to_local().shape == ((4, 5), (3, 5))[rank]
        )
        with tl.no_grad():
            for parameter, full in zip(model.parameters(), built().parameters(), strict=True):
                parameter.copy_(
                    dist.tensor.distribute_tensor(full.detach(), parameter.device_mesh, parameter.placements)
                )
        np.testing.assert_allclose(
            train(model, rank, 4), train(DistributedDataParallel(built()), rank, 4), rtol=1e-5
        )

    ranks(2, body)


def test_methods_of_the_class(ranks):
    def body(rank):
        model = shard_layers(built())
        assert isinstance(model, FSDPModule) and isinstance(model, nn.Sequential)
        assert type(model).__name__ == "FSDPSequential"
        assert type(built(lambda: type(model[0])(2, 3))) is nn.Linear
        layers = [model[0], model[2], model[4]]
        model.set_modules_to_forward_prefetch(layers[:2])
        layers[2].set_modules_to_backward_prefetch([layers[1], layers[0]])
        model.set_reshard_after_backward(False, recurse=True)
        records = []
        layers[0].set_all_reduce_hook(lambda tensor: records.append(tensor.numel()))
        layers[1].set_reduce_scatter_divide_factor(4.0)
        layers[0].set_unshard_in_backward(False)
        model.set_is_last_backward(True)
        replicas = DistributedDataParallel(built())
        x, y = next(batches(rank))
        for each in (model, replicas):
            ((each(x) - y) ** 2).mean().backward()
        model.set_reshard_after_backward(True)
        for layer in model:
            if isinstance(layer, FSDPModule):
                layer.reshard()
        model.reshard()
        for index, (mine, other) in enumerate(zip(model.parameters(), replicas.parameters(), strict=True)):
            assert_close(mine.grad.full_tensor() * (2 if index in (2, 3) else 1), other.grad)
        assert records == [4 * 5 + 4]

        class Twice(nn.Linear):
            def twice(self, x):
                return self(x) * 2

            def plain(self, x):
                return x @ self.weight.t()

        layer = fully_shard(Twice(5, 5, bias=False))
        register_fsdp_forward_method(layer, "plain")
        assert_close(layer.plain(x) * 2, layer.twice(x))
        assert isinstance(layer.weight, DTensor) or layer.weight.shape == (5, 5)

    ranks(2, body)


def test_several_modules_are_one_group(ranks):
    def body(rank):
        model = built()
        fully_shard([model[2], model[4]])
        fully_shard(model)
        assert len(model[2]._state().group.parameters) == 4 and model[2]._state() is model[4]._state()
        np.testing.assert_allclose(
            train(model, rank, 4), train(DistributedDataParallel(built()), rank, 4), rtol=1e-5
        )

    ranks(2, body)


def test_hooks_of_pieces_run_when_their_gradients_are_there(ranks):
    """An optimizer may step in them, as in PyTorch."""

    def body(rank):
        model, plain = built(), built()
        for layer in (model[0], model[2]):
            fully_shard(layer)
        fully_shard(model)
        shapes = []

        def step(parameter):
            shapes.append(parameter.grad.shape)
            with tl.no_grad():
                parameter.sub_(0.1 * parameter.grad)
            parameter.grad = None

        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(step)
        optimizer = optim.SGD(plain.parameters(), lr=0.1)
        for x, y in batches(0, 3):  # the same on all ranks
            for each in (model, plain):
                ((each(x) - y) ** 2).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        assert len(shapes) == 3 * len(list(model.parameters()))
        for own, expected in zip(model.parameters(), plain.parameters(), strict=True):
            assert_close(own.full_tensor(), expected.detach(), rtol=1e-5, atol=1e-6)

    ranks(2, body)


def test_what_cannot_be_sharded(ranks):
    def body(rank):
        model = built()
        fully_shard(model[0])
        for call, error, text in (
            (lambda: fully_shard(model[0]), AssertionError, "can only be applied to a module once"),
            (lambda: fully_shard(nn.ModuleList([nn.Linear(2, 2)])), ValueError, "do not implement forward"),
            (
                lambda: fully_shard(nn.Linear(2, 2), reshard_after_forward=3),
                ValueError,
                "a factor of 2",
            ),
            (
                lambda: fully_shard(nn.Linear(2, 3), shard_placement_fn=lambda p: Shard(1)),
                ValueError,
                "cuts a dim",
            ),
            (
                lambda: fully_shard(nn.Linear(3, 2, bias=False), shard_placement_fn=lambda p: Shard(1)),
                NotImplementedError,
                "does not support uneven sharding on dim 1",
            ),
            (
                lambda: fully_shard(nn.Linear(2, 2), mesh=dist.init_device_mesh("cpu", (1, 1, 2))),
                ValueError,
                "expects a 1D or 2D DeviceMesh",
            ),
            (
                lambda: model[0].set_modules_to_forward_prefetch([nn.ReLU()]),
                ValueError,
                "fully_shard has sharded",
            ),
        ):
            with pytest.raises(error, match=text):
                call()
        with pytest.raises(AssertionError, match="mesh_dim_names"):
            fully_shard(nn.Linear(2, 2), mesh=dist.init_device_mesh("cpu", (1, 2)))
        channels_last = nn.Conv2d(2, 2, 3).to(memory_format=tl.channels_last)
        with pytest.raises(NotImplementedError, match=r"non-contiguous parameters yet: weight has the size"):
            fully_shard(channels_last)
        with tl.device("meta"):
            hollow = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        for layer in hollow:
            fully_shard(layer)
        with pytest.raises(RuntimeError, match=r"on meta device: \['0.weight', '0.bias'\]"):
            fully_shard(hollow)(tl.ones(1, 2))
        scalar = nn.Module()
        scalar.scale = nn.Parameter(tl.tensor(1.0))
        with pytest.raises(ValueError, match=r"doesn't support scalar parameters\. Change scale to"):
            fully_shard(scalar)
        tied = built(Tied)
        fully_shard(tied.first)
        with pytest.raises(ValueError, match="belongs to a group that was sharded before"):
            fully_shard(tied)

    ranks(2, body)


def test_large_parameters_are_gathered_in_their_memory(ranks, monkeypatch):
    monkeypatch.setattr(sharded_parameter, "_LARGE", 8)

    def body(rank):
        model = built(pair)
        for layer in (model[0], model[2]):
            fully_shard(layer)
        fully_shard(model)
        assert [p.is_large for p in model[0]._state().group.parameters] == [True, False]
        np.testing.assert_allclose(
            train(model, rank), train(DistributedDataParallel(built(pair)), rank), rtol=1e-5
        )

    ranks(2, body)


def test_larger_pieces_between_the_passes(ranks):
    def body(rank):
        model = shard_layers(built(), reshard_after_forward=2)
        group = model[0]._state().group
        x, y = next(batches(rank))
        loss = ((model(x) - y) ** 2).mean()
        assert not group.is_whole and [piece.numel() for piece in group._larger_pieces] == [18, 4]
        loss.backward()
        assert not group._larger_pieces and not group.is_whole
        np.testing.assert_allclose(
            train(shard_layers(built(), reshard_after_forward=2), rank, 5),
            train(DistributedDataParallel(built()), rank, 5),
            rtol=1e-5,
        )

    ranks(4, body)


def test_managed_modules_and_states(world):
    model = nn.Sequential(*(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)) for _ in range(3)))
    model[2][0].weight = model[1][0].weight
    fully_shard(model[0])
    replicate(model[1][1])
    modules = managed_states._get_managed_modules((model,))
    assert modules == [model[1][0], model[1], model[2][0], model[2][1], model[2], model]
    parameters, buffers = managed_states._get_managed_states(modules)
    assert [id(p) for p in parameters] == [
        id(p) for p in (*model[1][0].parameters(), model[2][0].bias, *model[2][1].parameters())
    ]
    assert [id(b) for b in buffers] == [id(b) for b in model[2][1].buffers()]
    infos = managed_states._get_param_module_infos(parameters[:2], [model])
    assert infos == [
        managed_states.ParamModuleInfo(model[1][0], "weight", [model[2][0]], ["weight"]),
        managed_states.ParamModuleInfo(model[1][0], "bias"),
    ]
    with pytest.raises(AssertionError, match="1 of 1 parameters belong to no module"):
        managed_states._get_param_module_infos([nn.Parameter(tl.ones(1))], model)
    fully_shard(model)
    names = {p._param_fqn for p in fully_shard.state(model).group.parameters}
    assert names == {None}
    fully_shard.state(model)._lazy_init()
    group = fully_shard.state(model)._fsdp_param_group
    assert [p._param_fqn for p in group.fsdp_params] == [
        "1.0.weight", "1.0.bias", "2.0.bias", "2.1.weight", "2.1.bias",
    ]  # fmt: skip
    assert fully_shard.state(model[0])._fsdp_param_group._module_fqn == "0"
    assert fully_shard.state(model)._is_root and not fully_shard.state(model[0])._is_root
    assert fully_shard.state(model)._state_ctx.all_states == [model._get_fsdp_state(), model[0]._state()]
    assert fully_shard.state(nn.Linear(1, 1)) is None


def test_what_the_first_module_to_compute_cannot_be(world):
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    fully_shard([model[0], model[1]])
    with pytest.raises(RuntimeError, match="requires a single root module but got 2"):
        model(tl.ones(1, 2))
    outer = nn.Sequential(nn.Sequential(nn.Linear(2, 2)))
    fully_shard(outer[0][0])
    fully_shard(outer)
    outer[0](tl.ones(1, 2))
    with pytest.raises(RuntimeError, match=r"already been lazily initialized for 0\.0"):
        outer(tl.ones(1, 2))


@pytest.mark.parametrize(("count", "after"), [(1, True), (2, False)])
def test_numbers_of_ranks_that_mean_true_and_false(ranks, count, after):
    def body(rank):
        model = built()
        fully_shard(model[0], reshard_after_forward=count)
        fully_shard(model)
        model(tl.ones(1, 5))
        assert model[0]._state().group.is_whole == after

    # Ranks are threads, which would restore each other's filters of warnings.
    with pytest.warns(UserWarning, match="as False does") if count == 1 else nullcontext():
        ranks(2, body)


@pytest.mark.parametrize("order", [1, 2, 3.5, float("inf")])
def test_the_norm_of_all_gradients_moves_one_number(ranks, order, monkeypatch):
    moved = []
    several = redistribute.collectives.all_reduce
    monkeypatch.setattr(
        redistribute.collectives,
        "all_reduce",
        lambda x, *a, **k: (moved.append(x.shape), several(x, *a, **k))[1],
    )

    def body(rank):
        model, whole = shard_layers(built()), built()
        x = next(batches(0))[0]
        for each in (model, whole):
            each(x).square().sum().backward()
        dist.barrier()
        moved.clear()
        dist.barrier()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5, norm_type=order)
        dist.barrier()
        counted = len(moved)
        dist.barrier()
        expected = nn.utils.clip_grad_norm_(whole.parameters(), 0.5, norm_type=order)
        assert norm.placements == (_NormPartial("sum", float(order)),)
        assert_close(norm.full_tensor(), expected)
        assert norm.item() == norm.full_tensor().item()
        for own, other in zip(model.parameters(), whole.parameters(), strict=True):
            assert_close(own.grad.full_tensor(), other.grad)
        return counted

    counts = ranks(2, body)
    assert counts == [2, 2]  # one of each rank, and both are in one process
    assert set(moved) == {tl.Size([])}


def test_gradients_of_a_norm_of_pieces(ranks):
    def body(rank):
        values = tl.arange(1.0, 11.0).view(5, 2)
        x = distribute_tensor(values, dist.init_device_mesh("cpu", (2,)), [Shard(0)]).requires_grad_()
        y = values.clone().requires_grad_()
        for one in (x, y):
            (tl.linalg.vector_norm(one) + tl.linalg.vector_norm(one, 3, dim=0).sum()).backward()
        assert_close(x.grad.full_tensor(), y.grad)
        norms = tl.linalg.vector_norm(x, dim=1)
        assert norms.placements == (Shard(0),)
        assert_close(norms.full_tensor(), tl.linalg.vector_norm(y, dim=1))

    ranks(2, body)
