"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tl_core import Tensor

from .modules.module import Module

__all__ = ["functional_call"]


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

    Parameters:
        module : Module
            The module, which is as before afterwards.
        parameter_and_buffer_dicts : dict, or several of them
            The tensors to take, by the names of `named_parameters` and `named_buffers`.
        args : tuple or any
            The arguments, or the only one.
        kwargs : dict, optional
            The keyword arguments.
        tie_weights : bool
            Whether a tensor that the module has under several names is exchanged under all of them.
        strict : bool
            Whether it must be all parameters and buffers, and nothing else.

    Returns:
        What the module returns.

    Raises:
        RuntimeError
            If `strict` and names are missing or too many.
        ValueError
            If tied names are given different tensors, or a name stands in several dictionaries.

    Examples:
        >>> import tl_core, tl_nn.func
        >>> layer = tl_nn.Linear(1, 1, bias=False)
        >>> tl_nn.func.functional_call(layer, {"weight": tl_core.tensor([[3.0]])}, tl_core.ones(1))
        tensor([3.])
    """
    tensors = parameter_and_buffer_dicts
    if not isinstance(tensors, Mapping):
        tensors = _joined(tensors)
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with _exchanged(module, tensors, tie_weights, strict):
        return module(*arguments, **(kwargs or {}))


def _joined(several: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    joined = {name: tensor for tensors in several for name, tensor in tensors.items()}
    repeated = sorted(name for name in joined if sum(name in tensors for tensors in several) > 1)
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous"
        )
    return joined


@contextmanager
def _exchanged(
    module: Module, tensors: Mapping[str, Tensor], tie_weights: bool, strict: bool
) -> Iterator[None]:
    """A module with other tensors, within a context; what code in it assigned is handed on to `tensors`."""
    given = dict(tensors)
    if tie_weights:
        _tie(module, given)
    if strict:
        _check_names(module, given)
    kept = [(place, name, place.get(name)) for place, name in _places(module, given)]
    try:
        for (place, name, _), value in zip(kept, given.values(), strict=True):
            place[name] = value
        yield
    finally:
        for (place, name, original), key in zip(kept, given, strict=True):
            if isinstance(tensors, dict) and key in tensors and place[name] is not None:
                tensors[key] = place[name]
            place[name] = original


def _places(module: Module, tensors: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    """The dictionary and the name under which each tensor stands."""
    for path in tensors:
        prefix, _, name = path.rpartition(".")
        owner = module.get_submodule(prefix)
        for place in (owner._parameters, owner._buffers):
            if name in place:
                yield place, name
                break
        else:
            raise AttributeError(f"{type(owner).__name__} has no parameter or buffer `{name}`")


def _tie(module: Module, given: dict[str, Any]) -> None:
    """Let the names of one tensor have the same new one."""
    names: dict[int, list[str]] = {}
    everything = (
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    )
    for name, tensor in everything:
        names.setdefault(id(tensor), []).append(name)
    for tied in names.values():
        values = {id(given[name]): given[name] for name in tied if name in given}
        if len(values) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(tied)}, which are tied. "
                "Consider using tie_weights=False"
            )
        for value in values.values():
            given.update(dict.fromkeys(tied, value))


def _check_names(module: Module, given: Mapping[str, Any]) -> None:
    own = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    own |= {name for name, _ in module.named_buffers(remove_duplicate=False)}
    missing, unexpected = sorted(own - set(given)), sorted(set(given) - own)
    parts = [
        f"{kind} key(s): {', '.join(keys)}."
        for kind, keys in (("Unexpected", unexpected), ("Missing", missing))
        if keys
    ]
    if parts:
        raise RuntimeError(f"Error(s) in loading for {type(module).__name__}: {' '.join(parts)}")
