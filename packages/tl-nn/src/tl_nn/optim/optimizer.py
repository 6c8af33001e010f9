"""The base class of all optimizers: parameter groups, state, hooks and their dictionaries."""

from __future__ import annotations

import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from functools import wraps
from itertools import chain
from typing import Any, TypeVar, overload

import tl_core
from tl_autograd.hooks import RemovableHandle
from tl_core import Tensor, enable_grad, is_grad_enabled, set_grad_enabled, typename
from tl_core.base import recording
from tl_core.base.recording import EventRange, is_recording

from .hyperparameters import square_root

__all__ = ["Optimizer", "ParamsT", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

StateDict = dict[str, Any]
params_t = ParamsT  # the older name

# Descriptions of common options, for docstrings.
_params_doc = "params (iterable): tensors, pairs of a name and a tensor, or dicts of parameter groups"
_foreach_doc = (
    "foreach (bool, optional): whether one operator steps all parameters; None: as the device likes"
)
_fused_doc = "fused (bool, optional): whether a step is one pass over the memory; None: as the device likes"
_capturable_doc = "capturable (bool, optional): whether a CUDA graph can hold the step (default: False)"
_differentiable_doc = (
    "differentiable (bool, optional): whether gradients go through the step (default: False)"
)
_maximize_doc = "maximize (bool, optional): whether the objective is to grow (default: False)"

_Step = TypeVar("_Step", bound=Callable[..., Any])

_global_optimizer_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_global_optimizer_post_hooks: OrderedDict[int, Any] = OrderedDict()


class _RequiredParameter:
    """The default of an option that every parameter group has to give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def register_optimizer_step_pre_hook(hook: Any) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before the step of every optimizer.

    The hook returns None or new `(args, kwargs)`. The first of `args` is the optimizer.

    Example:
        >>> import tl_core, tl_nn
        >>> handle = register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: print("steps"))
        >>> tl_nn.optim.SGD([tl_nn.Parameter(tl_core.ones(1))], lr=0.1).step()
        steps
        >>> handle.remove()
    """
    return _insert(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Any) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after the step of every optimizer.

    Example:
        >>> import tl_core, tl_nn
        >>> handle = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: print("stepped"))
        >>> tl_nn.optim.SGD([tl_nn.Parameter(tl_core.ones(1))], lr=0.1).step()
        stepped
        >>> handle.remove()
    """
    return _insert(_global_optimizer_post_hooks, hook)


class Optimizer:
    """Changes parameters by their gradients with the rule of a subclass.

    Args:
        params (iterable of Tensor, of (str, Tensor), or of dict): The parameters. A dictionary is a group with
            options of its own, its tensors under "params".
        defaults (dict): The options of groups that don't give them.

    Attributes:
        param_groups (list of dict): The options and parameters of each group. Options may be changed between
            steps.
        state (dict): The state of each parameter.

    Raises:
        TypeError: If something isn't a tensor or a group.
        ValueError: If there is no parameter, one is twice in it, or one is the result of a computation.

    Example:
        >>> import tl_core, tl_nn
        >>> class Halving(tl_nn.optim.Optimizer):
        ...     def __init__(self, params):
        ...         super().__init__(params, {})
        ...
        ...     @tl_core.no_grad()
        ...     def step(self, closure=None):
        ...         for group in self.param_groups:
        ...             for parameter in group["params"]:
        ...                 parameter.mul_(0.5)
        >>> weight = tl_core.ones(2, requires_grad=True)
        >>> Halving([weight]).step()
        >>> weight
        tensor([0.5000, 0.5000], requires_grad=True)
    """

    defaults: dict[str, Any]
    state: defaultdict[Any, Any]
    param_groups: list[dict[str, Any]]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        _complete(self)
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {typename(params)}"
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        _complete(self)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {option}: {group[option]}" for option in sorted(group) if option != "params"]
        return "\n".join([*lines, ")"])

    # The step

    @overload
    def step(self, closure: None = None) -> Any: ...
    @overload
    def step(self, closure: Callable[[], Any]) -> Any: ...
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters once.

        Args:
            closure (callable, optional): Computes the loss and its gradients anew.

        Returns:
            The result of `closure`, or None.
        """
        raise NotImplementedError(f"{type(self).__name__} doesn't define step()")

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """A step with the hooks around it."""

        @wraps(func)
        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            self._opt_called = True  # a scheduler's first step reads it
            if is_recording():
                recording.describe_at_end(self, lambda: _describe_tensors(self))
                with EventRange(f"Optimizer.step#{type(self).__name__}.step"):
                    return run_step(self, *args, **kwargs)
            return run_step(self, *args, **kwargs)

        def run_step(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not (
                self._optimizer_step_pre_hooks
                or self._optimizer_step_post_hooks
                or _global_optimizer_pre_hooks
                or _global_optimizer_post_hooks
            ):
                return func(self, *args, **kwargs)
            args = (self, *args)
            for hook in (*_global_optimizer_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
                args, kwargs = _new_arguments(hook(self, args, kwargs), args, kwargs)
            result = func(*args, **kwargs)
            for hook in (*self._optimizer_step_post_hooks.values(), *_global_optimizer_post_hooks.values()):
                hook(self, args, kwargs)
            return result

        step.hooked = True  # type: ignore[attr-defined]
        return step

    def _patch_step_function(self) -> None:
        """Put the hooks around the step of this class, unless they are there already."""
        kind = type(self)
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{kind.__name__}.zero_grad"
        if not getattr(kind.step, "hooked", False):
            kind.step = self.profile_hook_step(kind.step)  # type: ignore[method-assign]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or set them to zero where `set_to_none` is False.

        Example:
            >>> import tl_core, tl_nn
            >>> weight = tl_core.ones(2, requires_grad=True)
            >>> weight.grad = tl_core.ones(2)
            >>> tl_nn.optim.SGD([weight]).zero_grad()
            >>> weight.grad is None
            True
        """
        if is_recording():
            with EventRange(self._zero_grad_profile_name):
                return self._zero_grads(set_to_none)
        return self._zero_grads(set_to_none)

    def _zero_grads(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                grad = parameter.grad
                if grad is None:
                    continue
                if set_to_none:
                    parameter.grad = None
                else:
                    _zero(grad)

    # Parameter groups

    @staticmethod
    def _group_tensors_by_device_and_dtype(
        tensorlistlist: Any, with_indices: bool = False
    ) -> dict[tuple[Any, Any], Any]:
        """The lists' elements at the same index, in groups by the device and type of those in the first list."""
        from tl_core.tensors.foreach_utils import group_tensors_by_device_and_dtype

        return group_tensors_by_device_and_dtype(tensorlistlist, with_indices)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, such as the layers of a network that are unfrozen later.

        Args:
            param_group (dict): The tensors under "params", and the options that differ from the defaults.

        Raises:
            TypeError: If it isn't a dictionary, or something in it isn't a tensor.
            ValueError: If a parameter is in another group already, or is the result of a computation.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _collect_params(param_group)
        for parameter in param_group["params"]:
            _check_param(self, parameter)
        for option, default in self.defaults.items():
            if default is required and option not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter {option}"
                )
            param_group.setdefault(option, default)
        _check_unique(self, param_group)
        self.param_groups.append(param_group)

    # The dictionary of the state

    def state_dict(self) -> dict[str, Any]:
        """The options of the groups and the state of the parameters, which are named by their numbers.

        Returns:
            dict: "state": for each parameter's number, a dictionary. "param_groups": for each group, its options, and
            the numbers of its parameters under "params".

        Example:
            >>> import tl_core, tl_nn
            >>> weight = tl_core.ones(2, requires_grad=True)
            >>> tl_nn.optim.SGD([weight], lr=0.5).state_dict()["param_groups"][0]["lr"]
            0.5
        """
        for hook in tuple(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        numbers = _numbers(self)
        groups = [
            {**_without_params(group), "params": [numbers[id(param)] for param in group["params"]]}
            for group in self.param_groups
        ]
        state = {
            numbers[id(key)] if isinstance(key, Tensor) else key: entry for key, entry in self.state.items()
        }
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in tuple(self._optimizer_state_dict_post_hooks.values()):
            new_result = hook(self, result)
            if new_result is not None:
                result = new_result
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load options and state from a result of `state_dict`. Parameters correspond by their order.

        Tensors of the state are cast to type and device of their parameter, except step counts. A tensor with both
        is used without a copy. The groups' options are copied.

        Args:
            state_dict (dict): A result of `state_dict` of an optimizer with groups of equal sizes.

        Raises:
            ValueError: If number or sizes of the groups differ.
        """
        state_dict = state_dict.copy()
        for hook in tuple(self._optimizer_load_state_dict_pre_hooks.values()):
            new_state_dict = hook(self, state_dict)
            if new_state_dict is not None:
                state_dict = new_state_dict
        saved = deepcopy(state_dict["param_groups"])
        _check_groups(self, saved)
        owners = {
            number: (param, group)
            for group, own in zip(saved, self.param_groups, strict=True)
            for number, param in zip(group["params"], own["params"], strict=True)
        }
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, entry in state_dict["state"].items():
            if key in owners:
                param, group = owners[key]
                state[param] = _cast(entry, param, group)
            else:
                state[key] = entry
        groups = [
            {**_loaded_options(new, old), "params": old["params"]}
            for new, old in zip(saved, self.param_groups, strict=True)
        ]
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in tuple(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    # Hooks

    def register_step_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step. It returns None or new `(args, kwargs)`.

        The first of `args` is the optimizer, as in PyTorch.
        """
        return _insert(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return _insert(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict`. With `prepend`, the hook runs before the other hooks."""
        return _insert(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after `state_dict`. It returns None or another result."""
        return _insert(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading. It returns None or the state to load instead."""
        return _insert(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` after loading."""
        return _insert(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    _optimizer_step_pre_hooks: OrderedDict[int, Any]
    _optimizer_step_post_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Any]


_HOOK_DICTS = tuple(name for name in Optimizer.__annotations__ if name.endswith("_hooks"))


def _describe_tensors(optimizer: Any) -> Iterator[tuple[int, str]]:
    """Addresses of parameters, gradients and state, for memory profiles."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            yield from _addresses(parameter, "PARAMETER")
            yield from _addresses(parameter.grad, "GRADIENT")
    for state in optimizer.state.values():
        for value in state.values():
            yield from _addresses(value, "OPTIMIZER_STATE")


def _addresses(value: Any, word: str) -> Iterator[tuple[int, str]]:
    if isinstance(value, Tensor) and value.layout is tl_core.strided and value.device.type == "cpu":
        yield value.untyped_storage().data_ptr(), word


def _use_grad_for_differentiable(step: _Step) -> _Step:
    """A step that records gradients only if the optimizer is to be differentiated through."""

    @wraps(step)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = is_grad_enabled()
        set_grad_enabled(self.defaults.get("differentiable", False))
        try:
            return step(self, *args, **kwargs)
        finally:
            set_grad_enabled(before)

    return run  # type: ignore[return-value]


def evaluate(closure: Callable[[], Any] | None) -> Any:
    """The loss of a closure, computed with gradients, or None."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


# ---- helpers for optimizers of other libraries ---------------------------------------------------------------------
def _get_value(x: Any) -> Any:
    """A number, also of a tensor with one element."""
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x: Any) -> Any:
    """The argument, because optimizers are not compiled."""
    return x


_dispatch_sqrt = square_root


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    """The type in which a step's number is kept."""
    wide = not is_fused and tl_core.get_default_dtype() is tl_core.float64
    return tl_core.float64 if wide else tl_core.float32


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Replaces complex parameters and their state by views as pairs of real numbers."""
    for i, param in enumerate(params):
        if param.is_complex():
            params[i] = tl_core.view_as_real(param)
            for tensors in state_and_grads:
                tensors[i] = tl_core.view_as_real(tensors[i])


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[[_Step], _Step]:
    """A decorator without effect, because optimizers are not compiled."""
    return lambda function: function


def _complete(optimizer: Optimizer) -> None:
    """Set the attributes of new optimizers that an optimizer unpickled from an older version may lack."""
    for name in _HOOK_DICTS:
        optimizer.__dict__.setdefault(name, OrderedDict())
    optimizer._patch_step_function()


def _collect_params(group: dict[str, Any]) -> None:
    """Make a list of the group's parameters, and one of their names where they have names."""
    params = group["params"]
    if isinstance(params, Tensor):
        params = [params]
    elif isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of "
            "tensors in sets will change between runs. Please use a list instead."
        )
    params = list(params)
    named = [isinstance(param, tuple) for param in params]
    if any(named):
        if not all(named):
            raise ValueError(
                "all optimizer params should be with/without names. Some param names are missing"
            )
        group["param_names"] = [name for name, _ in params]
        params = [param for _, param in params]
    group["params"] = params


def _check_param(optimizer: Optimizer, parameter: Any) -> None:
    if not isinstance(parameter, Tensor):
        raise TypeError(
            f"optimizer can only optimize Tensors, but one of the params is {typename(parameter)}"
        )
    if not (optimizer.defaults.get("differentiable") or parameter.is_leaf or parameter.retains_grad):
        raise ValueError("can't optimize a non-leaf Tensor")


def _check_unique(optimizer: Optimizer, group: dict[str, Any]) -> None:
    fresh = {id(parameter) for parameter in group["params"]}
    if len(fresh) != len(group["params"]):
        warnings.warn(
            "optimizer contains a parameter group with duplicate parameters; "
            "in future, this will cause an error",
            stacklevel=4,
        )
    parameters = (parameter for other in optimizer.param_groups for parameter in other["params"])
    if any(id(parameter) in fresh for parameter in parameters):
        raise ValueError("some parameters appear in more than one parameter group")
    for other in optimizer.param_groups[:1]:
        if ("param_names" in other) != ("param_names" in group):
            lacking = "with" if "param_names" in group else "without"
            raise ValueError(
                "all optimizer param groups should be with/without names. "
                f"cannot add param group {lacking} names to the optimizer"
            )


def _numbers(optimizer: Optimizer) -> dict[int, int]:
    """The number of each parameter by its `id`: its first place in the order of the groups."""
    numbers: dict[int, int] = {}
    params = chain.from_iterable(group["params"] for group in optimizer.param_groups)
    for number, param in enumerate(params):
        numbers.setdefault(id(param), number)
    return numbers


def _check_groups(optimizer: Optimizer, saved: list[dict[str, Any]]) -> None:
    if len(saved) != len(optimizer.param_groups):
        raise ValueError(
            "loaded state dict has a different number of parameter groups: "
            f"{len(saved)} instead of {len(optimizer.param_groups)}"
        )
    for new, old in zip(saved, optimizer.param_groups, strict=True):
        if len(new["params"]) != len(old["params"]):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                f"optimizer's group: {len(new['params'])} parameters instead of {len(old['params'])}"
            )


def _insert(hooks: OrderedDict[int, Any], hook: Any, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _new_arguments(value: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    if value is None:
        return args, kwargs
    if not (isinstance(value, tuple) and len(value) == 2):
        raise RuntimeError(
            f"step pre-hook must return None or a tuple of (new_args, new_kwargs), but got {value}."
        )
    return value


def _zero(grad: Tensor) -> None:
    """Zero a gradient in place, cutting it off from the graph it may belong to."""
    if grad.grad_fn is not None:
        grad.detach_()
    else:
        grad.requires_grad_(False)
    grad.zero_()


def _without_params(group: dict[str, Any]) -> dict[str, Any]:
    return {option: value for option, value in group.items() if option != "params"}


def _loaded_options(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """The options of a loaded group, with the present names if it has none."""
    if "param_names" in old and "param_names" not in new:
        return {**new, "param_names": old["param_names"]}
    return new


def _cast(state: Any, param: Tensor, group: dict[str, Any], key: str | None = None) -> Any:
    """A parameter's state with tensors of the parameter's type and device. Tensors with both stay unchanged."""
    if isinstance(state, Tensor):
        if key != "step":
            return state.to(param.device, param.dtype if param.is_floating_point() else state.dtype)
        if group.get("fused") or group.get("capturable"):
            return state.to(param.device, tl_core.float32)
        return state
    if isinstance(state, dict):
        return {name: _cast(value, param, group, name) for name, value in state.items()}
    if isinstance(state, Iterable) and not isinstance(state, str):
        return type(state)(_cast(value, param, group) for value in state)  # type: ignore[call-arg]
    return state


def _default_to_fused_or_foreach(
    params: Sequence[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """The values of `fused` and `foreach`: one operator for all parameters, operators over lists."""
    return use_fused and not differentiable and fusable(params), False


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The types of devices whose graphs can hold the step of an optimizer."""
    return ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]


def fusable(params: Sequence[Tensor]) -> bool:
    """Whether one operator can update these parameters: dense floating-point tensors of one type on the CPU."""
    if not (params and params[0].is_floating_point()):
        return False
    dtype, dense = params[0].dtype, tl_core.strided
    return all(param.dtype == dtype and param.is_cpu and param.layout == dense for param in params)
