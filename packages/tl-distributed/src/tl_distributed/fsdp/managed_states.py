"""The modules, parameters and buffers that a call of `fully_shard` gets, for programs that ask before they call it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tl_core import Tensor
from tl_nn import Module, Parameter

from .parameter_group import ParameterGroup

__all__ = ["ParamModuleInfo", "is_managed"]

FSDPParamGroup = ParameterGroup  # PyTorch's name


@dataclass
class ParamModuleInfo:
    """The modules that have a parameter.

    Attributes:
        module: the first one.
        param_name: the name of the parameter in it.
        shared_modules: the others.
        shared_param_names: its names in them.
    """

    module: Module
    param_name: str
    shared_modules: list[Module] = field(default_factory=list)
    shared_param_names: list[str] = field(default_factory=list)


def is_managed(module: Module) -> bool:
    """Whether `fully_shard` or `replicate` has a module already.

    Args:
        module: the module.

    Example:
        >>> import tl_nn
        >>> is_managed(tl_nn.Linear(1, 1))
        False
    """
    return "_fsdp_state" in module.__dict__ or "_replicate_state" in module.__dict__


def _get_managed_modules(root_modules: Sequence[Module]) -> list[Module]:
    """The modules of a call, each after those in it, without what another call has."""
    result: dict[Module, None] = {}
    visited: set[Module] = set()

    def visit(module: Module) -> None:
        if module in visited or (module not in root_modules and is_managed(module)):
            return
        visited.add(module)
        for child in module.children():
            visit(child)
        result[module] = None

    for module in root_modules:
        visit(module)
    return list(result)


def _get_managed_states(modules: Sequence[Module]) -> tuple[list[Parameter], list[Tensor]]:
    """The parameters and buffers of modules alone, each once."""
    parameters = dict.fromkeys(p for m in modules for p in m.parameters(recurse=False))
    buffers = dict.fromkeys(b for m in modules for b in m.buffers(recurse=False))
    return list(parameters), list(buffers)


def _get_param_module_infos(
    params: Sequence[Parameter], modules: Module | Sequence[Module]
) -> list[ParamModuleInfo]:
    """The modules below some that have each of the parameters.

    Args:
        params: the parameters.
        modules: a module, or several.
    """
    infos: dict[int, ParamModuleInfo] = {}
    identities = {id(parameter) for parameter in params}
    for module in _every_path([modules] if isinstance(modules, Module) else modules):
        for name, parameter in module.named_parameters(recurse=False):
            if id(parameter) not in identities:
                continue
            if info := infos.get(id(parameter)):
                info.shared_modules.append(module)
                info.shared_param_names.append(name)
            else:
                infos[id(parameter)] = ParamModuleInfo(module, name)
    if missing := len(identities) - len(infos):
        raise AssertionError(
            f"{missing} of {len(identities)} parameters belong to no module below the given ones"
        )
    return [infos[id(parameter)] for parameter in params]


def _every_path(modules: Sequence[Module]) -> Iterator[Module]:
    """The modules below some, as often as there are paths to them."""
    for module in modules:
        for _, part in module.named_modules(remove_duplicate=False):
            yield part
