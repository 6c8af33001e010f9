"""Gradients at the border of a module: the arguments of full backward hooks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tl_autograd import Function
from tl_core import Tensor, is_grad_enabled

_Gradients = tuple[Any, ...]


class BackwardHook:
    """One call of a module with backward hooks.

    An identity is recorded before the module's inputs and one after its outputs. In backward, the one at
    the outputs runs the pre-hooks and keeps the gradients until the one at the inputs runs the hooks.

    Args:
        module (Module): Given first to every hook.
        user_hooks (list of callable): Called as `hook(module, grad_input, grad_output)`; a result other than None
            replaces grad_input.
        user_pre_hooks (list of callable): Called as `hook(module, grad_output)`; a result other than None
            replaces grad_output.
    """

    def __init__(self, module: Any, user_hooks: list[Any], user_pre_hooks: list[Any]) -> None:
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.input_positions: list[int] | None = None
        self.input_count = 0
        self.output_positions: list[int] = []
        self.output_count = 0
        self.grad_outputs: _Gradients | None = None

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments to call the module with instead of `args`."""
        self.input_count = len(args)
        marked, self.input_positions = _mark(_Entry, self, args)
        return marked

    def setup_output_hook(self, result: Any) -> Any:
        """The module's result instead of `result`."""
        if not isinstance(result, tuple):
            return self._mark_outputs((result,))[0]
        marked = self._mark_outputs(result)
        return type(result)(*marked) if hasattr(result, "_fields") else marked

    def _mark_outputs(self, outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.output_count = len(outputs)
        marked, positions = _mark(_Exit, self, outputs)
        self.output_positions = positions or []
        return marked

    def leave(self, grads: _Gradients) -> _Gradients:
        """Backward at the outputs: `grads` are the gradients of the tensors among them."""
        self.grad_outputs = _spread(self.output_positions, grads, self.output_count)
        for hook in self.user_pre_hooks:
            new_grads = hook(self.module, self.grad_outputs)
            if new_grads is not None:
                self.grad_outputs = _as_gradients(
                    new_grads, "Backward pre hook", "grad_output", self.output_count
                )
        result = tuple(self.grad_outputs[position] for position in self.output_positions)
        if self.input_positions is None:
            self._run_without_inputs()
        return result

    def enter(self, grads: _Gradients) -> _Gradients:
        """Backward at the inputs: `grads` are the gradients of the tensors among them."""
        if self.grad_outputs is None:  # a second derivative reaches the inputs without the outputs
            return grads
        positions = self.input_positions or []
        grad_inputs = _spread(positions, grads, self.input_count)
        for hook in self.user_hooks:
            new_grads = hook(self.module, grad_inputs, self.grad_outputs)
            if new_grads is not None:
                grad_inputs = _as_gradients(new_grads, "Backward hook", "grad_input", self.input_count)
        self.grad_outputs = None
        return tuple(grad_inputs[position] for position in positions)

    def _run_without_inputs(self) -> None:
        if not self.user_hooks:
            return
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since "
            "no inputs require gradients.",
            stacklevel=2,
        )
        for hook in self.user_hooks:
            new_grads = hook(self.module, (None,) * self.input_count, self.grad_outputs)
            if new_grads is not None and any(grad is not None for grad in new_grads):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None "
                    "or None for all gradients."
                )
        self.grad_outputs = None


def _mark(identity: type[Function], call: BackwardHook, values: tuple[Any, ...]) -> tuple[Any, Any]:
    """Put an identity behind the tensors among `values`. Returns their positions too, or None without gradients."""
    positions = [position for position, value in enumerate(values) if isinstance(value, Tensor)]
    if not (is_grad_enabled() and any(values[position].requires_grad for position in positions)):
        return values, None
    marked = list(values)
    for position, tensor in zip(
        positions, identity.apply(call, *(values[position] for position in positions)), strict=True
    ):
        marked[position] = tensor
    return tuple(marked), positions


def _pass_through(run: Callable[[BackwardHook, _Gradients], _Gradients]) -> type[Function]:
    """An identity whose backward gives the gradients to `run`."""

    class Identity(Function):
        @staticmethod
        def forward(ctx: Any, call: BackwardHook, *tensors: Tensor) -> tuple[Tensor, ...]:
            ctx.call = call
            ctx.mark_non_differentiable(*(tensor for tensor in tensors if not tensor.requires_grad))
            return tensors

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
            return (None, *run(ctx.call, grads))

    return Identity


_Entry = _pass_through(BackwardHook.enter)
_Exit = _pass_through(BackwardHook.leave)


def _spread(positions: list[int], grads: _Gradients, count: int) -> _Gradients:
    """Gradients at their positions among `count` values, None elsewhere."""
    spread = [None] * count
    for position, grad in zip(positions, grads, strict=True):
        spread[position] = grad
    return tuple(spread)


def _as_gradients(value: Any, hook: str, argument: str, count: int) -> _Gradients:
    grads = value if isinstance(value, tuple) else (value,)
    if len(grads) != count:
        raise RuntimeError(
            f"{hook} returned an invalid number of {argument}, got {len(grads)}, but expected {count}"
        )
    return grads
