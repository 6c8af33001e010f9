"""`autograd_function_apply`: a call of an `autograd.Function` as a graph of its forward and one of its backward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tl_autograd
import tl_core

from .base import HigherOrderOperator

__all__ = ["AutogradFunctionApply", "autograd_function_apply"]

Tensor = tl_core.Tensor


def _function_of(
    fwd: Callable[..., Any],
    bwd: Callable[..., Any],
    arguments: Sequence[Any],
    non_differentiable: Sequence[int],
) -> Any:
    """The `autograd.Function` of two graphs; its arguments are the tensors among those of the forward."""

    class Apply(tl_autograd.Function):
        @staticmethod
        def forward(ctx: Any, *tensors: Tensor) -> Any:
            inputs = iter(tensors)
            output, saved = fwd(None, *(next(inputs) if isinstance(a, Tensor) else a for a in arguments))
            ctx.saved = saved
            results = output if isinstance(output, (tuple, list)) else (output,)
            if non_differentiable:
                ctx.mark_non_differentiable(*(results[i] for i in non_differentiable))
            return output

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return bwd(None, *grads, *ctx.saved)

    return Apply


class AutogradFunctionApply(HigherOrderOperator):
    """Calls a function whose derivative is another one. In a trace its operators are recorded where the call stands.

    Args:
        fwd: gets None and the arguments, and returns the result and a list of the values for the backward.
        bwd: gets None, the gradients of the results and these values, and returns the gradients of the tensors among
            the arguments whose mask is true.
        fwd_args: the arguments.
        args_tensor_mask: for each argument whether it is a tensor with a gradient.
        non_differentiable_idx: the numbers of the results without a gradient.

    Example:
        >>> x = tl_core.ones(2).requires_grad_()
        >>> double = autograd_function_apply(
        ...     lambda ctx, x: (x * 2, []), lambda ctx, grad: grad * 2, x,
        ...     args_tensor_mask=[True], non_differentiable_idx=[],
        ... )
        >>> double.sum().backward()
        >>> x.grad
        tensor([2., 2.])
    """

    def __init__(self) -> None:
        super().__init__("autograd_function_apply")

    def __call__(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        *fwd_args: Any,
        args_tensor_mask: Sequence[bool],
        non_differentiable_idx: Sequence[int] = (),
        **fwd_kwargs: Any,
    ) -> Any:
        def backward(*args: Any) -> tuple[Any, ...]:
            grads = bwd(*args)
            by_argument = iter(grads if isinstance(grads, (tuple, list)) else (grads,))
            spread = [next(by_argument, None) if has_grad else None for has_grad in args_tensor_mask]
            return tuple(g for g, a in zip(spread, fwd_args, strict=True) if isinstance(a, Tensor))

        apply = _function_of(fwd, backward, fwd_args, non_differentiable_idx).apply
        return apply(*(a for a in fwd_args if isinstance(a, Tensor)))


autograd_function_apply = AutogradFunctionApply()
