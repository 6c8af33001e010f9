"""Optimizers whose rule is a function of lists: parameters, gradients, and their state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from inspect import unwrap
from operator import attrgetter
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from .checks import check_options
from .hyperparameters import as_number
from .optimizer import Optimizer, _use_grad_for_differentiable, evaluate

# The options of groups from versions without these options.
_LATER_OPTIONS = {
    "momentum": 0,
    "centered": False,
    "amsgrad": False,
    "nesterov": False,
    "maximize": False,
    "foreach": None,
    "capturable": False,
    "differentiable": False,
    "fused": None,
    "decoupled_weight_decay": False,
}
# Options that hold several numbers, and the names under which a rule takes them.
_SEVERAL = {
    "betas": ("beta1", "beta2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
}
# State that is a tensor of one element, and was a plain number in older versions.
_COUNTS = ("step", "eta", "mu", "mu_product")

_IS_SPARSE = attrgetter("is_sparse")


@dataclass(frozen=True)
class Rule:
    """An update rule: its function, and the state of each parameter.

    `update` takes the parameters, their gradients, a list for each of `state_names`, and the group's options by name.
    Where a gradient is sparse, it takes `has_sparse_grad` too, or the optimizer raises. `begin` returns the state of a
    parameter before its first step.

    Args:
        update: the function that changes parameters and state.
        state_names: the names of the state of each parameter.
        begin: returns the state of a parameter before its first step. None stands for zeros and no steps.
        replaces: whether `update` puts other tensors into the lists.
        partial: whether a list has None for parameters without state under its name.
    """

    update: Callable[..., None]
    state_names: tuple[str, ...]
    begin: Callable[[dict[str, Any], Tensor], dict[str, Any]] | None = None  # by default, zeros and no steps
    replaces: bool = False  # whether `update` puts other tensors into the lists
    partial: bool = False  # whether a list has None for parameters without state under its name
    takes: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        code = unwrap(self.update).__code__
        named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        object.__setattr__(self, "takes", frozenset(named))

    def options(self, group: dict[str, Any]) -> dict[str, Any]:
        """The options of a group as `update` takes them."""
        options = {name: value for name, value in group.items() if name in self.takes and name != "params"}
        for several, names in _SEVERAL.items():
            if several in group:
                options.pop(several, None)
                options.update(zip(names, group[several], strict=True))
        if "fused" in options and group["differentiable"]:
            options["fused"] = False
        return options


class RuleOptimizer(Optimizer):
    """An optimizer that applies its `Rule` to each group."""

    _rule: ClassVar[Rule]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        check_options(defaults)
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for option in _LATER_OPTIONS.keys() & self._rule.takes:
                group.setdefault(option, _LATER_OPTIONS[option])
        for entry in self.state.values():
            for name in _COUNTS:
                if name in entry and not isinstance(entry[name], Tensor):
                    entry[name] = count(entry[name])

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters once. See `Optimizer.step`."""
        loss = evaluate(closure)
        for group in self.param_groups:
            params = [param for param in group["params"] if param.grad is not None]
            if params:
                _apply(self, group, params)
        return loss


def options_of(arguments: dict[str, Any]) -> dict[str, Any]:
    """The options of a group: the `locals()` of a constructor whose parameters, after `params`, they are."""
    return {name: value for name, value in arguments.items() if name not in ("self", "params", "__class__")}


def count(value: float | Tensor = 0.0) -> Tensor:
    """A number as a tensor of the state of a parameter."""
    dtype = tl_core.float64 if tl_core.get_default_dtype() == tl_core.float64 else tl_core.float32
    number = as_number(value)
    if isinstance(number, Tensor):
        return number.to(dtype, copy=True)
    return tl_core.tensor(float(number), dtype=dtype)


def full(param: Tensor, value: float | Tensor) -> Tensor:
    """A tensor of one number with a parameter's shape, type and strides. Both parts of complex numbers are equal."""
    number = as_number(value)
    if isinstance(number, Tensor):
        return zeros(param) + number * (1 + 1j if param.is_complex() else 1)
    fill_value = complex(number, number) if param.is_complex() else number
    return tl_core.full_like(param, fill_value, memory_format=tl_core.preserve_format)


def zeros(param: Tensor) -> Tensor:
    """Zeros of a parameter's shape, type and strides."""
    return tl_core.zeros_like(param, memory_format=tl_core.preserve_format)


def initial_state(param: Tensor, names: Iterable[str]) -> dict[str, Any]:
    """The state of a parameter before its first step: no steps, and zeros under the other names."""
    return {"step": count(), **{name: zeros(param) for name in names if name != "step"}}


def _apply(optimizer: RuleOptimizer, group: dict[str, Any], params: list[Tensor]) -> None:
    rule, grads = optimizer._rule, [param.grad for param in params]
    options = rule.options(group)
    if any(map(_IS_SPARSE, grads)):
        if "has_sparse_grad" not in rule.takes:
            raise RuntimeError(_refusal(optimizer))
        options["has_sparse_grad"] = True
    states = [optimizer.state.get(param) or _begin(rule, optimizer.state, group, param) for param in params]
    if rule.partial:
        lists = [[each.get(name) for each in states] for name in rule.state_names]
    else:
        lists = [[each[name] for each in states if name in each] for name in rule.state_names]
    rule.update(params, grads, *lists, **options)
    if rule.replaces:
        for name, values in zip(rule.state_names, lists, strict=True):
            for each, value in zip(states, values, strict=False):
                each[name] = value


def _refusal(optimizer: RuleOptimizer) -> str:
    name = next(cls.__name__ for cls in type(optimizer).__mro__ if "_rule" in vars(cls))
    advice = ", please consider SparseAdam instead" if name == "Adam" else ""
    return f"{name} does not support sparse gradients{advice}"


def _begin(rule: Rule, state: Any, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
    entry = rule.begin(group, param) if rule.begin else initial_state(param, rule.state_names)
    if entry:  # a rule without state leaves no entry
        state[param] = entry
    return entry
