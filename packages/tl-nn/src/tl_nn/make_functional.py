"""Modules as pairs of a function and its parameters: the older way, before `func.functional_call`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tl_core
from tl_core import Tensor

from .func import functional_call
from .modules.module import Module
from .parameter import Parameter

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functional_init",
    "functional_init_with_buffers",
    "make_functional",
    "make_functional_with_buffers",
]


class FunctionalModuleWithBuffers(Module):
    """A module as a function of its parameters and buffers: `f(params, buffers, *args)`.

    Args:
        stateless_model: the module without its own tensors.
        param_names: the names of its parameters, in the order of the first argument.
        buffer_names: the names of its buffers, in the order of the second argument.
    """

    def __init__(self, stateless_model: Module, param_names: Sequence[str], buffer_names: Sequence[str]):
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = tuple(param_names)
        self.buffer_names = tuple(buffer_names)

    def forward(self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        """The module with these values."""
        tensors = dict(zip(self.param_names, params, strict=True))
        tensors |= zip(self.buffer_names, buffers, strict=True)
        return functional_call(self.stateless_model, tensors, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module as a function of its parameters: `f(params, *args)`.

    Args:
        stateless_model: the module without its own tensors.
        param_names: the names of its parameters, in the order of the first argument.
        buffer_names: the names of its buffers, in the order of the second argument.
    """

    def forward(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        """The module with these values."""
        return super().forward(params, (), *args, **kwargs)


def _without_values(model: Module) -> Module:
    """A copy whose tensors have no memory. Each call passes their values."""
    tensors = [*model.parameters(), *model.buffers()]
    memo = {id(t): _of_no_memory(t) for t in tensors}
    return copy.deepcopy(model, memo)


def _of_no_memory(t: Tensor) -> Tensor:
    bare = tl_core.empty_like(t, device="meta")
    return Parameter(bare, requires_grad=False) if isinstance(t, Parameter) else bare


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The module as a function of its parameters and buffers, and these.

    Args:
        model: the module.
        disable_autograd_tracking: whether the parameters are to be outside of the graph of derivatives.

    Returns:
        (function, parameters, buffers). The function takes (parameters, buffers, *args).

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.make_functional import make_functional_with_buffers
        >>> f, params, buffers = make_functional_with_buffers(tl_nn.BatchNorm1d(3))
        >>> len(params), len(buffers)
        (2, 3)
    """
    params, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    function = FunctionalModuleWithBuffers(_without_values(model), tuple(params), tuple(buffers))
    return function, _values(params, disable_autograd_tracking), tuple(buffers.values())


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """The module as a function of its parameters, and these.

    Args:
        model: a module without buffers.
        disable_autograd_tracking: whether the parameters are to be outside of the graph of derivatives.

    Returns:
        (function, parameters). The function takes (parameters, *args).

    Raises:
        RuntimeError: the module has buffers.
    """
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    params = dict(model.named_parameters())
    function = FunctionalModule(_without_values(model), tuple(params), ())
    return function, _values(params, disable_autograd_tracking)


def _values(params: Mapping[str, Tensor], detached: bool) -> tuple[Tensor, ...]:
    return tuple(p.detach() if detached else p for p in params.values())


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Several modules of one kind as a function, and their parameters and buffers stacked.

    Args:
        models: modules of one class, all in training mode or none.

    Returns:
        (function, parameters, buffers), for `vmap` over the first dimension of both.

    Raises:
        RuntimeError: there are none, or they differ in class or mode.
    """
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError(
            "combine_state_for_ensemble: Expected all models to have the same training/eval mode."
        )
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    functions, params, buffers = zip(*(make_functional_with_buffers(m) for m in models), strict=True)
    return functions[0], _stack(params), _stack(buffers)


def _stack(several: Sequence[Sequence[Tensor]]) -> tuple[Tensor, ...]:
    return tuple(tl_core.stack(list(tensors)) for tensors in zip(*several, strict=True))


def functional_init(
    model_class: Callable[..., Module], ensemble_shape: tuple[int, ...] = (), device: Any = "cpu"
) -> Callable[..., Any]:
    """The function that builds a module, or an ensemble of `ensemble_shape` modules.

    Args:
        model_class: builds a module.
        ensemble_shape: () or (n,).
        device: the device of the parameters.

    Returns:
        A function of the module's own arguments, which gives (parameters, function, names of the parameters); the
        function takes the parameters and a tuple of arguments.

    Raises:
        ValueError: more than one dimension, or no module.
    """
    _check_shape(ensemble_shape)

    def initialize(*args: Any, **kwargs: Any) -> Any:
        n = ensemble_shape[0] if ensemble_shape else 1
        models = [model_class(*args, **kwargs).to(device) for _ in range(n)]
        functions, params = zip(*map(make_functional, models), strict=True)

        def call(values: Sequence[Tensor], arguments: tuple) -> Any:
            return functions[0](values, *arguments)

        return _stack(params) if ensemble_shape else params[0], call, functions[0].param_names

    return initialize


def functional_init_with_buffers(
    model_class: Callable[..., Module], ensemble_shape: tuple[int, ...] = (), device: Any = "cpu"
) -> Callable[..., Any]:
    """`functional_init` for modules with buffers: (parameters, buffers, function, parameter names, buffer names).

    Args:
        model_class: the class of the module.
        ensemble_shape: the sizes of the ensemble: () for one, (n,) for n.
        device: the device of the tensors.
    """
    _check_shape(ensemble_shape)

    def initialize(*args: Any, **kwargs: Any) -> Any:
        n = ensemble_shape[0] if ensemble_shape else 1
        models = [model_class(*args, **kwargs).to(device) for _ in range(n)]
        functions, params, buffers = zip(*map(make_functional_with_buffers, models), strict=True)
        first = functions[0]

        def call(values: Sequence[Tensor], buffer_values: Sequence[Tensor], arguments: tuple) -> Any:
            return first(values, buffer_values, *arguments)

        if not ensemble_shape:
            return params[0], buffers[0], call, first.param_names, first.buffer_names
        return _stack(params), _stack(buffers), call, first.param_names, first.buffer_names

    return initialize


def _check_shape(ensemble_shape: tuple[int, ...]) -> None:
    if len(ensemble_shape) > 1:
        raise ValueError(f"ensemble_shape may have one dimension, got {ensemble_shape}")
    if ensemble_shape and ensemble_shape[0] <= 0:
        raise ValueError(f"num_models {ensemble_shape[0]} should be > 0")
