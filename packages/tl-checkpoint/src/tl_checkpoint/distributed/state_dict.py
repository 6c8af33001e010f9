"""State dicts of models and optimizers under the names of parameters, for any wrapper of the model.

An optimizer numbers its parameters, so its state fits only an optimizer with parameters in the same order. Under the
parameters' names it fits any.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import tl_core
from tl_core.base.ranks import current

from .coordinator import ranks_of
from .flatten import flatten_state_dict, unflatten_state_dict
from .metadata import MetadataIndex
from .planner_helpers import create_chunk_list
from .utils import find_tensor_shard
from .wrapped_names import WrappedNames, own_method

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]

_PARAMS, _STATE, _GROUPS = "params", "state", "param_groups"


class _IncompatibleKeys(NamedTuple):
    """The names that a state lacks, and those that a model lacks."""

    missing_keys: list[str]
    unexpected_keys: list[str]


@dataclass
class StateDictOptions:
    """Options of the functions of this module.

    Args:
        full_state_dict (bool): Whether distributed tensors are gathered, and set from full tensors.
        cpu_offload (bool): Whether tensors are copied to the CPU; with `full_state_dict` only the first rank gets any.
        ignore_frozen_params (bool): Whether to skip parameters without `requires_grad`.
        keep_submodule_prefixes (bool): With `submodules`: whether names are relative to the model, or to the submodule.
        strict (bool): Whether all names must agree when a state is set.
        broadcast_from_rank0 (bool): Whether rank 0 sends its state to the others; needs `full_state_dict`.
        flatten_optimizer_state_dict (bool): Whether an optimizer's state is one dict of names such as
            "state.layer.weight.exp_avg".
        dsd_fqn_modifiers: the name of a module's method that changes the names of its entries.

    Example:
        >>> StateDictOptions(full_state_dict=True).full_state_dict
        True
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = field(default="_fqn_modifiers", repr=False)

    def __post_init__(self) -> None:
        if self.broadcast_from_rank0 and not self.full_state_dict:
            raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")


