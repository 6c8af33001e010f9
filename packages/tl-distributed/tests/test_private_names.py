"""Private modules of `torch.distributed` that libraries import."""

from __future__ import annotations

import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_distributed.compat import state_dict_utils, symmetric_memory
from tl_distributed.fsdp import FullyShardedDataParallel, ShardingStrategy, wrapper_names, wrapper_states
from tl_distributed.tensor import DTensor, Shard, distribute_tensor


@pytest.fixture
def model(world):
    inner = FullyShardedDataParallel(nn.Linear(2, 3), sharding_strategy=ShardingStrategy.NO_SHARD)
    outer = nn.Sequential(inner, nn.Linear(3, 1))
    return FullyShardedDataParallel(outer, sharding_strategy=ShardingStrategy.NO_SHARD)


def test_states_of_wrappers(model):
    states, modules = wrapper_states._get_fsdp_states_with_modules(model)
    assert modules == [model, model.module[0]] and wrapper_states._get_fsdp_states(model) == states
    assert wrapper_names._get_module_fsdp_state(model) is states[0]
    assert wrapper_names._get_module_fsdp_state(model.module) is None
    assert wrapper_names._get_sharding_strategy(states[1]) is ShardingStrategy.NO_SHARD
    assert wrapper_names._get_sharding_strategy(None) is None
    assert wrapper_states._get_fsdp_handles(model) == [states[0].unit, states[1].unit]
    assert wrapper_names._has_fsdp_params(states[0], model) and not wrapper_names._is_composable(states[0])


def test_names_of_parameters(model):
    name = f"a.{wrapper_names.FSDP_PREFIX}b._checkpoint_wrapped_module.weight"
    assert wrapper_names.clean_tensor_name(name) == "a.b.weight"
    names = list(wrapper_names._get_param_to_fqns(model).values())
    assert names == [["1.weight", "1.bias"], ["0.weight", "0.bias"]]
    flat = next(iter(model._parameters.values()), model._flat_param)
    assert wrapper_names._is_fsdp_flattened(flat) and not wrapper_names._is_fsdp_flattened(tl.ones(1))
    x = tl.ones(1)
    wrapper_names._set_fsdp_flattened(x)
    assert wrapper_names._is_fsdp_flattened(x)
    shared = nn.Linear(1, 1)
    twice = nn.Sequential(shared, shared)
    assert wrapper_names._get_param_to_fqns(twice)[shared.weight] == ["0.weight"]
    assert wrapper_names._get_param_to_fqns(twice, False)[shared.weight] == ["0.weight", "1.weight"]
    assert len(wrapper_names._named_parameters_with_duplicates(twice)) == 4
    with pytest.raises(AssertionError, match="remove_duplicate"):
        wrapper_names._named_parameters_with_duplicates(twice, remove_duplicate=True)


