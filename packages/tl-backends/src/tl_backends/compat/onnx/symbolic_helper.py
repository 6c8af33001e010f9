"""Conversion of arguments for functions that write operators as ONNX."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["parse_args"]

# Conversion of a constant by descriptor; `v` is a value of the graph, and `none` an omitted argument.
_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "v": lambda value: value,
    "none": lambda value: None,
    "i": int,
    "f": float,
    "b": bool,
    "s": str,
    "t": lambda value: value,
    "is": lambda values: [int(v) for v in values],
    "fs": lambda values: [float(v) for v in values],
}


def parse_args(*arg_descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that converts the arguments behind the graph: `v` values, `i` integers, `f` floats, `is` lists.

    Args:
        arg_descriptors: a descriptor an argument, in order.

    Raises:
        ValueError: there is no such descriptor.
        AssertionError: on a call, there are more arguments than descriptors.

    Example:
        >>> @parse_args("v", "i")
        ... def scaled(g, x, factor):
        ...     return g, x, factor
        >>> scaled("graph", "x", 2.0)
        ('graph', 'x', 2)
    """
    if unknown := [d for d in arg_descriptors if d not in _CONVERSIONS]:
        raise ValueError(f"parse_args(): unknown descriptors {unknown}; there are {list(_CONVERSIONS)}")

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        names = list(inspect.signature(fn).parameters)[1:]
        by_name = dict(zip(names, arg_descriptors))

        @functools.wraps(fn)
        def wrapper(g: Any, *args: Any, **kwargs: Any) -> Any:
            if len(args) > len(arg_descriptors):
                raise AssertionError(
                    f"A mismatch between the number of arguments ({len(args)}) and their descriptors "
                    f"({len(arg_descriptors)}) was found at symbolic function '{fn.__name__}'."
                )
            values = [_convert(value, kind) for value, kind in zip(args, arg_descriptors)]
            named = {name: _convert(value, by_name.get(name, "v")) for name, value in kwargs.items()}
            return fn(g, *values, **named)

        return wrapper

    return decorate


def _convert(value: Any, descriptor: str) -> Any:
    return None if value is None else _CONVERSIONS[descriptor](value)
