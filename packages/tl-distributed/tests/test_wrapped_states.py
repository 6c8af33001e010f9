"""State dicts of `FullyShardedDataParallel` and of its optimizers: they fit replicas and other wrappers, and back."""

from __future__ import annotations

import itertools
import threading
import warnings

import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_core.testing import assert_close
from tl_distributed.fsdp import (
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalStateDictConfig,
    OptimStateKeyType,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictType,
    fully_shard,
)
from tl_distributed.fsdp import FullyShardedDataParallel as FSDP
from tl_distributed.fsdp.wrap import ModuleWrapPolicy
from tl_distributed.optim import apply_optimizer_in_backward
from tl_distributed.parallel import DistributedDataParallel
from tl_distributed.tensor import DTensor, Shard
from tl_nn import optim

BUILDING = threading.Lock()  # ranks are threads, which share the generator
LINEAR = ModuleWrapPolicy({nn.Linear})
KINDS = {"full": StateDictType.FULL_STATE_DICT, "sharded": StateDictType.SHARDED_STATE_DICT}
STRATEGIES = [ShardingStrategy.FULL_SHARD, ShardingStrategy.NO_SHARD]


def built():
    with BUILDING:
        tl.manual_seed(0)
        layers = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 7), nn.LayerNorm(7), nn.Linear(7, 3))
        layers[3].register_buffer("scale", tl.ones(2))
        return layers


def steps(model, optimizer, rank, count=2):
    drawn = tl.Generator().manual_seed(rank)
    for _ in range(count):
        x, y = tl.randn(4, 5, generator=drawn), tl.randn(4, 3, generator=drawn)
        optimizer.zero_grad()
        ((model(x) - y) ** 2).mean().backward()
        optimizer.step()


def wrapped(use_orig_params=False, strategy=ShardingStrategy.FULL_SHARD, policy=LINEAR):
    model = FSDP(
        built(), auto_wrap_policy=policy, use_orig_params=use_orig_params, sharding_strategy=strategy
    )
    return model, optim.AdamW(model.parameters(), lr=0.01)


def replicas(rank, count=2):
    model = DistributedDataParallel(built())
    optimizer = optim.AdamW(model.parameters(), lr=0.01)
    steps(model, optimizer, rank, count)
    return model.module, optimizer


def whole(value):
    return value.full_tensor() if isinstance(value, DTensor) else value


def assert_same(mine, other, tolerance=1e-5):
    assert list(mine) == list(other)
    for name, value in other.items():
        if isinstance(value, dict):
            assert_same(mine[name], value, tolerance)
        elif isinstance(value, tl.Tensor):
            assert_close(whole(mine[name]), value, rtol=tolerance, atol=tolerance)
        else:
            assert mine[name] == value


@pytest.mark.parametrize("use_orig_params", [False, True])
@pytest.mark.parametrize("kind", ["full", "sharded"])
def test_state_dicts_of_models(ranks, kind, use_orig_params):
    def body(rank):
        other, _ = replicas(rank)
        for policy in (None, LINEAR):
            model, optimizer = wrapped(use_orig_params, policy=policy)
            steps(model, optimizer, rank)
            with FSDP.state_dict_type(model, KINDS[kind]):
                state = model.state_dict()
                assert_same(state, other.state_dict())
                if kind == "sharded":
                    assert state["2.weight"].placements == (Shard(0),)
                fresh, _ = wrapped(not use_orig_params)
                with FSDP.state_dict_type(fresh, KINDS[kind]):
                    assert str(fresh.load_state_dict(state)) == "<All keys matched successfully>"
            assert_same(fresh.state_dict(), other.state_dict())
            plain = built()
            plain.load_state_dict({name: whole(value) for name, value in state.items()})
            wrapped(use_orig_params)[0].load_state_dict(plain.state_dict())

    ranks(3, body)


def test_only_the_first_rank(ranks):
    def body(rank):
        model, optimizer = wrapped()
        steps(model, optimizer, rank)
        config = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
        optim_config = FullOptimStateDictConfig(rank0_only=True)
        expected = model.state_dict()
        everywhere = FSDP.optim_state_dict(model, optimizer)
        with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, config, optim_config):
            state, optim_state = model.state_dict(), FSDP.optim_state_dict(model, optimizer)
            assert (len(state), len(optim_state)) == ((len(expected), 2) if rank == 0 else (0, 0))
            if rank == 0:
                assert_same(state, expected, 0)
                assert_same(optim_state["state"], everywhere["state"], 0)
            fresh, fresh_optimizer = wrapped()
            FSDP.set_state_dict_type(fresh, StateDictType.FULL_STATE_DICT, config, optim_config)
            loaded = FSDP.optim_state_dict_to_load(fresh, fresh_optimizer, optim_state or None)
            fresh_optimizer.load_state_dict(loaded)
        assert_same(fresh_optimizer.state_dict()["state"], optimizer.state_dict()["state"], 0)

    ranks(2, body)


