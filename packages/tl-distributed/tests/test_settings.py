"""Settings of sharded training and of workers: their defaults are PyTorch's."""

from __future__ import annotations

import dataclasses

import pytest

import tl_core as tl
import tl_nn as nn
from tl_distributed import fsdp
from tl_distributed.base.numa import AffinityMode, NumaOptions
from tl_distributed.fsdp import api
from tl_distributed.fsdp.fully_shard import UnshardHandle, register_fsdp_forward_method
from tl_distributed.fsdp.fully_sharded_data_parallel import FlatParameter


@pytest.mark.parametrize(
    ("kind", "members"),
    [
        (api.ShardingStrategy, "FULL_SHARD SHARD_GRAD_OP NO_SHARD HYBRID_SHARD _HYBRID_SHARD_ZERO2"),
        (api.BackwardPrefetch, "BACKWARD_PRE BACKWARD_POST"),
        (api.StateDictType, "FULL_STATE_DICT LOCAL_STATE_DICT SHARDED_STATE_DICT"),
        (api.OptimStateKeyType, "PARAM_NAME PARAM_ID"),
    ],
)
def test_enumerations_count_from_one(kind, members):
    assert {member.name: member.value for member in kind} == {
        name: number for number, name in enumerate(members.split(), 1)
    }


@pytest.mark.parametrize(
    ("kind", "defaults"),
    [
        (api.CPUOffload, {"offload_params": False}),
        (api.StateDictConfig, {"offload_to_cpu": False}),
        (api.FullStateDictConfig, {"offload_to_cpu": False, "rank0_only": False}),
        (api.LocalStateDictConfig, {"offload_to_cpu": False}),
        (api.ShardedStateDictConfig, {"offload_to_cpu": False, "_use_dtensor": False}),
        (api.OptimStateDictConfig, {"offload_to_cpu": True}),
        (api.LocalOptimStateDictConfig, {"offload_to_cpu": False}),
        (api.ShardedOptimStateDictConfig, {"offload_to_cpu": True, "_use_dtensor": False}),
        (api.OffloadPolicy, {}),
        (api.CPUOffloadPolicy, {"pin_memory": True}),
        (
            api.MixedPrecisionPolicy,
            {"param_dtype": None, "reduce_dtype": None, "output_dtype": None, "cast_forward_inputs": True},
        ),
    ],
)
def test_defaults(kind, defaults):
    assert dataclasses.asdict(kind()) == defaults


def test_settings_of_state_dicts_are_stored_as_they_are():
    parts = api.StateDictType.FULL_STATE_DICT, api.FullStateDictConfig(True, True), api.OptimStateDictConfig()
    settings = api.StateDictSettings(*parts)
    assert (settings.state_dict_type, settings.state_dict_config, settings.optim_state_dict_config) == parts
    with pytest.raises(dataclasses.FrozenInstanceError):
        api.MixedPrecisionPolicy().param_dtype = tl.bfloat16


def test_plain_modules_are_not_sharded():
    layer = nn.Linear(2, 2)
    register_fsdp_forward_method(layer, "forward")
    assert not isinstance(layer, fsdp.FSDPModule)
    assert not any(isinstance(parameter, FlatParameter) for parameter in layer.parameters())
    UnshardHandle().wait()  # a handle without a group waits for nothing


def test_bindings_to_processors():
    assert [mode.value for mode in AffinityMode] == ["node", "socket", "exclusive", "core-complex"]
    assert NumaOptions(AffinityMode.SOCKET, True).should_fall_back_if_binding_fails
    assert NumaOptions(AffinityMode.NODE) == NumaOptions(AffinityMode.NODE, False)
