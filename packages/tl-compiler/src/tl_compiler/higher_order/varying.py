"""The arguments and results of functions that have derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import Tensor

__all__ = ["restrict", "varies", "varying_indices"]

Function = Callable[..., Any]


def varies(t: Any) -> bool:
    """Whether a value is a tensor of a dtype that has derivatives."""
    return isinstance(t, Tensor) and (t.is_floating_point() or t.is_complex())


def varying_indices(values: Any) -> list[int]:
    """The indices of the values that have derivatives."""
    return [i for i, value in enumerate(values) if varies(value)]


def restrict(function: Function, values: tuple[Any, ...], indices: list[int]) -> Function:
    """The function of the arguments at some indices, and of its results those that have derivatives.

    Args:
        function: a function that returns a tuple.
        values: all arguments of the function.
        indices: the indices of the arguments of the returned function.

    Returns:
        A function that returns a tuple.
    """

    def call(*varied: Any) -> tuple[Tensor, ...]:
        arguments = list(values)
        for index, value in zip(indices, varied, strict=True):
            arguments[index] = value
        return tuple(r for r in function(*arguments) if varies(r))

    return call
