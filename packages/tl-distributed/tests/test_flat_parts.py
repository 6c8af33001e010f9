"""The parts of `FullyShardedDataParallel`: locations of parameters, wrappers, names of an optimizer's state."""

from __future__ import annotations

import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_distributed.fsdp import (
    FullyShardedDataParallel,
    ShardingStrategy,
    flat_parameter,
    full_parameters,
    optimizer_state,
)
from tl_distributed.fsdp.flat_unit import FlatUnit
from tl_distributed.fsdp.mesh_layout import MeshLayout
from tl_distributed.fsdp.unit_state import UnitState, unit_state_of
from tl_distributed.fsdp.whole_view import refuse_shape
from tl_distributed.fsdp.wrapped_state_dict import cut_tensor
from tl_distributed.fsdp.wrapper_options import ignored_parts
from tl_distributed.optim.named_optimizer import _NamedOptimizer
from tl_distributed.tensor import Replicate, Shard
from tl_nn.optim import SGD


def model():
    tl.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1, bias=False))


def wrap(module, **options):
    return FullyShardedDataParallel(module, sharding_strategy=ShardingStrategy.NO_SHARD, **options)


def entries(module, alignment=4):
    owners = [(p, [(m, n)]) for m in module for n, p in m.named_parameters(recurse=False)]
    return flat_parameter.entries_of(owners, module, alignment)


# ---- locations


def test_parameters_lie_at_multiples():
    every, count = entries(model())
    assert [(e.names, e.offset, e.numel) for e in every] == [
        (["0.weight"], 0, 6), (["0.bias"], 8, 3), (["1.weight"], 12, 3)
    ]  # fmt: skip
    assert count == 15 and entries(model(), 1)[1] == 12


@pytest.mark.parametrize(
    ("rank", "pieces"),
    [(0, [(0, 6, 0), (8, 8, 0)]), (1, [(0, 0, 6), (0, 3, 0)]), (2, [(0, 0, 6), (0, 0, 3)])],
)
def test_the_piece_of_a_rank(rank, pieces):
    weight, bias, _ = entries(model())[0]
    for entry, (start, end, skipped) in zip((weight, bias), pieces, strict=True):
        entry.cut(rank, 8)
        assert entry.end - entry.start == end - start
        if end > start:
            assert (entry.start, entry.end, entry.skipped) == (start, end, skipped)


def test_parameters_that_cannot_be_flat():
    def check(*parameters, mixes=False):
        module = nn.Module()
        own = [(p, [(module, f"p{i}")]) for i, p in enumerate(parameters)]
        flat_parameter.check_entries(flat_parameter.entries_of(own, module, 1)[0], mixes)

    one = nn.Parameter(tl.ones(2))
    check(one, nn.Parameter(tl.ones(3)))
    frozen = nn.Parameter(tl.ones(2), False)
    check(one, frozen, mixes=True)
    for parameters, text in (
        ((nn.Parameter(tl.tensor(1.0)),), "Change p0 to a 1D tensor"),
        ((nn.Parameter(tl.ones(2, dtype=tl.int64), False),), "integer dtype tensors: p0 is of torch.int64"),
        (
            (one, nn.Parameter(tl.ones(2, dtype=tl.float64))),
            "uniform dtype but got torch.float32 and torch.float64",
        ),
        ((one, frozen), "uniform `requires_grad`"),
    ):
        with pytest.raises(ValueError, match=text):
            check(*parameters)


def test_names_without_wrappers():
    name = "_fsdp_wrapped_module.0._fsdp_wrapped_module.weight"
    assert flat_parameter.clean_name(name) == "0.weight" and flat_parameter.clean_name("0.bias") == "0.bias"
    with pytest.raises(RuntimeError, match=r"w expects \(2, 3\) but got \(6,\)"):
        refuse_shape("w", (6,), (2, 3))
    with pytest.raises(RuntimeError, match="but got None"):
        refuse_shape("w", None, (2, 3))


# ---- wrappers


def test_units_of_wrappers(world):
    inner = model()
    inner[1] = wrap(inner[1])
    wrapper = wrap(inner)
    pairs = full_parameters.wrappers_of(wrapper)
    assert [module for module, _ in pairs] == [wrapper, inner[1]]
    assert all(isinstance(state, UnitState) and isinstance(state.unit, FlatUnit) for _, state in pairs)
    assert unit_state_of(inner) is None and unit_state_of(wrapper) is pairs[0][1]
    unit = pairs[0][1].unit
    assert [e.names for e in unit.entries] == [["0.weight"], ["0.bias"]] and unit.count == 1
    before = inner[0].weight.detach().clone()
    with full_parameters.show_parameters(wrapper, True, True, False, False, False), tl.no_grad():
        assert {flat_parameter.clean_name(n) for n, _ in wrapper.named_parameters()} == {
            "0.weight",
            "0.bias",
            "1.weight",
        }
        inner[0].weight.mul_(2)
    with full_parameters.show_parameters(wrapper, True, False, False, False, False), tl.no_grad():
        assert tl.equal(inner[0].weight, before * 2)