@pytest.mark.parametrize("use_orig_params", [False, True])
def test_local_pieces(ranks, use_orig_params):
    def body(rank):
        model, optimizer = wrapped(use_orig_params)
        steps(model, optimizer, rank)
        with FSDP.state_dict_type(model, StateDictType.LOCAL_STATE_DICT, LocalStateDictConfig()):
            state = model.state_dict()
            assert "0._flat_param" in state and state["0._flat_param"].shape == (
                43 if use_orig_params else 42,
            )
            fresh, _ = wrapped(use_orig_params)
            with FSDP.state_dict_type(fresh, StateDictType.LOCAL_STATE_DICT):
                fresh.load_state_dict(state)
                with pytest.raises(AssertionError, match="No `FlatParameter`"):
                    fresh.load_state_dict({})
        assert_same(fresh.state_dict(), model.state_dict(), 0)
        copies, _ = wrapped(use_orig_params, ShardingStrategy.NO_SHARD)
        for kind in (StateDictType.LOCAL_STATE_DICT, StateDictType.SHARDED_STATE_DICT):
            with (
                FSDP.state_dict_type(copies, kind),
                pytest.raises(RuntimeError, match="flatten and sharded"),
            ):
                copies.state_dict()

    ranks(3, body)


def test_settings(ranks):
    def body(rank):
        model, _ = wrapped()
        former = FSDP.set_state_dict_type(model, StateDictType.SHARDED_STATE_DICT)
        assert former.state_dict_type is StateDictType.FULL_STATE_DICT
        with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(True, True)):
            assert FSDP.get_state_dict_type(model).state_dict_config.rank0_only
        assert FSDP.get_state_dict_type(model).state_dict_config == ShardedStateDictConfig()
        for configs, text in (
            ((FullStateDictConfig(), None), "Expected state_dict_config of type"),
            ((None, FullOptimStateDictConfig()), "Expected optim_state_dict_config of type"),
        ):
            with pytest.raises(RuntimeError, match=text):
                FSDP.set_state_dict_type(model, StateDictType.SHARDED_STATE_DICT, *configs)
        FSDP.set_state_dict_type(model[0], StateDictType.LOCAL_STATE_DICT)
        with pytest.raises(AssertionError, match="same state dict settings"):
            FSDP.get_state_dict_type(model)
        assert FSDP.get_state_dict_type(nn.Linear(1, 1)).state_dict_type is StateDictType.FULL_STATE_DICT

    ranks(2, body)


