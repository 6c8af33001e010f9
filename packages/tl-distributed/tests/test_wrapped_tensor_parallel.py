"""`FullyShardedDataParallel` over tensor parallelism: the wrapped parameters are distributed tensors."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_distributed.fsdp import FullyShardedDataParallel as FSDP
from tl_distributed.fsdp import ShardingStrategy, StateDictType
from tl_distributed.fsdp.wrap import ModuleWrapPolicy
from tl_distributed.tensor import DTensor, Replicate, Shard
from tl_distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from tl_distributed.tensor.placement_types import _StridedShard
from tl_nn import optim

BUILDING = threading.Lock()  # ranks are threads, which share the generator
PLAN = {"0": ColwiseParallel(), "2": RowwiseParallel()}


def stack():
    with BUILDING:
        tl.manual_seed(0)
        return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 6), nn.LayerNorm(6), nn.Linear(6, 3))


def batch(step, rank):
    generator = tl.Generator().manual_seed(10 * step + rank)
    return tl.randn(4, 5, generator=generator), tl.randn(4, 3, generator=generator)


def step_of(model, x, y):
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    return float(loss.detach())


def wrap(strategy=ShardingStrategy.FULL_SHARD, **options):
    mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    model = parallelize_module(stack(), mesh["tp"], PLAN)
    return FSDP(model, device_mesh=mesh["dp"], sharding_strategy=strategy, **options), mesh


@pytest.mark.parametrize("use_orig_params", [False, True])
@pytest.mark.parametrize(
    "strategy", [ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy.NO_SHARD]
)
def test_losses_and_norms_of_one_process(ranks, strategy, use_orig_params):
    truth, truth_norms = [], []
    model = stack()
    optimizer = optim.AdamW(model.parameters(), lr=0.05)
    for step in range(10):
        pairs = [batch(step, rank) for rank in range(2)]
        optimizer.zero_grad()
        truth.append(step_of(model, *(tl.cat(parts) for parts in zip(*pairs, strict=True))))
        truth_norms.append(float(nn.utils.clip_grad_norm_(model.parameters(), 0.5)))
        optimizer.step()

    def body(rank):
        for policy in (None, ModuleWrapPolicy({nn.Linear})):
            model, mesh = wrap(strategy, use_orig_params=use_orig_params, auto_wrap_policy=policy)
            optimizer = optim.AdamW(model.parameters(), lr=0.05)
            losses, norms = [], []
            for step in range(10):
                optimizer.zero_grad()
                mean = tl.tensor(step_of(model, *batch(step, mesh["dp"].get_local_rank())), dtype=tl.float64)
                norms.append(float(model.clip_grad_norm_(0.5)))
                optimizer.step()
                dist.all_reduce(mean, dist.ReduceOp.AVG)
                losses.append(float(mean))
            np.testing.assert_allclose(losses, truth, rtol=2e-5)
            np.testing.assert_allclose(norms, truth_norms, rtol=2e-5)

    ranks(4, body)


@pytest.mark.parametrize("use_orig_params", [False, True])
def test_whole_parameters_and_states(ranks, use_orig_params):
    plain = stack().state_dict()

    def body(rank):
        model, mesh = wrap(use_orig_params=use_orig_params)
        x, y = batch(0, mesh["dp"].get_local_rank())
        step_of(model, x, y)
        with FSDP.summon_full_params(model, with_grads=use_orig_params):
            weight = model.module[0].weight
            assert isinstance(weight, DTensor) and weight.placements == (Shard(0),)
            assert weight.device_mesh == mesh["tp"]
            assert weight.full_tensor().tolist() == plain["0.weight"].tolist()
            if use_orig_params:
                assert weight.grad.placements == (Shard(0),) and weight.grad.shape == (8, 5)
            with tl.no_grad():
                weight.mul_(2)
        full = model.state_dict()
        assert full["0.weight"].full_tensor().tolist() == (2 * plain["0.weight"]).tolist()
        assert isinstance(full["2.bias"], DTensor) and not isinstance(full["4.weight"], DTensor)
        with FSDP.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
            cut = model.state_dict()
            assert cut["0.weight"].placements == (_StridedShard(0, split_factor=2), Shard(0))
            assert cut["2.weight"].placements == (Shard(0), Shard(1))
            assert cut["2.bias"].placements == (Shard(0), Replicate())
            assert cut["0.weight"].device_mesh == mesh
            for name, value in cut.items():
                assert value.full_tensor().tolist() == (plain[name] * (1 + (name == "0.weight"))).tolist(), (
                    name
                )
            model.load_state_dict({**cut, "0.bias": cut["0.bias"] * 3})
        assert model.state_dict()["0.bias"].full_tensor().tolist() == (3 * plain["0.bias"]).tolist()
        model.load_state_dict(plain)  # whole tensors are cut
        assert model.state_dict()["0.weight"].full_tensor().tolist() == plain["0.weight"].tolist()

    ranks(4, body)


@pytest.mark.parametrize("use_orig_params", [False, True])
def test_states_of_optimizers(ranks, use_orig_params):
    def body(rank):
        model, mesh = wrap(use_orig_params=use_orig_params)
        optimizer = optim.Adam(model.parameters(), lr=0.05)
        step_of(model, *batch(0, mesh["dp"].get_local_rank()))
        optimizer.step()
        full = FSDP.optim_state_dict(model, optimizer)
        moment = full["state"]["0.weight"]["exp_avg"]
        assert isinstance(moment, DTensor) and moment.shape == (8, 5) and moment.placements == (Shard(0),)
        before = moment.full_tensor().tolist()
        with FSDP.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
            cut = FSDP.optim_state_dict(model, optimizer)
        assert cut["state"]["0.weight"]["exp_avg"].full_tensor().tolist() == before
        for value in optimizer.state.values():
            value["exp_avg"].zero_()
        optimizer.load_state_dict(FSDP.optim_state_dict_to_load(model, optimizer, cut))
        after = FSDP.optim_state_dict(model, optimizer)["state"]["0.weight"]["exp_avg"]
        assert after.full_tensor().tolist() == before

    ranks(4, body)


def test_meshes_of_two_worlds_are_refused(ranks):
    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2, 2))
        tensor = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))["tp"]
        model = FSDP(parallelize_module(stack(), tensor, PLAN), mesh.get_group(0))
        FSDP.set_state_dict_type(model, StateDictType.SHARDED_STATE_DICT)
        with pytest.raises(ValueError, match="same parent mesh"):
            model.state_dict()

    ranks(4, body)
