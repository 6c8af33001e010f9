"""The state of an optimizer under the names of a model's parameters: whole tensors, or distributed ones.

The optimizer of a wrapped model has pieces: of the flat parameters, or of each parameter.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module

from ..collectives.object_collectives import all_gather_object, broadcast_object_list
from ..groups.process_groups import get_global_rank, get_rank, get_world_size
from ..tensor.dtensor import DTensor
from .flat_parameter import FlatEntry, clean_name
from .full_parameters import wrappers_of
from .unit_state import UnitState
from .wrapped_state_dict import cut_tensor

__all__ = ["Names", "named_state", "numbered_state", "rename_parameters"]

_STATE, _GROUPS, _PARAMS = "state", "param_groups", "params"


@dataclass
class _Unit:
    """A flat parameter, with the names of its parameters in the model."""

    state: UnitState
    entries: dict[str, FlatEntry]
    keys: dict[str, Any] = field(default_factory=dict)  # of the optimizer's state, by name

    @property
    def layout(self) -> Any:
        return self.state.layout

    @property
    def is_flat(self) -> bool:
        assert self.state.unit is not None
        return not self.state.unit.keeps_originals


class Names:
    """The parameters of a model: those in flat parameters, and the others.

    Args:
        model: the model.

    Raises:
        AssertionError: the wrappers in it keep parameters in different ways.
    """

    def __init__(self, model: Module):
        self.units: list[_Unit] = []
        self.of_parameter: dict[int, list[str]] = {}
        prefixes = {id(part): f"{name}." if name else "" for name, part in model.named_modules()}
        for wrapper, state in wrappers_of(model):
            if state.unit is None:
                continue
            prefix = clean_name(prefixes[id(wrapper)])
            entries = {clean_name(prefix + entry.names[0]): entry for entry in state.unit.entries}
            self.units.append(_Unit(state, entries))
            if state.unit.keeps_originals:
                for name, entry in entries.items():
                    self.of_parameter[id(entry.parameter)] = [name]
            else:
                self.of_parameter[id(state.unit.flat)] = list(entries)
        if len({unit.is_flat for unit in self.units}) > 1:
            raise AssertionError("Not all FSDP modules have the same _use_orig_params value")
        for name, parameter in model.named_parameters():
            self.of_parameter.setdefault(id(parameter), [clean_name(name)])

    def names_of(self, parameter: Any) -> list[str]:
        """The names of an optimizer's parameter: several for a flat one."""
        if id(parameter) not in self.of_parameter:
            raise RuntimeError(
                f"the optimizer has a parameter of {tuple(parameter.shape)} that the model lacks; an optimizer that is "
                "made before FullyShardedDataParallel has parameters that are no longer the model's: make it "
                "afterwards, or use use_orig_params=True"
            )
        return self.of_parameter[id(parameter)]


def _parameters_of(source: Any, model: Module) -> list[list[Any]]:
    """The parameters of an optimizer in groups; of a list of groups or of parameters, or all of a model."""
    if source is None:
        return [list(model.parameters())]
    if hasattr(source, _GROUPS):
        return [list(group[_PARAMS]) for group in source.param_groups]
    values = list(source)
    if values and isinstance(values[0], dict):
        return [list(group[_PARAMS]) for group in values]
    return [values]


# ---- from an optimizer


def named_state(
    model: Module, source: Any, state_dict: dict[str, Any], is_cut: bool, is_rank0_only: bool
) -> dict[str, Any]:
    """The state of an optimizer under the names of the model's parameters.

    Args:
        model: the model.
        source: the optimizer, or its parameters; None for those of the model.
        state_dict: its state dict.
        is_cut: whether tensors are distributed, rather than whole.
        is_rank0_only: whether the first rank alone gets them.

    Raises:
        RuntimeError: the optimizer has a parameter that isn't the model's.
    """
    names = Names(model)
    saved_groups = state_dict.get(_GROUPS) or _numbered_groups(_parameters_of(source, model))
    by_name: dict[str, Any] = {}  # the entries of the optimizer's state
    groups = []
    for own, saved in zip(_parameters_of(source, model), saved_groups, strict=True):
        group = {key: copy.deepcopy(value) for key, value in saved.items() if key != _PARAMS}
        group[_PARAMS] = []
        for key, parameter in zip(saved[_PARAMS], own, strict=True):
            for name in names.names_of(parameter):
                by_name[name] = state_dict[_STATE].get(key)
                group[_PARAMS].append(name)
        groups.append(group)
    state: dict[str, Any] = {}
    for unit in names.units:
        state.update(_state_of_unit(unit, by_name, is_cut))
    cut = {name for unit in names.units for name in unit.entries}
    for name, value in by_name.items():
        if name not in cut and value is not None:
            state[name] = dict(value)
    own_keys = {key for saved in saved_groups for key in saved[_PARAMS]}
    state.update({key: value for key, value in state_dict[_STATE].items() if key not in own_keys})
    if is_rank0_only and get_rank():
        return {}
    result = {
        _STATE: state,
        _GROUPS: groups,
    }  # all ranks have the same order, whatever that of the optimizer is
    return result if _GROUPS in state_dict else {_STATE: result[_STATE]}


