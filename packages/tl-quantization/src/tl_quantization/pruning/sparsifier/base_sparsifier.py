"""The base of sparsifiers: masks of tensors, and their life from `prepare` to `squash_mask`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from copy import deepcopy
from typing import Any

import tl_core
import tl_nn as nn
from tl_nn import Module
from tl_nn.utils import parametrize

from .utils import (
    FakeSparsity,
    get_arg_info_from_tensor_fqn,
    module_contains_param,
    module_to_fqn,
    swap_module,
)

__all__ = ["BaseSparsifier"]

_SUPPORTED: Any = {nn.Linear}


class BaseSparsifier(ABC):
    """The base class of sparsifiers. A class of one's own has `update_mask`.

    Args:
        defaults (dict, optional): Arguments of `update_mask` for all tensors; a tensor's configuration replaces them.

    Example:
        >>> import tl_core, tl_nn
        >>> class First(BaseSparsifier):
        ...     def update_mask(self, module, tensor_name, **kwargs):
        ...         module.parametrizations[tensor_name][0].mask[0] = 0
        >>> model, sparsifier = tl_nn.Sequential(tl_nn.Linear(2, 2)), First()
        >>> sparsifier.prepare(model, [{"tensor_fqn": "0.weight"}])
        >>> sparsifier.step()
        >>> bool((model[0].weight[0] == 0).all())
        True
    """

    def __init__(self, defaults: dict[str, Any] | None = None) -> None:
        self.defaults: dict[str, Any] = defaults or {}
        self.state: dict[str, dict[str, Any]] = defaultdict(dict)
        self.groups: list[dict[str, Any]] = []
        self.enable_mask_update = True
        self.model: Module

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "groups": self.groups}

    def __setstate__(self, state: dict[str, dict[str, Any]]) -> None:
        vars(self).update(state)
        self.enable_mask_update = getattr(self, "enable_mask_update", True)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.groups):
            text += f"\n\tGroup {i}\n\t    module: {group['module']}\n"
            text += "".join(f"\t    {key}: {group[key]}\n" for key in sorted(group) if key != "module")
        return text + ")"

    def state_dict(self) -> dict[str, Any]:
        """The masks by tensor, and the configurations without the modules."""
        groups = [{key: value for key, value in group.items() if key != "module"} for group in self.groups]
        return {"state": self.state, "groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Takes masks and configurations, and parametrizes tensors that aren't.

        Args:
            state_dict: from `state_dict`.
            strict: whether the model must have all tensors.

        Raises:
            RuntimeError: If the model lacks the module of a tensor.
        """
        groups, states = deepcopy(state_dict["groups"]), state_dict["state"]
        for name, state in states.items():
            info = get_arg_info_from_tensor_fqn(self.model, name)
            module, tensor_name = info["module"], info["tensor_name"]
            if module is None:
                if strict:
                    raise RuntimeError(f"Error loading {name} into the model")
                continue
            part = _mask_of(module, tensor_name)
            if state.get("mask") is not None:
                part.mask = state["mask"]
            for group in groups:
                if group["tensor_fqn"] == name:
                    group.update(info)
        self.__setstate__({"state": states, "groups": groups})

    def make_config_from_model(self, model: Module, SUPPORTED_MODULES: Any = _SUPPORTED) -> None:
        """Sets a configuration for the weight of each layer of some classes.

        Args:
            model: the model.
            SUPPORTED_MODULES: the classes.
        """
        self.config: list[dict[str, Any]] = []
        stack = [model]
        while stack:
            for child in stack.pop().children():
                if type(child) in SUPPORTED_MODULES:
                    self.config.append({"tensor_fqn": f"{module_to_fqn(model, child)}.weight"})
                else:
                    stack.append(child)

    def prepare(self, model: Module, config: list[dict[str, Any]] | None) -> None:
        """Parametrizes tensors of a model with masks of ones.

        Args:
            model: the model.
            config: for each tensor its name `tensor_fqn`, and arguments of `update_mask`; None for the weights of all
                linear layers.

        Raises:
            AssertionError: If a configuration has no `tensor_fqn`, or facts that disagree with the model.
        """
        self.model = model
        if config is None:
            self.make_config_from_model(model)
        else:
            self.config = config
        for entry in self.config:
            if not isinstance(entry, dict):
                raise AssertionError(f"config elements should be dicts not modules i.e.: but got {entry!r}")
            arguments = {**deepcopy(self.defaults), **entry}
            name = arguments.get("tensor_fqn")
            if name is None:
                raise AssertionError("tensor_fqn is a required argument in the sparsity config")
            info = get_arg_info_from_tensor_fqn(model, name.lstrip("."))
            for key in info:
                if (
                    key in entry
                    and key != "tensor_fqn"
                    and entry[key] is not info[key]
                    and entry[key] != info[key]
                ):
                    raise AssertionError(f"{key} must be {info[key]!r} for {name}, but got {entry[key]!r}")
            self.groups.append({**arguments, **info})
        self._prepare()

    def _prepare(self, *args: Any, **kwargs: Any) -> None:
        for group in self.groups:
            module, tensor_name = group["module"], group["tensor_name"]
            kind = group.get("parametrization", FakeSparsity)
            mask = group.get("mask", tl_core.ones_like(getattr(module, tensor_name).detach()))
            self.state[group["tensor_fqn"]]["mask"] = mask
            parametrize.register_parametrization(module, tensor_name, kind(mask))

    def squash_mask(
        self,
        params_to_keep: tuple[str, ...] | None = None,
        params_to_keep_per_layer: dict[str, tuple[str, ...]] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Writes the zeros into the tensors and removes the parametrizations.

        Args:
            params_to_keep: entries of the configurations that modules keep in `sparse_params`.
            params_to_keep_per_layer: further entries by the module's name.
            *args: of no effect.
            **kwargs: of no effect.
        """
        for group in self.groups:
            module, tensor_name = group["module"], group["tensor_name"]
            parametrize.remove_parametrizations(module, tensor_name, leave_parametrized=True)
            names = [*(params_to_keep or ()), *(params_to_keep_per_layer or {}).get(group["module_fqn"], ())]
            if names:
                module.sparse_params = {name: group[name] for name in names}

    def convert(
        self,
        module: Module,
        mapping: dict[type[Module], type[Module]] | None = None,
        inplace: bool = False,
        parameterization: type[Module] = FakeSparsity,
    ) -> Module:
        """Replaces parametrized modules by those of a table, with `from_dense`.

        Args:
            module: the module.
            mapping: the classes by the class they replace.
            inplace: whether the module itself is changed.
            parameterization: the class of the parametrization.

        Raises:
            NotImplementedError: If there is no table.
        """
        if mapping is None:
            raise NotImplementedError("Need to auto generate mapping ")
        module = module if inplace else deepcopy(module)
        for name, child in list(module.named_children()):
            is_target = parametrize.type_before_parametrizations(child) in mapping
            if is_target and module_contains_param(child, parameterization):
                module._modules[name] = swap_module(child, mapping)
            else:
                module._modules[name] = self.convert(child, mapping, True, parameterization)
        return module

    def step(self, use_path: bool = True) -> None:
        """Computes the masks, unless `enable_mask_update` is False.

        Args:
            use_path: of no effect.
        """
        if self.enable_mask_update:
            with tl_core.no_grad():
                for group in self.groups:
                    self.update_mask(**group)

    @abstractmethod
    def update_mask(self, module: Module, tensor_name: str, **kwargs: Any) -> None:
        """Computes the mask of a tensor: `module.parametrizations[tensor_name][0].mask`.

        Args:
            module: the module.
            tensor_name: the name of the tensor.
            **kwargs: the entries of the tensor's configuration.
        """


def _mask_of(module: Any, tensor_name: str) -> Any:
    """The parametrization with the mask of a tensor, which is registered if there is none."""
    if parametrize.is_parametrized(module, tensor_name):
        for part in module.parametrizations[tensor_name]:
            if isinstance(part, FakeSparsity):
                return part
    part = FakeSparsity(tl_core.ones(getattr(module, tensor_name).shape))
    parametrize.register_parametrization(module, tensor_name, part)
    return part
