"""The state dicts of wrapped modules: whole parameters, distributed tensors, or flat pieces."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module

from ..tensor.dtensor import DTensor
from ..tensor.dtensor_spec import DTensorSpec, TensorMeta
from ..tensor.placement_types import Placement, Replicate, Shard
from .api import (
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .flat_parameter import FLAT_PARAMETER, WRAPPED_MODULE
from .full_parameters import wrappers_of
from .mesh_layout import MeshLayout, contiguous_meta
from .unit_state import UnitState, unit_state_of

__all__ = ["change_settings", "check_mesh", "cut_tensor", "register_state_dict_hooks", "settings_of"]

_PREFIX = f"{WRAPPED_MODULE}."
_CONFIGS: dict[StateDictType, tuple[type[StateDictConfig], type[OptimStateDictConfig]]] = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
}


# ---- settings


def change_settings(
    module: Module,
    kind: StateDictType,
    config: StateDictConfig | None,
    optim_config: OptimStateDictConfig | None,
) -> StateDictSettings:
    """Sets the contents of state dicts; returns the former settings.

    Args:
        module: the model.
        kind: the contents.
        config: their settings; None for the defaults.
        optim_config: the settings of an optimizer's state dicts; None for the defaults.

    Raises:
        RuntimeError: the settings are those of other contents.
        AssertionError: the wrappers in the model have different settings.
    """
    kinds = _CONFIGS[kind]
    config = kinds[0]() if config is None else config
    optim_config = kinds[1]() if optim_config is None else optim_config
    if type(config) is not kinds[0]:
        raise RuntimeError(f"Expected state_dict_config of type {kinds[0]} but got {type(config)}")
    if type(optim_config) is not kinds[1]:
        raise RuntimeError(
            f"Expected optim_state_dict_config of type {kinds[1]} but got {type(optim_config)}"
        )
    former = _common_settings(module, "All FSDP modules should have the same state_dict_type.")
    for _, state in wrappers_of(module):
        state.settings = StateDictSettings(kind, config, optim_config)
    return former or StateDictSettings(
        StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig()
    )


def settings_of(module: Module) -> StateDictSettings:
    """The settings of the wrappers in a model.

    Args:
        module: the model.

    Raises:
        AssertionError: they differ.
    """
    settings = _common_settings(module, "All FSDP modules must have the same state dict settings.")
    return settings or StateDictSettings(
        StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig()
    )


def restore_settings(module: Module, settings: StateDictSettings) -> None:
    """Sets settings that `change_settings` returned.

    Args:
        module: the model.
        settings: the settings.
    """
    for _, state in wrappers_of(module):
        state.settings = settings


def _common_settings(module: Module, message: str) -> StateDictSettings | None:
    common: StateDictSettings | None = None
    for _, state in wrappers_of(module):
        if common is not None and common != state.settings:
            raise AssertionError(f"{message} Got {state.settings} and {common}.")
        common = state.settings
    return common


# ---- pieces of tensors


def cut_tensor(value: Tensor, layout: MeshLayout) -> Any:
    """A distributed tensor of which this rank has its piece of a whole one, or of its part of a distributed one.

    Args:
        value: the tensor.
        layout: the ranks.
    """
    placement: Placement = Shard(0) if value.dim() else Replicate()
    tensor_spec = value._spec if isinstance(value, DTensor) else None
    own: Tensor = value._local_tensor if isinstance(value, DTensor) else value.detach()
    if isinstance(placement, Shard):
        own = placement.piece(own, layout.shard_size, layout.shard_rank)
    meta = contiguous_meta(value.shape, value.dtype)
    spec = layout.spec_of_piece(meta, placement, tensor_spec)
    return DTensor(own.clone(), spec, requires_grad=False)


# ---- hooks


def register_state_dict_hooks(wrapper: Module) -> None:
    """Lets the state dict of a wrapper be that of its module.

    Args:
        wrapper: the wrapper.
    """
    wrapper.register_state_dict_pre_hook(_before_saving)
    wrapper._register_state_dict_hook(_after_saving)
    wrapper.register_load_state_dict_pre_hook(_before_loading)
    wrapper.register_load_state_dict_post_hook(_after_loading)


def _before_saving(wrapper: Module, prefix: str, keep_vars: bool) -> None:
    state = _state(wrapper)
    kind = state.settings.state_dict_type
    _check_kind(state, kind, "")
    check_mesh(state)
    state.has_shown = False
    if kind is not StateDictType.LOCAL_STATE_DICT and state.unit is not None and not state.is_shown:
        state.group.reshard()
        state.unit.show_full()
        state.has_shown = True


def _check_kind(state: UnitState, kind: StateDictType, verb: str) -> None:
    is_cut = state.unit is None or not state.unit.is_replica or state.layout.mesh.size() == 1
    if kind is StateDictType.FULL_STATE_DICT or is_cut:
        return
    name = "local" if kind is StateDictType.LOCAL_STATE_DICT else "sharded"
    raise RuntimeError(
        f"``{verb}{name}_state_dict`` can only be used when parameters are flatten and sharded."
    )


def check_mesh(state: UnitState) -> None:
    """Notes that state dicts have distributed tensors, where a program has named a mesh.

    Args:
        state: the state of a wrapper.

    Raises:
        RuntimeError: the state dicts have flat pieces.
    """
    if not state.layout.is_user_mesh:
        return
    settings = state.settings
    if settings.state_dict_type is StateDictType.LOCAL_STATE_DICT:
        raise RuntimeError(
            "DeviceMesh is not compatible with LOCAL_STATE_DICT. Set SHARDED_STATE_DICT to get distributed tensors."
        )
    if settings.state_dict_type is StateDictType.SHARDED_STATE_DICT:
        settings.state_dict_config._use_dtensor = True  # type: ignore[attr-defined]  # of sharded contents
        settings.optim_state_dict_config._use_dtensor = True  # type: ignore[attr-defined]


def _after_saving(wrapper: Module, state_dict: Any, prefix: str, metadata: Any) -> Any:
    state = _state(wrapper)
    kind, config = state.settings.state_dict_type, state.settings.state_dict_config
    unit = state.unit
    own = {} if unit is None else {name: entry for entry in unit.entries for name in entry.names}
    start = prefix + _PREFIX
    is_hidden = kind is StateDictType.FULL_STATE_DICT and getattr(config, "rank0_only", False)
    is_hidden = is_hidden and state.layout.mesh.get_rank() != int(state.layout.mesh.mesh.reshape(-1)[0])
    copies: dict[int, Any] = {}
    for key in [key for key in state_dict if key.startswith(start)]:
        value = state_dict.pop(key)
        name = key.removeprefix(start)
        if is_hidden:
            continue
        if kind is StateDictType.LOCAL_STATE_DICT:
            if name in own:
                continue
            if name == FLAT_PARAMETER:
                name, value = name, None
        elif name in own:
            entry = own[name]
            if id(entry) not in copies:
                full = value.detach()
                is_full = kind is StateDictType.FULL_STATE_DICT
                copies[id(entry)] = full.clone() if is_full else cut_tensor(full, state.layout)
            value = copies[id(entry)]
        if value is not None:
            state_dict[prefix + name] = value
    if not is_hidden and kind is not StateDictType.LOCAL_STATE_DICT:
        _restore_buffers(wrapper, state, state_dict, prefix)
    if kind is StateDictType.LOCAL_STATE_DICT and unit is not None:
        state_dict[prefix + FLAT_PARAMETER] = _local_piece(state)
    if state.has_shown:
        assert unit is not None
        unit.hide_full(False)
        state.has_shown = False
    return state_dict


def _restore_buffers(wrapper: Module, state: UnitState, state_dict: Any, prefix: str) -> None:
    """Saves buffers in the types that they had before the first forward pass."""
    if not state.buffer_dtypes:
        return
    names = {id(module): name for name, module in getattr(wrapper, WRAPPED_MODULE).named_modules()}
    for (module, name), dtype in state.buffer_dtypes.items():
        if id(module) in names:
            key = prefix + ".".join(part for part in (names[id(module)], name) if part).replace(_PREFIX, "")
            if key in state_dict:
                state_dict[key] = state_dict[key].to(dtype)


def _local_piece(state: UnitState) -> Any:
    """The flat parameter as a distributed tensor, without the elements that fill the last pieces up."""
    unit = state.unit
    assert unit is not None
    meta = TensorMeta(tl_core.Size([unit.numel]), (1,), unit.dtype)
    copies: list[Placement] = [Replicate()] * state.layout.shard_dim
    spec = DTensorSpec(state.layout.mesh, (*copies, Shard(0)), meta)
    return DTensor(unit.flat.detach()[: _local_numel(state)].clone(), spec, requires_grad=False)


def _local_numel(state: UnitState) -> int:
    unit = state.unit
    assert unit is not None
    return min(max(unit.numel - unit.rank * unit.padded_numel, 0), unit.padded_numel)


def _before_loading(wrapper: Module, state_dict: Any, prefix: str, *_: Any) -> None:
    state = _state(wrapper)
    kind = state.settings.state_dict_type
    _check_kind(state, kind, "load_")
    check_mesh(state)
    for key in [key for key in state_dict if key.startswith(prefix)]:
        name = key.removeprefix(prefix)
        if not name.startswith(_PREFIX):
            state_dict[prefix + _PREFIX + name] = state_dict.pop(key)
    state.has_shown = False
    if state.unit is None:
        return
    if kind is StateDictType.LOCAL_STATE_DICT:
        _load_local_piece(state, state_dict, prefix + _PREFIX)
        return
    for entry in state.unit.entries:
        for name in entry.names:
            value = state_dict.get(prefix + _PREFIX + name)
            if isinstance(value, DTensor) or (entry.spec is not None and isinstance(value, Tensor)):
                state_dict[prefix + _PREFIX + name] = entry.wrap(entry.unwrap(value))
    if not state.is_shown:
        state.group.reshard()
        state.unit.show_full()
        state.has_shown = True


def _load_local_piece(state: UnitState, state_dict: Any, start: str) -> None:
    """Replaces the distributed flat parameter by what the modules have."""
    unit, key = state.unit, start + FLAT_PARAMETER
    assert unit is not None
    value = state_dict.get(key)
    if value is None:
        raise AssertionError(
            "No `FlatParameter` in `state_dict` for this FSDP instance but it has parameters"
        )
    if not isinstance(value, DTensor):
        raise AssertionError("Tensors in local_state_dict should be DTensors.")
    local = value.to_local()
    if local.numel() != _local_numel(state):
        raise AssertionError(
            f"Local shard size = {_local_numel(state)} and the tensor in the state_dict is {local.numel()}."
        )
    state.group.reshard()
    with tl_core.no_grad():
        unit.flat.detach()[: local.numel()].copy_(local)
    del state_dict[key]
    if unit.keeps_originals:
        for entry in unit.entries:
            for name in entry.names:
                state_dict[start + name] = unit.part(entry)
    else:
        state_dict[key] = unit.flat.detach()


def _after_loading(wrapper: Module, incompatible: Any) -> None:
    state = _state(wrapper)
    if state.has_shown:
        assert state.unit is not None
        state.unit.hide_full(True)
        state.has_shown = False
    for keys in incompatible:
        keys[:] = [key.replace(_PREFIX, "") for key in keys]


def _state(wrapper: Module) -> UnitState:
    state = unit_state_of(wrapper)
    assert state is not None
    return state


@contextlib.contextmanager
def settings_block(
    module: Module,
    kind: StateDictType,
    config: StateDictConfig | None,
    optim_config: OptimStateDictConfig | None,
) -> Iterator[None]:
    """A block with other settings.

    Args:
        module: the model.
        kind: the contents of state dicts.
        config: their settings.
        optim_config: the settings of an optimizer's state dicts.
    """
    former = change_settings(module, kind, config, optim_config)
    try:
        yield
    finally:
        restore_settings(module, former)