def _numbered_groups(parameters: list[list[Any]]) -> list[dict[str, Any]]:
    """The groups of a state dict that has none: the numbers of the parameters."""
    numbers = itertools.count()
    return [{_PARAMS: [next(numbers) for _ in own]} for own in parameters]


def _state_of_unit(unit: _Unit, by_name: dict[str, Any], is_cut: bool) -> dict[str, Any]:
    """The state of the parameters in a flat parameter; all its ranks call this."""
    flat = unit.state.unit
    assert flat is not None
    own = {name: by_name.get(name) or {} for name in unit.entries}
    kinds = _common_kinds(unit, {name: _kinds(own[name], unit) for name in unit.entries})
    result: dict[str, Any] = {name: {} for name in unit.entries if kinds[name]}
    keys = list(dict.fromkeys(key for name in unit.entries for key in kinds[name]))
    for key in keys:
        dtypes = [kinds[name][key] for name in unit.entries if key in kinds[name]]
        pieces = [kind for kind in dtypes if isinstance(kind, _Piece)]
        if pieces:
            full = flat.gather(_flat_piece(unit, own, key, pieces[0].dtype))
        for name, entry in unit.entries.items():
            kind = kinds[name].get(key)
            if isinstance(kind, _Piece):
                value = entry.view(full)
                value = entry.wrap(value if is_cut else value.clone())
                result[name][key] = cut_tensor(value, unit.layout) if is_cut else value
            elif kind is not None:
                result[name][key] = copy.deepcopy(kind[0])
    return result


@dataclass(frozen=True)
class _Piece:
    """A value of which each rank has a piece."""

    dtype: tl_core.dtype


def _kinds(state: dict[str, Any], unit: _Unit) -> dict[str, Any]:
    """The values of a state by name: pieces, or values that are equal on all ranks, each in a tuple."""
    return {
        key: _Piece(value.dtype) if isinstance(value, Tensor) and value.dim() > 0 else (value,)
        for key, value in state.items()
    }


