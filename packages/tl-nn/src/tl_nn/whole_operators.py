"""Functions that are one operator for handlers of `__torch_dispatch__`, as in PyTorch, and several operators of tl.

Where one handles operators, the function is that operator, and its gradient the operator that others have for it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tl_autograd import Function
from tl_core import Tensor, float32, is_grad_enabled
from tl_core.dispatch.autocast_inputs import converted
from tl_core.dispatch.modes import is_handled
from tl_core.operators.packets import aten
from tl_core.operators.public.handlers import asked

from . import functional as F
from ._reduction import reduction_code

__all__ = ["call"]

Gradients = Callable[..., tuple[Any, ...]]


class _Whole(Function):
    """An operator that handlers get, and its gradients."""

    @staticmethod
    def forward(ctx: Any, operator: Any, gradients: Gradients, *values: Any) -> Any:
        ctx.gradients, ctx.indices = gradients, [i for i, v in enumerate(values) if isinstance(v, Tensor)]
        ctx.save_for_backward(*(values[i] for i in ctx.indices))
        ctx.values = [None if isinstance(v, Tensor) else v for v in values]
        return asked(operator, *values)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        values = list(ctx.values)
        for i, t in zip(ctx.indices, ctx.saved_tensors, strict=True):
            values[i] = t
        gradients = ctx.gradients(grads[0], ctx.needs_input_grad[2:], *values)
        return None, None, *gradients, *[None] * (len(values) - len(gradients))


def _call(operator: Any, *args: Any) -> Any:
    """The single operator for handlers, or its parts without handlers or with a graph of the gradient."""
    return operator(*args) if is_grad_enabled() or not is_handled(args) else asked(operator, *args)


def _of_pair(name: str) -> Gradients:
    """The gradients of a loss of the difference of two tensors."""

    def gradients(grad: Any, needs: Any, input: Any, target: Any, *rest: Any) -> tuple[Any, ...]:
        operator = getattr(aten, name).default
        pairs = (input, target), (target, input)
        return tuple(
            _call(operator, grad, *pair, *rest) if is_needed else None
            for pair, is_needed in zip(pairs, needs[:2], strict=True)
        )

    return gradients


def _of_first(name: str) -> Gradients:
    def gradients(grad: Any, needs: Any, *values: Any) -> tuple[Any, ...]:
        return (_call(getattr(aten, name).default, grad, *values) if needs[0] else None,)

    return gradients


def _of_scores(
    grad: Any, needs: Any, input: Any, target: Any, weight: Any, pos_weight: Any, reduction: int
) -> tuple[Any, ...]:
    """The gradient of `binary_cross_entropy_with_logits`, which has no operator for it."""
    share = input.sigmoid()
    if pos_weight is None:
        gradient = (share - target) * grad
    else:
        positive = pos_weight * target
        gradient = ((positive + 1 - target) * share - positive) * grad
    gradient = gradient if weight is None else gradient * weight
    return (gradient / input.numel() if reduction == 1 else gradient,)


def _is_plain_loss(arguments: dict[str, Any]) -> bool:
    """Whether the operator of a loss supports all arguments of a call."""
    tensors = [arguments["input"], arguments["target"]]
    old = arguments.get("size_average") is not None or arguments.get("reduce") is not None
    return (
        not old
        and all(isinstance(t, Tensor) and t.is_floating_point() for t in tensors)
        and arguments["input"].shape == arguments["target"].shape
        and arguments["reduction"] in ("none", "mean", "sum")
    )


def _target_is_fixed(arguments: dict[str, Any]) -> bool:
    return not any(
        isinstance(arguments.get(name), Tensor) and arguments[name].requires_grad
        for name in ("target", "weight", "pos_weight")
    )


def _reads_loss(arguments: dict[str, Any]) -> bool:
    bound = arguments.get("beta", arguments.get("delta", 1))
    return _is_plain_loss(arguments) and arguments.get("weight") is None and bound > 0


def _reads_entropy(arguments: dict[str, Any]) -> bool:
    return _is_plain_loss(arguments) and _target_is_fixed(arguments)


def _reads_halves(arguments: dict[str, Any]) -> bool:
    x, dim = arguments["input"], arguments["dim"]
    fits = isinstance(x, Tensor) and isinstance(dim, int) and -x.ndim <= dim < x.ndim
    return fits and x.is_floating_point() and x.shape[dim] % 2 == 0


_LOSSES = "input target reduction"
_PAIRED = (("mse_loss", ""), ("smooth_l1_loss", " beta"), ("huber_loss", " delta"))
# By the function: its parameters in the operator's order, when a call is one of the operator, and the gradients.
_TABLE: dict[str, tuple[str, Callable[[dict[str, Any]], bool], Gradients]] = {
    **{
        name: (_LOSSES + bound, _reads_loss, _of_pair(f"{name}_backward"))
        for name, bound in _PAIRED
    },
    "soft_margin_loss": (_LOSSES, _reads_entropy, _of_first("soft_margin_loss_backward")),
    "binary_cross_entropy": (
        "input target weight reduction", _reads_entropy, _of_first("binary_cross_entropy_backward")
    ),
    "binary_cross_entropy_with_logits": (
        "input target weight pos_weight reduction", _reads_entropy, _of_scores
    ),
    "glu": ("input dim", _reads_halves, _of_first("glu_backward")),
}  # fmt: skip


@functools.cache
def _signature(name: str) -> inspect.Signature:
    return inspect.signature(getattr(F, name))


def call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function as the operator that it is.

    Args:
        name: the function of `nn.functional`.
        args, kwargs: its arguments.

    Returns:
        Its result. NotImplemented without a handler, or if no operator supports the call.

    Example:
        >>> call("mse_loss", (1, 2), {})
        NotImplemented
    """
    try:
        bound = _signature(name).bind(*args, **kwargs)
    except TypeError:
        return NotImplemented  # the function raises the error
    bound.apply_defaults()
    arguments = bound.arguments
    parameters, reads, gradients = _TABLE[name]
    if not is_handled(tuple(arguments.values())) or not reads(arguments):
        return NotImplemented
    values = [arguments[parameter] for parameter in parameters.split()]
    if "reduction" in arguments:
        values[parameters.split().index("reduction")] = reduction_code(arguments["reduction"])
        values = converted(values, float32)
    return _Whole.apply(getattr(aten, name).default, gradients, *values)