def test_parts_that_are_ignored(world):
    module = model()
    modules, parameters = ignored_parts(module, [module[0]], None)
    assert module[0] in modules and module[1] not in modules and not parameters - {*module[0].parameters()}
    assert ignored_parts(module, None, [module[1].weight])[1] == {module[1].weight}
    with pytest.raises(ValueError, match="Cannot pass both"):
        ignored_parts(module, [], [])
    with pytest.raises(ValueError, match="ignored_states expects all"):
        ignored_parts(module, None, [module[0], module[1].weight])
    with pytest.raises(ValueError, match="should not include FSDP modules"):
        ignored_parts(module, [wrap(model())], None)


def test_meshes_of_two_kinds(ranks):
    def body(rank):
        flat = MeshLayout(dist.init_device_mesh("cpu", (2,)))
        hybrid = MeshLayout(dist.init_device_mesh("cpu", (2, 1)))
        x = tl.arange(6.0).reshape(3, 2)
        cut, scalar = cut_tensor(x, flat), cut_tensor(tl.tensor(5.0), flat)
        assert (cut.placements, scalar.placements) == ((Shard(0),), (Replicate(),))
        assert cut_tensor(x, hybrid).placements == (Replicate(), Shard(0))
        assert tl.equal(cut.full_tensor(), x)
        return flat.shard_size, hybrid.shard_size, hybrid.shard_dim, cut.to_local().tolist()

    assert ranks(2, body) == [
        (2, 1, 1, [[0.0, 1.0], [2.0, 3.0]]), (2, 1, 1, [[4.0, 5.0]])
    ]  # fmt: skip
    with pytest.raises(ValueError, match="1D or 2D"):
        MeshLayout(type("Mesh", (), {"ndim": 3})())


# ---- optimizers


@pytest.mark.parametrize("keeps_originals", [False, True])
def test_the_state_of_an_optimizer_by_name(world, keeps_originals):
    wrapper = wrap(model(), use_orig_params=keeps_originals)
    optimizer = SGD(wrapper.parameters(), lr=0.1, momentum=0.9)
    wrapper(tl.ones(1, 2)).sum().backward()
    optimizer.step()
    names = optimizer_state.Names(wrapper)
    assert sorted(optimizer_state.names_in(names)) == ["0.bias", "0.weight", "1.weight"]
    with pytest.raises(RuntimeError, match="the optimizer has a parameter of"):
        names.names_of(nn.Parameter(tl.ones(7)))
    numbered = optimizer.state_dict()
    named = optimizer_state.named_state(wrapper, optimizer, numbered, False, False)
    momenta = {name: tuple(entry["momentum_buffer"].shape) for name, entry in named["state"].items()}
    assert momenta == {"0.weight": (3, 2), "0.bias": (3,), "1.weight": (1, 3)}
    assert named["param_groups"][0]["params"] == ["0.weight", "0.bias", "1.weight"]
    again = optimizer_state.numbered_state(wrapper, optimizer, named, False)
    assert again["state"].keys() == numbered["state"].keys()
    for key, entry in numbered["state"].items():
        assert tl.equal(again["state"][key]["momentum_buffer"], entry["momentum_buffer"])
    renamed = optimizer_state.rename_parameters(named, False, optimizer, wrapper)
    assert sorted(renamed["state"]) == [0, 1, 2] and renamed["param_groups"][0]["params"] == [0, 1, 2]
    assert optimizer_state.rename_parameters(named, True, optimizer, wrapper) is named
    with pytest.raises(ValueError, match="names and numbers"):
        optimizer_state.rename_parameters(
            {"state": {}, "param_groups": [{"params": ["a", 1]}]}, True, optimizer, wrapper
        )
    with pytest.raises(ValueError, match="the model has no parameters other"):
        optimizer_state.rename_parameters(
            {"state": {}, "param_groups": [{"params": ["other"]}]}, False, optimizer, wrapper
        )


def test_the_older_states_of_optimizers_warn(world):
    wrapper = wrap(model())
    optimizer = SGD(wrapper.parameters(), lr=0.1, momentum=0.9)
    wrapper(tl.ones(1, 2)).sum().backward()
    optimizer.step()
    for name in ("full_optim_state_dict", "sharded_optim_state_dict"):
        with pytest.warns(FutureWarning, match=f"{name}.*optim_state_dict"):
            state = getattr(FullyShardedDataParallel, name)(wrapper, optimizer)
        assert sorted(state["state"]) == ["0.bias", "0.weight", "1.weight"]


def test_groups_of_a_named_optimizer():
    layers = model()
    named = dict(layers.named_parameters())
    first = {name: value for name, value in named.items() if name.startswith("0")}
    optimizer = _NamedOptimizer(named, SGD, [{"params": [*first.values()]}], lr=0.1)
    assert len(optimizer.param_groups) == 1 and optimizer.ordered_param_keys == ["0.weight", "0.bias"]
    optimizer.add_param_group({"params": [layers[1].weight], "lr": 0.5})
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.5]
    assert optimizer.ordered_param_keys == ["0.weight", "0.bias", "1.weight"]
