"""`torch.autograd._functions`: operations that older programs write as functions with a derivative of their own."""

from __future__ import annotations

import functools
import operator
from typing import Any

from tl_autograd.function import Function

__all__ = ["Resize", "Type"]


class Type(Function):
    """The tensor in another type of tensors."""

    @staticmethod
    def forward(ctx: Any, i: Any, dest_type: Any) -> Any:
        """Converts.

        Args:
            ctx: the context.
            i: the tensor.
            dest_type: the type, as `Tensor.type` takes it.
        """
        ctx.input_type = i.type()
        return i.type(dest_type)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        """The gradient in the type of the input.

        Args:
            ctx: the context.
            grad_output: the gradient of the result.
        """
        return grad_output.type(ctx.input_type), None


class Resize(Function):
    """The tensor in another shape of as many elements."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, sizes: Any) -> Any:
        """Reshapes.

        Args:
            ctx: the context.
            tensor: the tensor.
            sizes: the shape.

        Raises:
            RuntimeError: the shape has another number of elements.
        """
        ctx.sizes, ctx.numel = sizes, functools.reduce(operator.mul, sizes, 1)
        if tensor.numel() != ctx.numel:
            raise RuntimeError(
                f"requested resize to {'x'.join(map(str, sizes))} ({ctx.numel} elements in total), but the given "
                f"tensor has "
                f"a size of {'x'.join(map(str, tensor.size()))} ({tensor.numel()} elements). autograd's resize can "
                f"only "
                "change the shape of a given tensor, while preserving the number of elements. "
            )
        ctx.input_sizes = tensor.size()
        return tensor.contiguous().view(*sizes).clone()

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        """The gradient in the shape of the input.

        Args:
            ctx: the context.
            grad_output: the gradient of the result.
        """
        return grad_output.contiguous().view(ctx.input_sizes), None