def test_symmetric_memory_of_the_cpu(world):
    name = world.group_name
    for call in (
        lambda: symmetric_memory.empty(3, device="cpu"),
        lambda: symmetric_memory.empty((3, 2), dtype=tl.float32),
        lambda: symmetric_memory.rendezvous(tl.ones(1), name),
        lambda: symmetric_memory._SymmetricMemory.empty_strided_p2p((2,), (1,), tl.float32, "cpu"),
    ):
        with pytest.raises(RuntimeError, match="does not support device type cpu"):
            call()
    with pytest.raises(RuntimeError, match="allocation backend CUDA"):
        symmetric_memory.set_backend("CUDA")
    with pytest.raises(RuntimeError, match="device type cpu"):
        symmetric_memory.get_mem_pool("cpu")
    with pytest.raises(RuntimeError, match="call enable_symm_mem_for_group"):
        symmetric_memory.get_symm_mem_workspace("0", 8)
    assert not symmetric_memory.is_symm_mem_enabled_for_group(name)
    with symmetric_memory._test_mode({name}):
        assert symmetric_memory.is_symm_mem_enabled_for_group(name)
    with pytest.warns(FutureWarning, match="deprecated"):
        symmetric_memory.enable_symm_mem_for_group(name)
    assert symmetric_memory.is_symm_mem_enabled_for_group(name)
    assert symmetric_memory.get_backend("cpu") is None and not symmetric_memory.is_symm_mem_tensor(tl.ones(1))
    t = symmetric_memory.make_contiguous_for_perm(tl.arange(24.0).view(2, 3, 4), [2, 0, 1])
    assert t.permute(2, 0, 1).is_contiguous() and t.tolist() == tl.arange(24.0).view(2, 3, 4).tolist()
    assert symmetric_memory.restride_A_for_fused_matmul_reduce_scatter(t, 1).stride() == (4, 8, 1)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_products_with_collectives(ranks, dim):
    full = tl.arange(24.0).view(4, 6) / 10
    right = tl.arange(12.0).view(6, 2) / 7

    def body(rank):
        name, operators = dist.group.WORLD.group_name, tl.ops.symm_mem
        piece = full.chunk(2, dim)[rank]
        complete, products = operators.fused_all_gather_matmul(piece, [right, right * 2], dim, name)
        assert complete.tolist() == full.tolist()
        assert tl.allclose(products[0], full @ right) and tl.allclose(products[1], full @ right * 2)
        assert operators.fused_all_gather_matmul(piece, [right], dim, name, return_A=False)[0] is None
        scattered = operators.fused_matmul_reduce_scatter(full * (rank + 1), right, "sum", dim, name)
        assert tl.allclose(scattered, (3 * full @ right).chunk(2, dim)[rank])
        rows = operators._low_contention_all_gather(full.chunk(2)[rank], name)
        assert rows.tolist() == full.tolist()
        part = operators._low_contention_reduce_scatter(full, "avg", name)
        assert tl.allclose(part, full.chunk(2)[rank])
        with pytest.raises(ValueError, match="out of range"):
            operators.fused_all_gather_matmul(piece, [right], 2, name)
        with pytest.raises(ValueError, match=r"Bs\[0\] must be a matrix"):
            operators.fused_all_gather_matmul(piece, [right[0]], 0, name)
        with pytest.raises(ValueError, match="sum or avg"):
            operators.fused_matmul_reduce_scatter(full, right, "max", 0, name)
        with pytest.raises(ValueError, match="multiple of the 2 ranks"):
            operators.fused_matmul_reduce_scatter(full[:3], right, "sum", 0, name)

    ranks(2, body)


def test_functions_of_state_dicts(ranks):
    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        full = tl.arange(12.0).view(4, 3)
        state = {
            "a": distribute_tensor(full, mesh, [Shard(0)]),
            "b": [1, None, (tl.ones(2) * rank, "x")],
            "c": tl.ones(()),
        }
        gathered = state_dict_utils._gather_state_dict(state, cpu_offload=True)
        assert gathered["a"].tolist() == full.tolist() and gathered["b"][:2] == [1, None]
        assert gathered["b"][2][0].tolist() == [rank, rank] and gathered["b"][2][1] == "x"
        assert (state_dict_utils._gather_state_dict(state, ranks_only=(1,)) == {}) == (rank == 0)
        assert type(state_dict_utils._offload_state_dict_to_cpu(state)["a"]) is DTensor
        fresh = state_dict_utils._create_cpu_state_dict(state, share_memory=True)
        assert fresh["b"][2][0].is_shared() and type(fresh["a"]) is DTensor
        copy = state_dict_utils._copy_state_dict(state, fresh)
        assert copy["a"] is fresh["a"] and fresh["a"].full_tensor().tolist() == full.tolist()
        assert fresh["b"][2][0].tolist() == [rank, rank] and fresh["c"].item() == 1
        with pytest.raises(state_dict_utils.CompanionMismatch, match="structure"):
            state_dict_utils._copy_state_dict(state, {"a": state["a"]})
        with pytest.raises(ValueError, match="Unexpected value type"):
            state_dict_utils._gather_state_dict({"a": object()})
        assert state_dict_utils._gather_state_dict({"a": {1, 2}}, type_check=False) == {"a": {1, 2}}

    ranks(2, body)