def _common_kinds(unit: _Unit, own: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What any rank has: a rank without elements of a parameter may have no state of it.

    Raises:
        RuntimeError: a rank with elements has none. Its elements of the whole state would be zeros.
    """
    flat, group = unit.state.unit, unit.layout.shard_group
    assert flat is not None
    if unit.layout.shard_size == 1:
        return own
    counts = {name: 1 if unit.is_flat else flat.part(entry).numel() for name, entry in unit.entries.items()}
    rows: list[Any] = [None] * unit.layout.shard_size
    all_gather_object(rows, (own, counts), group=group)
    result: dict[str, dict[str, Any]] = {name: {} for name in own}
    for row, _ in rows:
        for name, kinds in row.items():
            for key, kind in kinds.items():
                result[name].setdefault(key, kind)
    for rank, (row, counts) in enumerate(rows):
        if missing := [name for name in result if result[name] and counts[name] and not row[name]]:
            raise RuntimeError(
                "FSDP currently requires each rank to have at least the optimizer states needed by rank 0's optimizer "
                f"but some ranks are missing some of those states: rank {rank} of the group has none of {missing}"
            )
    return result


def _flat_piece(unit: _Unit, own: dict[str, Any], key: str, dtype: tl_core.dtype) -> Tensor:
    """A value of this rank's piece of the flat parameter; zeros where it has none."""
    flat = unit.state.unit
    assert flat is not None
    if unit.is_flat:
        value = next((state[key] for state in own.values() if key in state), None)
        if value is not None:
            return value.detach()
    piece = tl_core.zeros(flat.padded_numel, dtype=dtype)
    for name, entry in unit.entries.items():
        if not unit.is_flat and key in own[name] and own[name][key].numel():
            flat.part(entry, piece).copy_(own[name][key].detach())
    return piece


# ---- to an optimizer


def numbered_state(
    model: Module, source: Any, named: dict[str, Any] | None, is_named: bool, sender: Any = None
) -> dict[str, Any]:
    """The state dict that an optimizer of a wrapped model can load.

    Args:
        model: the model.
        source: the optimizer, or its parameters; None for those of the model.
        named: the state under the names of parameters, whole or distributed.
        is_named: whether the optimizer names its parameters.
        sender: the group whose first rank alone has the state; None if all have it.

    Raises:
        RuntimeError: a state has another size than its parameter.
        ValueError: values that a flat parameter shares differ.
    """
    names = Names(model)
    if sender is not None:
        named = _receive(named, sender)
    assert named is not None
    state: dict[Any, Any] = {}
    groups: list[dict[str, Any]] = []
    values = dict(_pieces(names, named[_STATE]))
    number = 0
    for own in _parameters_of(source, model):
        group_names = [name for parameter in own for name in names.names_of(parameter)]
        group = _group_of(group_names, named[_GROUPS]) if _GROUPS in named else {_PARAMS: group_names}
        saved_names = set(group.pop(_PARAMS))
        keys = []
        for parameter in own:
            key: Any = names.names_of(parameter)[0] if is_named else number
            value = values.get(id(parameter))
            if value is None:
                value = (
                    named[_STATE].get(names.names_of(parameter)[0]) if id(parameter) not in values else None
                )
            if value is not None:
                state[key] = value
            if saved_names & set(names.names_of(parameter)):
                keys.append(key)
            number += 1
        groups.append({**group, _PARAMS: keys})
    own_keys = set(names_in(names))
    state.update({key: value for key, value in named[_STATE].items() if key not in own_keys})
    return {_STATE: state, _GROUPS: groups} if _GROUPS in named else {_STATE: state}


def names_in(names: Names) -> Iterator[str]:
    """All names of parameters.

    Args:
        names: the parameters of a model.
    """
    for several in names.of_parameter.values():
        yield from several


def _group_of(own: list[str], groups: list[dict[str, Any]]) -> dict[str, Any]:
    """The saved group with a group's parameters."""
    for saved in groups:
        if set(own) & set(saved[_PARAMS]) or (not own and not saved[_PARAMS]):
            return copy.deepcopy(saved)
    raise ValueError(f"the state dict has no parameter group with {', '.join(own[:3])}")


def _pieces(names: Names, state: dict[str, Any]) -> Iterator[tuple[int, Any]]:
    """This rank's pieces of the state, by the identity of the optimizer's parameter; None for no state."""
    for unit in names.units:
        flat = unit.state.unit
        assert flat is not None
        if not unit.is_flat:
            for name, entry in unit.entries.items():
                has_elements = entry.end > entry.start
                value = _local_values(name, entry, state.get(name))
                yield id(entry.parameter), _own_pieces(entry, value, unit) if has_elements else None
            continue
        saved = {name: _local_values(name, entry, state.get(name)) for name, entry in unit.entries.items()}
        yield id(flat.flat), _flat_state(unit, saved)


def _local_values(name: str, entry: FlatEntry, value: Any) -> Any:
    """A parameter's state with this rank's part of it in place of whole and distributed tensors.

    Raises:
        RuntimeError: a tensor has another size than the parameter.
    """
    if value is None:
        return None
    result = {}
    for key, each in value.items():
        if isinstance(each, Tensor) and each.dim() > 0:
            if each.shape != entry.whole_shape:
                raise RuntimeError(
                    f"the state {key!r} of {name} has the size {tuple(each.shape)}, the parameter "
                    f"{tuple(entry.whole_shape)}"
                )
            each = entry.unwrap(each)
        result[key] = each.full_tensor().detach() if isinstance(each, DTensor) else each
    return result


def _own_pieces(entry: FlatEntry, value: Any, unit: _Unit) -> Any:
    if value is None:
        return None
    pieces = {}
    for key, each in value.items():
        if isinstance(each, Tensor) and each.dim() > 0:
            part = entry.local_part(each).clone()
            pieces[key] = part.view(entry.shape) if unit.layout.shard_size == 1 else part
        else:
            pieces[key] = copy.deepcopy(each)
    return pieces


def _flat_state(unit: _Unit, saved: dict[str, Any]) -> Any:
    """The state of a flat parameter's piece."""
    flat = unit.state.unit
    assert flat is not None
    present = {name: value for name, value in saved.items() if value}
    if not present:
        return None
    result: dict[str, Any] = {}
    for key in dict.fromkeys(key for value in present.values() for key in value):
        values = {name: value[key] for name, value in present.items() if key in value}
        first = next(iter(values.values()))
        if not isinstance(first, Tensor) or first.dim() == 0:
            _check_equal(key, values, list(saved))
            result[key] = copy.deepcopy(first)
            continue
        piece = tl_core.zeros(flat.padded_numel, dtype=first.dtype)
        for name, value in values.items():
            entry = unit.entries[name]
            piece[entry.start : entry.end] = entry.local_part(value)
        result[key] = piece
    return result


def _check_equal(key: str, values: dict[str, Any], names: list[str]) -> None:
    first = next(iter(values.values()))
    for name in names:
        value = values.get(name)
        if name not in values or (value is not first and not bool(value == first)):
            raise ValueError(
                "All unflattened parameters comprising a single flat parameter must have scalar state with the "
                f"same value and dtype: {key!r} of {name} is {value}, of {next(iter(values))} {first}"
            )


def _receive(named: dict[str, Any] | None, group: Any) -> dict[str, Any]:
    """The state of the first rank, entry by entry."""
    root = get_global_rank(group, 0)
    is_root = get_rank(group) == 0
    if get_world_size(group) == 1 or (is_root and named is None):
        assert named is not None, "the first rank must have the state"
        return named
    keys: list[Any] = (
        [list(named[_STATE]), named.get(_GROUPS)] if is_root and named is not None else [None, None]
    )
    broadcast_object_list(keys, root, group)
    state = {}
    for key in keys[0]:
        entry = [named[_STATE][key]] if is_root and named is not None else [None]
        broadcast_object_list(entry, root, group)
        state[key] = entry[0]
    return {_STATE: state} if keys[1] is None else {_STATE: state, _GROUPS: keys[1]}


# ---- names and numbers


def rename_parameters(
    state_dict: dict[str, Any], to_names: bool, source: Any, model: Module
) -> dict[str, Any]:
    """A state dict with names of parameters in place of numbers, or numbers in place of names.

    Args:
        state_dict: the state dict.
        to_names: whether it gets names.
        source: the optimizer, or its parameters; None for those of the model.
        model: the model.

    Raises:
        ValueError: it has names and numbers, or a parameter isn't the model's.
    """
    keys = [key for group in state_dict[_GROUPS] for key in group[_PARAMS]]
    if len({isinstance(key, str) for key in keys}) > 1:
        raise ValueError("Invalid optimizer state dict: its parameters have names and numbers")
    if not keys or isinstance(keys[0], str) == to_names:
        return state_dict
    names = Names(model)
    ordered = [
        name
        for own in _parameters_of(source, model)
        for parameter in own
        for name in names.names_of(parameter)
    ]
    table: dict[Any, Any] = dict(enumerate(ordered))
    if not to_names:
        table = {name: number for number, name in table.items()}
    missing = [key for key in keys if key not in table]
    if missing:
        raise ValueError(f"the model has no parameters {', '.join(map(str, missing[:5]))}")
    return {
        _STATE: {table.get(key, key): value for key, value in state_dict[_STATE].items()},
        _GROUPS: [_rename_group(group, table, to_names) for group in state_dict[_GROUPS]],
    }


def _rename_group(group: dict[str, Any], table: dict[Any, Any], to_names: bool) -> dict[str, Any]:
    options = {key: copy.deepcopy(value) for key, value in group.items() if key != _PARAMS}
    keys = [table[key] for key in group[_PARAMS]]
    return {**options, _PARAMS: keys if to_names else sorted(keys)}
