"""`torch._custom_ops`: the first form of operators from Python, by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from tl_core.compat.older_custom_ops import derivative, operators
from tl_core.library import libraries

__all__ = ["custom_op", "impl", "impl_abstract", "impl_backward", "impl_save_for_backward"]


def custom_op(qualname: str, func_or_schema: Any = None) -> Any:
    """Defines an operator by a schema, or by a function's annotations; a decorator without either.

    Args:
        qualname: the operator's name.
        func_or_schema: the schema `(Tensor x) -> Tensor`, or the function.
    """
    _, name = operators.parse_qualname(qualname)

    def inner(func: Callable[..., Any]) -> Callable[..., Any]:
        if not inspect.isfunction(func):
            raise ValueError(
                f"custom_op(...)(func): Expected `func` to be a Python function, got: {type(func)}"
            )
        if func.__name__ != name:
            raise ValueError(
                f"custom_op(qualname='{qualname}', ...)(func): expected `func` to have name '{name}' but got "
                f"'{func.__name__}'. Please either change the name of `func` or the qualname that is passed to "
                "`custom_op`"
            )
        operators.define(qualname, operators.infer_schema(func))
        return func

    if isinstance(func_or_schema, str):
        operators.define(qualname, func_or_schema)
        return lambda func: func
    return inner if func_or_schema is None else inner(func_or_schema)


def impl(
    qualname: str,
    *,
    device_types: str | Iterable[str] = ("cpu", "cuda"),
    func: Callable[..., Any] | None = None,
) -> Any:
    """Registers a function for types of devices; a decorator without `func`.

    Args:
        qualname: the operator's name.
        device_types: "cpu", "cuda" or both.
        func: the function.
    """
    custom_op = operators.global_registry.get(qualname)

    def inner(f: Callable[..., Any]) -> Callable[..., Any]:
        if custom_op is not None:
            return custom_op.impl(device_types)(f)
        op = operators.get_op(qualname)
        types = [device_types] if isinstance(device_types, str) else list(device_types)
        for device_type in types:
            operators.check_free(op, device_type)
        for device_type in types:
            lib = libraries.kept_library(op.namespace)
            lib.impl(op, f, operators.SUPPORTED_DEVICE_TYPE_TO_KEY[device_type])
        return f

    if custom_op is not None:
        custom_op.impl(device_types)  # refuses devices
    return inner if func is None else inner(func)


def impl_abstract(qualname: str, *, func: Callable[..., Any] | None = None) -> Any:
    """`library.register_fake`.

    Args:
        qualname: the operator's name.
        func: the function; without it, this is a decorator.
    """
    from tl_core.library import registering

    return registering.register_fake(qualname, func)


def impl_save_for_backward(qualname: str, *, func: Callable[..., Any] | None = None) -> Any:
    """Registers what a backward needs: a function of the arguments and results; a decorator without `func`.

    Args:
        qualname: the operator's name.
        func: the function.
    """
    inner = derivative.part(operators.get_op(qualname), "save_for_backward")
    return inner if func is None else inner(func)


def impl_backward(
    qualname: str, output_differentiability: Any = None, *, func: Callable[..., Any] | None = None
) -> Any:
    """Registers a backward: a function of a context, what was saved and gradients that returns a dict of gradients.

    Args:
        qualname: the operator's name.
        output_differentiability: for each result, whether it has a gradient.
        func: the function; without it, this is a decorator.
    """
    inner = derivative.part(operators.get_op(qualname), "backward", output_differentiability)
    return inner if func is None else inner(func)


def _destroy(qualname: str) -> None:
    """Removes an operator."""
    operators.global_registry[qualname]._destroy()
