"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.tensors.parameter import Parameter

from .modules.batchnorm import _BatchNorm
from .modules.module import Module

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with some or all of its parameters and buffers exchanged.

    Args:
        module (Module): The module, which is as before afterwards.
        parameter_and_buffer_dicts (dict, or several of them): The tensors to take, by the names of
            `named_parameters` and `named_buffers`.
        args (tuple or any): The arguments, or the only one.
        kwargs (dict, optional): The keyword arguments.
        tie_weights (bool): Whether a tensor that the module has under several names is exchanged under all of
            them.
        strict (bool): Whether the names must be exactly the parameters and buffers.

    Returns:
        The module's result.

    Raises:
        RuntimeError: If `strict` and names are missing or too many.
        TypeError: If the value for a name, or the attribute of that name, is neither a tensor nor None.
        ValueError: If tied names are given different tensors, or several dictionaries contain a name.

    Example:
        >>> import tl_core, tl_nn.func
        >>> layer = tl_nn.Linear(1, 1, bias=False)
        >>> tl_nn.func.functional_call(layer, {"weight": tl_core.tensor([[3.0]])}, tl_core.ones(1))
        tensor([3.])
    """
    tensors = parameter_and_buffer_dicts
    if not isinstance(tensors, Mapping):
        if not isinstance(tensors, (list, tuple)):
            raise ValueError(
                "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
                f"{type(tensors).__name__}"
            )
        tensors = _merge(tensors)
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with exchange(module, tensors, tie_weights, strict):
        return module(*arguments, **(kwargs or {}))


def _merge(several: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    union = {name: tensor for tensors in several for name, tensor in tensors.items()}
    repeated = sorted(name for name in union if sum(name in tensors for tensors in several) > 1)
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous"
        )
    return union


@contextmanager
def exchange(
    module: Module, tensors: Mapping[str, Tensor], tie_weights: bool = False, strict: bool = False
) -> Iterator[None]:
    """A context in which a module has other tensors. Assignments in the context are copied to `tensors`.

    Args:
        module: the module, which is as before afterwards.
        tensors: the tensors to take, by name.
        tie_weights: whether a tensor that the module has under several names is exchanged under all of them.
        strict: whether the names must be exactly the parameters and buffers.
    """
    replacements = dict(tensors)
    if tie_weights:
        _tie(module, replacements)
    if strict:
        _check_names(module, replacements)
    originals = [(slot, name, slot.get(name, _ABSENT)) for slot, name in _slots(module, replacements)]
    try:
        for (slot, name, _), value in zip(originals, replacements.values(), strict=True):
            slot[name] = value
        yield
    finally:
        for (slot, name, original), key in zip(originals, replacements, strict=True):
            if isinstance(tensors, dict) and key in tensors and slot.get(name) is not None:
                tensors[key] = slot[name]
            if original is _ABSENT:
                slot.pop(name, None)
            else:
                slot[name] = original


_ABSENT: Any = object()


def _slots(module: Module, tensors: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    """The dictionary and the name of each tensor in the module."""
    for path, tensor in tensors.items():
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"{tensor} is not an instance of torch.Tensor, given as {path!r}")
        prefix, _, name = path.rpartition(".")
        owner = module.get_submodule(prefix)
        plain = owner.__dict__.get(name)
        if plain is not None and not isinstance(plain, Tensor):
            raise TypeError(f"attribute `{name}`: {plain} is not an instance of torch.Tensor")
        registered = (slot for slot in (owner._parameters, owner._buffers, owner.__dict__) if name in slot)
        # another name is a parameter or a plain attribute for the time of the call
        yield next(registered, owner._parameters if isinstance(tensor, Parameter) else owner.__dict__), name


def _tie(module: Module, replacements: dict[str, Any]) -> None:
    """Give all names of a tied tensor the same replacement."""
    names: dict[int, list[str]] = {}
    everything = (
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    )
    for name, tensor in everything:
        names.setdefault(id(tensor), []).append(name)
    for tied in names.values():
        values = {id(replacements[name]): replacements[name] for name in tied if name in replacements}
        if len(values) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(tied)}, which are tied. "
                "Consider using tie_weights=False"
            )
        for value in values.values():
            replacements.update(dict.fromkeys(tied, value))


def _check_names(module: Module, replacements: Mapping[str, Any]) -> None:
    own = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    own |= {name for name, _ in module.named_buffers(remove_duplicate=False)}
    missing, unexpected = sorted(own - set(replacements)), sorted(set(replacements) - own)
    parts = [
        f"{kind} key(s): {', '.join(map(repr, keys))}."
        for kind, keys in (("Unexpected", unexpected), ("Missing", missing))
        if keys
    ]
    if parts:
        raise RuntimeError(f"Error(s) in loading for {type(module).__name__}: {' '.join(parts)}")


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of several modules of one class, each stacked along a new first dimension.

    Args:
        models (list of modules): All of one class and in the same mode of training.

    Returns:
        (parameters, buffers): dictionaries of tensors. Stacks require gradients where the parameters do.

    Raises:
        RuntimeError: If there is no module, or they differ in mode or class, or in whether a parameter requires
            gradients.

    Example:
        >>> import tl_core, tl_nn.func
        >>> parameters, buffers = tl_nn.func.stack_module_state([tl_nn.Linear(2, 3) for _ in range(4)])
        >>> parameters["weight"].shape
        torch.Size([4, 3, 2])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if any(m.training != models[0].training for m in models):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    return (
        _stack([dict(m.named_parameters()) for m in models]),
        _stack([dict(m.named_buffers()) for m in models]),
    )


def _stack(states: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: _one_stack(name, [state[name] for state in states]) for name in states[0]}


def _one_stack(name: str, tensors: list[Tensor]) -> Tensor:
    follows = tensors[0].requires_grad
    if any(t.requires_grad != follows for t in tensors):
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    with tl_core.no_grad():
        stack = tl_core.stack(tensors)
    return stack.requires_grad_(follows) if follows else stack


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Remove the running statistics of every batch norm in a module, so that it uses the statistics of each batch.

    Args:
        root (Module): The module, which is changed.

    Returns:
        The module.

    Example:
        >>> import tl_nn.func
        >>> tl_nn.func.replace_all_batch_norm_modules_(tl_nn.BatchNorm1d(3)).running_mean is None
        True
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root
