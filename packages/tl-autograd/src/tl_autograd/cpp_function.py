"""Functions whose `forward` and `backward` an extension in C++ has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_autograd.function import Function

__all__ = ["CppFunction", "function_class"]


class CppFunction(Function):
    """A `Function` for `torch::autograd::Function` of C++. Each class of C++ has a subclass, which names the node.

    Example:
        >>> issubclass(function_class("Square"), CppFunction)
        True
    """

    @classmethod
    def run(
        cls, run_forward: Callable[..., Any], run_backward: Callable[..., Any], inputs: tuple[Any, ...]
    ) -> Any:
        """Calls `forward` of C++ and records it.

        Args:
            run_forward: takes the context and whether each input needs a gradient, and returns the outputs.
            run_backward: takes the context and the gradients of the outputs, and returns those of the inputs.
            inputs: the tensors among the arguments.

        Returns:
            The outputs.
        """
        return cls.apply(run_forward, run_backward, *inputs)

    @staticmethod
    def forward(
        ctx: Any, run_forward: Callable[..., Any], run_backward: Callable[..., Any], *inputs: Any
    ) -> Any:
        """Runs the operation.

        Args:
            ctx: the context.
            run_forward: see `run`.
            run_backward: see `run`.
            *inputs: the tensors.

        Returns:
            The outputs.
        """
        ctx.run_backward = run_backward
        return run_forward(ctx, ctx.needs_input_grad[2:])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        """Runs the derivative.

        Args:
            ctx: the context.
            *gradients: those of the outputs.

        Returns:
            The gradients of all arguments of `forward`.
        """
        return (None, None, *ctx.run_backward(ctx, gradients))


def function_class(name: str) -> type[CppFunction]:
    """The class for a class of C++.

    Args:
        name: the name of the class, with its namespaces.

    Returns:
        A subclass of `CppFunction`.

    Example:
        >>> function_class("mine::Square").__name__
        'Square'
    """
    return type(name.rpartition("::")[2], (CppFunction,), {"__module__": "tl_autograd.cpp_function"})