@pytest.mark.parametrize("use_orig_params", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_states_of_optimizers(ranks, strategy, use_orig_params):
    def body(rank):
        _, other = replicas(rank)
        names = [name for name, _ in built().named_parameters()]
        expected = {name: other.state_dict()["state"][i] for i, name in enumerate(names)}
        kinds = ["full"] if strategy is ShardingStrategy.NO_SHARD else ["full", "sharded"]
        for kind, policy in itertools.product(kinds, (None, LINEAR)):
            model, optimizer = wrapped(use_orig_params, strategy, policy)
            steps(model, optimizer, rank)
            with FSDP.state_dict_type(model, KINDS[kind]):
                state = FSDP.optim_state_dict(model, optimizer)
                assert_same({name: state["state"][name] for name in names}, expected)
                assert sorted(state["param_groups"][0]["params"]) == sorted(names)
                assert state["param_groups"][0]["lr"] == 0.01
                fresh, fresh_optimizer = wrapped(not use_orig_params, strategy)
                with FSDP.state_dict_type(fresh, KINDS[kind]):
                    fresh.load_state_dict(model.state_dict())
                    loaded = FSDP.optim_state_dict_to_load(fresh, fresh_optimizer, state, load_directly=True)
                    assert loaded["param_groups"][0]["params"] == list(range(len(list(fresh.parameters()))))
            steps(model, optimizer, rank, 1)
            steps(fresh, fresh_optimizer, rank, 1)
            assert_same(fresh.state_dict(), model.state_dict())

    ranks(3, body)


@pytest.mark.parametrize("use_orig_params", [False, True])
def test_former_functions(ranks, use_orig_params):
    def body(rank):
        model, optimizer = wrapped(use_orig_params)
        steps(model, optimizer, rank)
        own = optimizer.state_dict()
        full = FSDP.full_optim_state_dict(model, optimizer, rank0_only=False)
        first = FSDP.full_optim_state_dict(model, optimizer)
        assert bool(first) == (rank == 0)
        cut = FSDP.sharded_optim_state_dict(model, optimizer)
        assert isinstance(cut["state"]["0.weight"]["exp_avg"], DTensor)
        for loaded in (
            FSDP.shard_full_optim_state_dict(full, model, optim=optimizer),
            FSDP.shard_full_optim_state_dict(full, model),
            FSDP.scatter_full_optim_state_dict(first or None, model, optim=optimizer),
            FSDP.flatten_sharded_optim_state_dict(cut, model, optimizer),
        ):
            assert_same(loaded["state"], own["state"], 0)
            optimizer.load_state_dict(loaded)
        plain, other = replicas(rank)
        numbered = FSDP.rekey_optim_state_dict(full, OptimStateKeyType.PARAM_ID, plain)
        assert_same({i: numbered["state"][i] for i in range(8)}, other.state_dict()["state"])
        other.load_state_dict(numbered)
        named = FSDP.rekey_optim_state_dict(other.state_dict(), OptimStateKeyType.PARAM_NAME, plain)
        assert set(named["state"]) == set(full["state"])
        with pytest.raises(AssertionError, match="PARAM_NAME or PARAM_ID"):
            FSDP.rekey_optim_state_dict(full, None, plain)
        foreign = optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1)
        with pytest.raises(RuntimeError, match="made before FullyShardedDataParallel"):
            FSDP.optim_state_dict(model, foreign)
        with pytest.raises(RuntimeError, match="has the size"):
            full["state"]["0.weight"]["exp_avg"] = tl.zeros(2, 2)
            FSDP.optim_state_dict_to_load(model, optimizer, full)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        ranks(2, body)


def test_an_optimizer_made_before_the_wrapper(ranks):
    def body(rank):
        module = built()
        optimizer = optim.AdamW(module.parameters(), lr=0.01)
        model = FSDP(module, use_orig_params=True)
        steps(model, optimizer, rank)
        assert_same(model.state_dict(), replicas(rank)[0].state_dict())
        FSDP.optim_state_dict(model, optimizer)
        module = built()
        optimizer = optim.AdamW(module.parameters(), lr=0.01)
        with pytest.raises(RuntimeError, match="made before FullyShardedDataParallel"):
            FSDP.optim_state_dict(FSDP(module), optimizer)

    ranks(2, body)


def by_kind(kind, rank):
    """A trained model of a kind and its optimizer."""
    if kind == "DDP":
        return replicas(rank)
    if kind == "FSDP2":
        model = built()
        for layer in model:
            if isinstance(layer, nn.Linear):
                fully_shard(layer)
        fully_shard(model)
        optimizer = optim.AdamW(model.parameters(), lr=0.01)
    else:
        model, optimizer = wrapped(kind == "FSDP1 pieces")
    steps(model, optimizer, rank)
    return model, optimizer


def test_checkpoints_of_all_kinds_and_sizes(ranks, tmp_path):
    checkpoint = pytest.importorskip("tl_checkpoint.distributed")
    states = pytest.importorskip("tl_checkpoint.distributed.state_dict")
    kinds = ["DDP", "FSDP1", "FSDP1 pieces", "FSDP2"]
    full = states.StateDictOptions(full_state_dict=True)
    saved = {}
    for number, kind in enumerate(kinds):

        def save(rank, kind=kind, number=number):
            model, optimizer = by_kind(kind, rank)
            state = dict(zip(("model", "optim"), states.get_state_dict(model, optimizer), strict=True))
            checkpoint.save(state, checkpoint_id=str(tmp_path / str(number)))
            return states.get_state_dict(model, optimizer, options=full)

        saved[kind] = ranks(1 + number % 3 if kind != "DDP" else 2, save)[0]

    def load(rank):
        for (number, source), target in itertools.product(enumerate(kinds), kinds):
            model, optimizer = by_kind(target, rank)
            state = dict(zip(("model", "optim"), states.get_state_dict(model, optimizer), strict=True))
            checkpoint.load(state, checkpoint_id=str(tmp_path / str(number)))
            states.set_state_dict(
                model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"]
            )
            got = states.get_state_dict(model, optimizer, options=full)
            for mine, other in zip(got, saved[source], strict=True):
                assert_same_entries(mine.get("state", mine), other.get("state", other))
            states.set_state_dict(
                model,
                optimizer,
                model_state_dict=saved[source][0],
                optim_state_dict=saved[source][1],
                options=full,
            )

    ranks(2, load)


