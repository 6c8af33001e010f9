"""Hyperparameters that are tensors: plain numbers, except where derivatives with respect to them are recorded."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import sqrt
from typing import Any

from tl_core import Tensor, is_grad_enabled

__all__ = ["as_number", "has_effect", "square_root", "takes_tensors"]

# Tensors among the arguments of a rule that are no hyperparameters.
_OTHERS = ("grad_scale", "found_inf")


def as_number(value: Any) -> Any:
    """The number of a hyperparameter, or a tensor without dimensions if its derivatives are recorded.

    Args:
        value: a number or a tensor of one element.
    """
    if not isinstance(value, Tensor):
        return value
    return value.reshape(()) if value.requires_grad and is_grad_enabled() else value.item()


def has_effect(value: Any) -> bool:
    """Whether a factor isn't 0, or is a tensor, whose derivative at 0 may count."""
    return isinstance(value, Tensor) or value != 0


def square_root(value: Any) -> Any:
    """The square root of a number or a tensor."""
    return value.sqrt() if isinstance(value, Tensor) else sqrt(value)


def takes_tensors(update: Callable[..., None]) -> Callable[..., None]:
    """An update rule whose keyword arguments may be tensors of one element.

    The rule gets plain numbers. Where derivatives with respect to a tensor are recorded it gets that tensor, and
    `differentiable=True` if it has such an argument.

    Args:
        update: the rule, a function of lists of tensors and of keyword arguments.

    Raises:
        RuntimeError: If the step is to be fused and derivatives with respect to a tensor are recorded.
    """
    code = update.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @wraps(update)
    def run(*lists: Any, **options: Any) -> None:
        recorded = False
        for name, value in options.items():
            if isinstance(value, Tensor) and name not in _OTHERS:
                options[name] = number = as_number(value)
                recorded |= isinstance(number, Tensor)
        if recorded:
            if options.get("fused"):
                raise RuntimeError("`fused` does not support `differentiable`")
            options.update(
                {name: name == "differentiable" for name in ("differentiable", "fused") if name in names}
            )
        update(*lists, **options)

    return run