def get_model_state_dict(
    model: Any, *, submodules: set[Any] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of a model under the names of its parameters and buffers.

    Args:
        model (Module): The model.
        submodules (set of Module, optional): Deprecated: only the state of these.
        options (StateDictOptions, optional): The options; None for the defaults.

    Example:
        >>> import tl_nn
        >>> model = tl_nn.Linear(2, 1)
        >>> optimizer = tl_nn.optim.SGD(model.parameters(), lr=0.1)
        >>> sorted(get_model_state_dict(model))
        ['bias', 'weight']
    """
    options = options or StateDictOptions()
    with _contents(model, options):
        state = WrappedNames(model).shorten_keys(own_method(model, "state_dict")())
    for name in _left_out(model, options):
        state.pop(name, None)
    if submodules:
        state = _of_submodules(model, state, submodules, options.keep_submodule_prefixes)
    return _apply_options(state, options)


def get_optimizer_state_dict(
    model: Any,
    optimizers: Any,
    *,
    submodules: set[Any] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The state of optimizers under the names of a model's parameters.

    An optimizer without a state makes it first, so that a checkpoint can be loaded into it.

    Args:
        model (Module): The model.
        optimizers (Optimizer, or several): The optimizers of its parameters.
        submodules (set of Module, optional): Deprecated: only what belongs to the parameters of these.
        options (StateDictOptions, optional): The options; None for the defaults.

    Raises:
        RuntimeError: If an optimizer has a parameter that isn't the model's.

    Example:
        >>> import tl_nn
        >>> model = tl_nn.Linear(2, 1)
        >>> optimizer = tl_nn.optim.SGD(model.parameters(), lr=0.1)
        >>> get_optimizer_state_dict(model, optimizer)["param_groups"][0]["params"]
        ['weight', 'bias']
    """
    options = options or StateDictOptions()
    names = _names(model)
    selection = _kept_names(model, submodules, options)
    merged: dict[str, Any] = {_STATE: {}, _GROUPS: []}
    for optimizer in _several(optimizers):
        _make_state(optimizer)
        part = _state_of(model, optimizer, names, selection, options)
        merged[_STATE].update(part[_STATE])
        merged[_GROUPS] += part[_GROUPS]
    if options.flatten_optimizer_state_dict:
        merged = _flat(merged)
    return _apply_options(merged, options)


def get_state_dict(
    model: Any,
    optimizers: Any,
    *,
    submodules: set[Any] | None = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of a model and of its optimizers: `get_model_state_dict` and `get_optimizer_state_dict`.

    Args:
        model: the module, possibly wrapped.
        optimizers: its optimizer, or several.
        submodules: restricts the state to the parameters of these modules.
        options: the options; None for the defaults.

    Example:
        >>> import tl                                                               # doctest: +SKIP
        >>> model = tl.nn.Linear(2, 2)                                              # doctest: +SKIP
        >>> states = get_state_dict(model, tl.optim.Adam(model.parameters()))       # doctest: +SKIP
        >>> states[1]["state"]["weight"]["step"]                                    # doctest: +SKIP
        tensor(0.)
    """
    model_state = get_model_state_dict(model, submodules=submodules, options=options)
    return model_state, get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options)


def set_model_state_dict(
    model: Any, model_state_dict: dict[Any, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Load a state of `get_model_state_dict`.

    Args:
        model (Module): The model.
        model_state_dict (dict): The state; or states of submodules, by submodule. An empty one changes nothing.
        options (StateDictOptions, optional): The options; None for the defaults.

    Returns:
        NamedTuple: `missing_keys` and `unexpected_keys`.

    Example:
        >>> import tl_nn
        >>> model = tl_nn.Linear(2, 1)
        >>> optimizer = tl_nn.optim.SGD(model.parameters(), lr=0.1)
        >>> set_model_state_dict(model, get_model_state_dict(model))
        <All keys matched successfully>
    """
    options = options or StateDictOptions()
    if not model_state_dict and not options.broadcast_from_rank0:
        return _IncompatibleKeys([], [])
    state = _join(model, model_state_dict)
    if options.full_state_dict:
        state = _as_everywhere(state, options)
        if _wrapper_of(model) is None:
            state = _in_pieces(state, WrappedNames(model).shorten_keys(own_method(model, "state_dict")()))
    left_out = _left_out(model, options)
    names = WrappedNames(model)
    with _contents(model, options):
        if left_out:
            own = {
                name: value
                for name, value in names.shorten_keys(own_method(model, "state_dict")()).items()
                if name in left_out
            }
            state = {**own, **state}
        return own_method(model, "load_state_dict")(names.restore_keys(state, model), strict=options.strict)


def set_optimizer_state_dict(
    model: Any,
    optimizers: Any,
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Load a state of `get_optimizer_state_dict`. Call it before `backward` or after `step`.

    Args:
        model (Module): The model.
        optimizers (Optimizer, or several): The optimizers of its parameters.
        optim_state_dict (dict): The state, flat or not.
        options (StateDictOptions, optional): The options; None for the defaults.

    Raises:
        ValueError: If the groups of parameters differ.
        RuntimeError: If the state of a parameter is missing, and `strict` is set.

    Example:
        >>> import tl_nn
        >>> model = tl_nn.Linear(2, 1)
        >>> optimizer = tl_nn.optim.SGD(model.parameters(), lr=0.1)
        >>> state = get_optimizer_state_dict(model, optimizer)
        >>> set_optimizer_state_dict(model, optimizer, state)
    """
    options = options or StateDictOptions()
    names = _names(model)
    several = _several(optimizers)
    optim_state_dict = _as_everywhere(optim_state_dict, options)
    if _GROUPS not in optim_state_dict:
        optim_state_dict = _unflat(optim_state_dict, several, names)
    count = sum(len(optimizer.param_groups) for optimizer in several)
    if len(optim_state_dict[_GROUPS]) != count:
        raise ValueError(
            f"loaded state dict has a different number of parameter groups: "
            f"{len(optim_state_dict[_GROUPS])}, the optimizers have {count}"
        )
    wrapper = _wrapper_of(model)
    for optimizer in several:
        _make_state(optimizer)
        named = optim_state_dict
        if wrapper is not None:
            with _contents(model, options):
                own_method(optimizer, "load_state_dict")(
                    wrapper.optim_state_dict_to_load(model, optimizer, named)
                )
            continue
        if options.full_state_dict:
            own = _by_name(optimizer, names, {name for several in names.values() for name in several})
            named = {**named, _STATE: _in_pieces(named[_STATE], own[_STATE])}
        own_method(optimizer, "load_state_dict")(_by_number(optimizer, named, names, options.strict))


def set_state_dict(
    model: Any,
    optimizers: Any,
    *,
    model_state_dict: dict[Any, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Load the states of `get_state_dict`: `set_model_state_dict` and `set_optimizer_state_dict`.

    Args:
        model: the module, possibly wrapped.
        optimizers: its optimizer, or several.
        model_state_dict: the state of the model by name.
        optim_state_dict: the state of the optimizers, flat or not.
        options: the options; None for the defaults.

    Example:
        >>> import tl_nn
        >>> model = tl_nn.Linear(2, 1)
        >>> optimizer = tl_nn.optim.SGD(model.parameters(), lr=0.1)
        >>> of_model, of_optimizer = get_state_dict(model, optimizer)
        >>> set_state_dict(model, optimizer, model_state_dict=of_model, optim_state_dict=of_optimizer)
        <All keys matched successfully>
    """
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)


# ---- wrappers whose module's parameters are cut


def _wrapper_of(model: Any) -> Any:
    """The class of a wrapper in a model that says itself what its state dicts hold; None without one."""
    modules = model.named_modules() if hasattr(model, "named_modules") else ()
    return next((type(m) for _, m in modules if hasattr(type(m), "__state_dict_contents__")), None)


def _contents(model: Any, options: StateDictOptions) -> Any:
    """A block in which the state dicts of wrappers have whole tensors, or distributed ones."""
    wrapper = _wrapper_of(model)
    if wrapper is None:
        return contextlib.nullcontext()
    return wrapper.__state_dict_contents__(model, options.full_state_dict)


def _state_of(
    model: Any, optimizer: Any, names: dict[int, list[str]], selection: set[str], options: StateDictOptions
) -> dict[str, Any]:
    """The state of an optimizer under the names of some parameters."""
    wrapper = _wrapper_of(model)
    if wrapper is None:
        return _by_name(optimizer, names, selection)
    with _contents(model, options):
        part = wrapper.optim_state_dict(model, optimizer, own_method(optimizer, "state_dict")())
    groups = [{**group, _PARAMS: [n for n in group[_PARAMS] if n in selection]} for group in part[_GROUPS]]
    return {_STATE: {n: v for n, v in part[_STATE].items() if n in selection}, _GROUPS: groups}


# ---- models


def _left_out(model: Any, options: StateDictOptions) -> set[str]:
    if not options.ignore_frozen_params:
        return set()
    names = _names(model)
    return {n for _, p in model.named_parameters() if not p.requires_grad for n in names[id(p)]}


def _prefixes(model: Any, submodules: Iterable[Any]) -> list[str]:
    modules = set(submodules)
    shorten = WrappedNames(model).shorten
    return [
        shorten(f"{name}.") if name else "" for name, module in model.named_modules() if module in modules
    ]


def _of_submodules(model: Any, state: dict[str, Any], submodules: set[Any], keep: bool) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for prefix in _prefixes(model, submodules):
        for name, value in state.items():
            if name.startswith(prefix):
                entries[name if keep else name.removeprefix(prefix)] = value
    return entries


def _join(model: Any, state: dict[Any, Any]) -> dict[str, Any]:
    if not state or isinstance(next(iter(state)), str):
        return state
    joined: dict[str, Any] = {}
    for submodule, part in state.items():
        for prefix in _prefixes(model, [submodule]):
            joined.update({prefix + name: value for name, value in part.items()})
    return joined


# ---- distributed tensors


def _apply_options(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """A state with full tensors, and on the CPU, by the options."""
    if options.full_state_dict:
        state = _map_tensors(state, _full_tensor)
    if not options.cpu_offload:
        return state
    rank, _ = current() or (0, 1)
    return (
        {} if options.full_state_dict and rank else _map_tensors(state, lambda tensor: tensor.detach().cpu())
    )


def _map_tensors(value: Any, change: Callable[[Any], Any]) -> Any:
    """A nested state with a function applied to all tensors, by the order of the names.

    Ranks may have the entries in different orders, and the function may communicate.
    """
    if isinstance(value, tl_core.Tensor):
        return change(value)
    if isinstance(value, dict):
        results = {key: _map_tensors(value[key], change) for key in sorted(value, key=str)}
        return {key: results[key] for key in value}
    if type(value) in (list, tuple):
        return type(value)(_map_tensors(entry, change) for entry in value)
    return value


def _full_tensor(tensor: Any) -> Any:
    return tensor.detach().full_tensor() if hasattr(tensor, "full_tensor") else tensor


def _as_everywhere(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """With `broadcast_from_rank0` the state of rank 0, sent entry by entry; else the state."""
    if not options.broadcast_from_rank0:
        return state
    ranks = ranks_of(None)
    flat, paths = flatten_state_dict(state)
    names = ranks.broadcast("names of a state dict", lambda: paths)
    entries = {name: ranks.broadcast("entry of a state dict", lambda: flat[name]) for name in names}  # noqa: B023
    return unflatten_state_dict(entries, names)


def _in_pieces(state: dict[Any, Any], own: Mapping[Any, Any]) -> dict[Any, Any]:
    """Copies full tensors into this rank's chunks of its distributed tensors, which replace them in the state."""
    return {key: _in_piece(value, own.get(key)) for key, value in state.items()}


def _in_piece(value: Any, own: Any) -> Any:
    if isinstance(value, dict) and isinstance(own, Mapping):
        return _in_pieces(value, own)
    is_whole = isinstance(value, tl_core.Tensor) and not hasattr(value, "__get_tensor_shard__")
    if not is_whole or not hasattr(own, "__get_tensor_shard__"):
        return value
    if tuple(value.shape) != tuple(own.shape):
        raise ValueError(f"a tensor of {tuple(own.shape)} can't be set from one of {tuple(value.shape)}")
    for chunk in create_chunk_list(own):
        part = value
        for axis, (offset, size) in enumerate(zip(chunk.offsets, chunk.sizes, strict=True)):
            part = part.narrow(axis, offset, size)
        find_tensor_shard(own, MetadataIndex("", chunk.offsets)).copy_(part)
    return own


# ---- optimizers


def _several(optimizers: Any) -> list[Any]:
    return [optimizers] if hasattr(optimizers, "param_groups") else list(optimizers)


def _names(model: Any) -> dict[int, list[str]]:
    """The names of a model's parameters; several for a flat one."""
    shorten = WrappedNames(model).shorten
    wrapper = _wrapper_of(model)
    if wrapper is not None:
        names = wrapper.__parameter_names__(model)
        return {key: [shorten(name) for name in several] for key, several in names.items()}
    return {id(parameter): [shorten(name)] for name, parameter in model.named_parameters()}


def _name(parameter: Any, names: dict[int, list[str]]) -> str:
    if id(parameter) not in names:
        raise RuntimeError(
            f"the optimizer has a parameter of {tuple(parameter.shape)} that isn't among the model's"
        )
    return names[id(parameter)][0]


def _several_names(parameter: Any, names: dict[int, list[str]]) -> list[str]:
    _name(parameter, names)
    return names[id(parameter)]


def _kept_names(model: Any, submodules: set[Any] | None, options: StateDictOptions) -> set[str]:
    prefixes = tuple(_prefixes(model, submodules)) if submodules else ("",)
    names = {name for several in _names(model).values() for name in several}
    return {name for name in names if name.startswith(prefixes)} - _left_out(model, options)


def _make_state(optimizer: Any) -> None:
    """Lets an optimizer make its state, by a step of learning rate 0 with temporary zero gradients."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group[_PARAMS]]
    if optimizer.state or any(parameter.grad is not None for parameter in parameters):
        return
    rates = [group.get("lr") for group in optimizer.param_groups]
    for parameter in parameters:
        if parameter.requires_grad:
            parameter.grad = tl_core.zeros_like(parameter.detach())
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if rate is not None:
            group["lr"] = tl_core.zeros_like(rate) if isinstance(rate, tl_core.Tensor) else 0.0
    optimizer.step(closure=None)
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if rate is not None:
            group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def _by_name(optimizer: Any, names: dict[int, list[str]], selection: set[str]) -> dict[str, Any]:
    state: dict[str, Any] = {}
    groups = []
    for group in optimizer.param_groups:
        own = [(parameter, _name(parameter, names)) for parameter in group[_PARAMS]]
        own = [(parameter, name) for parameter, name in own if name in selection]
        state.update({name: optimizer.state[p] for p, name in own if p in optimizer.state})
        rest = {key: value for key, value in group.items() if key != _PARAMS}
        groups.append({**rest, _PARAMS: [name for _, name in own]})
    return {_STATE: state, _GROUPS: groups}


def _by_number(
    optimizer: Any, named: dict[str, Any], names: dict[int, list[str]], strict: bool
) -> dict[str, Any]:
    state: dict[int, Any] = {}
    groups: list[dict[str, Any]] = []
    number = 0
    for group in optimizer.param_groups:
        own = [_name(parameter, names) for parameter in group[_PARAMS]]
        saved = _group_of(own, named[_GROUPS])
        for name, parameter in zip(own, group[_PARAMS], strict=True):
            if name in named[_STATE]:
                state[number] = named[_STATE][name]
            elif strict and parameter in optimizer.state:
                raise RuntimeError(f"the state dict has no state of the parameter {name!r}")
            number += 1
        rest = {key: value for key, value in saved.items() if key != _PARAMS}
        groups.append({**rest, _PARAMS: list(range(number - len(own), number))})
    return {_STATE: state, _GROUPS: groups}


def _group_of(own: list[str], groups: list[dict[str, Any]]) -> dict[str, Any]:
    """The saved group with a group's parameters."""
    for saved in groups:
        if set(own) & set(saved[_PARAMS]) or (not own and not saved[_PARAMS]):
            return saved
    raise ValueError(f"loaded state dict has no parameter group with {', '.join(own[:3])}")


def _flat(named: dict[str, Any]) -> dict[str, Any]:
    flat = {f"{_STATE}.{n}.{key}": v for n, state in named[_STATE].items() for key, v in state.items()}
    for group in named[_GROUPS]:
        for name in group[_PARAMS]:
            flat.update({f"{_GROUPS}.{name}.{key}": v for key, v in group.items() if key != _PARAMS})
    return flat


def _unflat(flat: dict[str, Any], optimizers: list[Any], names: dict[int, list[str]]) -> dict[str, Any]:
    """The nested state of a flat one, in the groups of the optimizers."""
    state: dict[str, Any] = {}
    groups = []
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            own = [name for parameter in group[_PARAMS] for name in _several_names(parameter, names)]
            for name in own:
                parameter_state = _under(flat, f"{_STATE}.{name}.")
                if parameter_state:
                    state[name] = parameter_state
            rest = _under(flat, f"{_GROUPS}.{own[0]}.") if own else {}
            for name in own:
                if _under(flat, f"{_GROUPS}.{name}.") != rest:
                    raise ValueError(f"{own[0]!r} and {name!r} are of one group, but not in the flat state")
            groups.append({**rest, _PARAMS: own})
    return {_STATE: state, _GROUPS: groups}


def _under(flat: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {
        key.removeprefix(prefix): value
        for key, value in flat.items()
        if key.startswith(prefix) and "." not in key.removeprefix(prefix)
    }


def _init_optim_state(optim: Any) -> None:
    """Lets an optimizer make its state, as if it had stepped."""
    _make_state(optim)


def _patch_model_state_dict(model: Any, *, options: StateDictOptions | None = None) -> None:
    """Replaces a model's `state_dict` and `load_state_dict` by the functions of this module."""
    _replace_methods(
        model,
        lambda: get_model_state_dict(model, options=options),
        lambda state_dict: set_model_state_dict(model, state_dict, options=options),
    )


def _patch_optimizer_state_dict(
    model: Any, *, optimizers: Any, options: StateDictOptions | None = None
) -> None:
    """Replaces these methods of optimizers; each then has the state of all of them."""
    several = _several(optimizers)
    for optimizer in several:
        _replace_methods(
            optimizer,
            lambda: get_optimizer_state_dict(model, several, options=options),
            lambda state_dict: set_optimizer_state_dict(model, several, state_dict, options=options),
        )


def _replace_methods(
    owner: Any, state_dict: Callable[[], Any], load_state_dict: Callable[[dict[str, Any]], Any]
) -> None:
    for name, function in (("state_dict", state_dict), ("load_state_dict", load_state_dict)):
        function.__dict__["own_method"] = own_method(owner, name)
        setattr(owner, name, function)