def assert_same_entries(mine, other):
    """Bit for bit, in any order."""
    assert set(mine) == set(other)
    for name, value in other.items():
        if isinstance(value, dict):
            assert_same_entries(mine[name], value)
        else:
            assert whole(mine[name]).equal(value)


def test_frozen_parameters_are_left_out(ranks):
    states = pytest.importorskip("tl_checkpoint.distributed.state_dict")

    def body(rank):
        for use_orig_params in (False, True):
            module = built()
            module[0].requires_grad_(False)
            model = FSDP(module, auto_wrap_policy=LINEAR, use_orig_params=use_orig_params)
            options = states.StateDictOptions(ignore_frozen_params=True, full_state_dict=True)
            state = states.get_model_state_dict(model, options=options)
            assert not any(name.startswith("0.") for name in state) and "2.weight" in state
            optimizer = optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1, momentum=0.9)
            flat = states.StateDictOptions(flatten_optimizer_state_dict=True)
            flattened = states.get_optimizer_state_dict(model, optimizer, options=flat)
            assert "state.2.weight.momentum_buffer" in flattened
            states.set_optimizer_state_dict(model, optimizer, flattened, options=flat)

    ranks(2, body)


def test_world_of_several_groups(ranks):
    def body(rank):
        pair = dist.new_group([0, 1] if rank < 2 else [2, 3], use_local_synchronization=True)
        model = FSDP(built(), pair, auto_wrap_policy=LINEAR)
        optimizer = optim.AdamW(model.parameters(), lr=0.01)
        steps(model, optimizer, rank)
        assert model.world_size == 2 and model.rank == rank % 2
        with FSDP.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
            state = FSDP.optim_state_dict(model, optimizer)
            assert state["state"]["0.weight"]["exp_avg"].device_mesh.size() == 2
        return model.state_dict()["0.weight"]

    results = ranks(4, body)
    assert results[0].equal(results[1]) and not results[0].equal(results[2])


@pytest.mark.parametrize("strategy", [ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD])
def test_state_dicts_with_a_mesh(ranks, strategy):
    """They have distributed tensors of the mesh, and no flat pieces."""

    def body(rank):
        is_hybrid = strategy is ShardingStrategy.HYBRID_SHARD
        mesh = dist.init_device_mesh("cpu", (1, 2) if is_hybrid else (2,))
        policy = ModuleWrapPolicy({nn.Linear})
        model = FSDP(
            nn.Sequential(nn.Linear(3, 4), nn.ReLU()),
            device_mesh=mesh,
            auto_wrap_policy=policy,
            sharding_strategy=strategy,
        )
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        FSDP.set_state_dict_type(model, StateDictType.SHARDED_STATE_DICT)
        assert all(value.device_mesh == mesh for value in model.state_dict().values())
        settings = FSDP.get_state_dict_type(model)
        assert settings.state_dict_config._use_dtensor and settings.optim_state_dict_config._use_dtensor
        with FSDP.state_dict_type(model, StateDictType.LOCAL_STATE_DICT):
            for call in (model.state_dict, lambda: FSDP.optim_state_dict(model, optimizer)):
                with pytest.raises(RuntimeError, match="DeviceMesh is not compatible with LOCAL_STATE_DICT"):
                    call()

    ranks(2, body)


@pytest.mark.parametrize("use_orig_params", [False, True])
def test_states_that_a_rank_lacks(ranks, use_orig_params):
    """They are refused on all ranks: the elements of that rank would be zeros."""

    def body(rank):
        model = FSDP(nn.Linear(4, 4), use_orig_params=use_orig_params)
        optimizer = optim.Adam(model.parameters())
        model(tl.ones(2, 4)).sum().backward()
        optimizer.step()
        if rank == 1:
            optimizer.state.clear()
        with pytest.raises(RuntimeError, match=r"some ranks are missing some.*rank 1 .*weight"):
            FSDP.optim_state_dict(model, optimizer)

    ranks(2, body)


def test_an_optimizer_in_the_backward_pass_of_a_flat_parameter(ranks):
    def body(rank):
        model = FSDP(nn.Linear(4, 4))
        assert model._handle.flat_param is model._flat_param
        apply_optimizer_in_backward(optim.SGD, model.parameters(), {"lr": 0.1})
        with pytest.raises(RuntimeError, match="only supported with use_orig_params=True"):
            model(tl.ones(2, 4))
        FSDP(nn.ModuleList([nn.Linear(2, 2)]))

    with pytest.warns(UserWarning, match="containers that do not implement forward"):
        ranks(2, body)
