"""An optimizer whose state is named by parameters, so that it fits a model that is divided otherwise."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module
from tl_nn.optim import Optimizer

__all__: list[str] = []


class _NamedOptimizer(Optimizer):
    """An optimizer whose state dictionary has names of parameters, rather than numbers.

    Args:
        named_parameters: the parameters and their names.
        optimizer_class: the optimizer.
        param_groups: groups of some of the parameters, as for the optimizer; one group of all otherwise.
        module: the module of the parameters, for callers that look for it.
        args: the optimizer's other arguments.
        kwargs: likewise.

    Example:
        >>> import tl_nn as nn
        >>> layer = nn.Linear(2, 1)
        >>> optimizer = _NamedOptimizer(dict(layer.named_parameters()), nn.optim.SGD, lr=0.1, momentum=0.9)
        >>> optimizer.init_state()
        >>> sorted(optimizer.state_dict()["state"])
        ['bias', 'weight']
    """

    def __init__(
        self,
        named_parameters: Mapping[str, Tensor],
        optimizer_class: type[Optimizer],
        param_groups: Collection[Mapping[str, Any]] | None = None,
        module: Module | None = None,
        *args: Any,
        **kwargs: Any,
    ):
        self.named_parameters = dict(named_parameters)
        self.module = module
        groups = None if param_groups is None else [dict(group) for group in param_groups]
        for number, group in enumerate(groups or ()):
            if "params" not in group:
                raise ValueError(f"_NamedOptimizer: parameter group {number} must have params")
        params: Any = list(self.named_parameters.values()) if groups is None else groups
        self._optimizer = optimizer_class(params, *args, **kwargs)
        self.param_groups = self._optimizer.param_groups
        self.ordered_param_keys = self._names()

    def _names(self) -> list[str]:
        names = {id(parameter): name for name, parameter in self.named_parameters.items()}
        every = [parameter for group in self.param_groups for parameter in group["params"]]
        unknown = [tuple(parameter.shape) for parameter in every if id(parameter) not in names]
        if unknown:
            raise ValueError(f"_NamedOptimizer: a group has parameters without a name, of shapes {unknown}")
        return [names[id(parameter)] for parameter in every]

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The state of the optimizer, by parameter."""
        return self._optimizer.state

    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Makes a step.

        Args:
            closure: computes the loss again.
        """
        return self._optimizer.step() if closure is None else self._optimizer.step(closure)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients, or fills them with zeros."""
        self._optimizer.zero_grad(set_to_none)

    def init_state(self) -> None:
        """Makes the state that a first step would make, and leaves the parameters as they are.

        Gradients of zeros are given for the time of that step, and rates of zero.
        """
        if self._optimizer.state:
            return
        rates = [group.get("lr") for group in self.param_groups]
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        before = [parameter.grad for parameter in parameters]
        decays = [group.get("weight_decay") for group in self.param_groups]
        try:
            for parameter in parameters:
                parameter.grad = tl_core.zeros_like(parameter) if parameter.requires_grad else None
            self._set(lr=[0.0 if rate is not None else None for rate in rates])
            self._set(weight_decay=[0.0 if decay is not None else None for decay in decays])
            self._optimizer.step()
        finally:
            self._set(lr=rates, weight_decay=decays)
            for parameter, grad in zip(parameters, before, strict=True):
                parameter.grad = grad

    def _set(self, **options: list[Any]) -> None:
        for name, values in options.items():
            for group, value in zip(self.param_groups, values, strict=True):
                if value is not None:
                    group[name] = value

    def state_dict(self) -> dict[str, Any]:
        """The state by names of parameters, and the groups with names in place of numbers."""
        state_dict = self._optimizer.state_dict()
        names = self.ordered_param_keys
        groups = [{**g, "params": sorted(names[i] for i in g["params"])} for g in state_dict["param_groups"]]
        return {"state": {names[i]: each for i, each in state_dict["state"].items()}, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes over what `state_dict` gave; parameters that it doesn't name keep their state.

        Raises:
            ValueError: the state of a parameter that has one is missing, or the groups differ.
        """
        self.init_state()
        now = self._optimizer.state_dict()
        numbers = {name: number for number, name in enumerate(self.ordered_param_keys)}
        missing = [
            name for name in numbers if numbers[name] in now["state"] and name not in state_dict["state"]
        ]
        if missing:
            raise ValueError(f"_NamedOptimizer: the state of {', '.join(missing)} is missing")
        by_members = {frozenset(group["params"]): group for group in state_dict["param_groups"]}
        groups = []
        for group in now["param_groups"]:
            members = frozenset(self.ordered_param_keys[i] for i in group["params"])
            if members not in by_members:
                raise ValueError(f"_NamedOptimizer: no parameter group has exactly {sorted(members)}")
            groups.append({**by_members[members], "params": group["params"]})
        state = {numbers[name]: each for name, each in state_dict["state"].items() if name in numbers}
        self._optimizer.load_state_dict({"state": state, "param_groups": groups})
        self.param_groups = self._optimizer.param_groups

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Gives the optimizer more parameters, which must have names.

        Raises:
            ValueError: one has none.
        """
        self._optimizer.add_param_group(dict(param_group))
        self.param_groups = self._optimizer.param_groups
        self.ordered_param_keys = self._names()
