"""The tensors in nested lists, tuples and dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core._C import Tensor

__all__ = ["map_tensors", "tensors_in"]


def map_tensors(x: Any, f: Callable[[Any], Any]) -> Any:
    """A copy of a structure with a result in the place of each tensor.

    Args:
        x: a tensor, or lists, tuples and dictionaries. Other objects stay.
        f: receives a tensor, and returns the object that replaces it.
    """
    if isinstance(x, Tensor):
        return f(x)
    if type(x) is tuple or type(x) is list:
        return type(x)([map_tensors(item, f) for item in x])
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*[map_tensors(item, f) for item in x])
    if isinstance(x, dict):
        return {name: map_tensors(item, f) for name, item in x.items()}
    if isinstance(x, tuple):
        return type(x)([map_tensors(item, f) for item in x])
    return x


def tensors_in(x: Any) -> list[Any]:
    """The tensors in a structure, in their order.

    Args:
        x: a tensor, or lists, tuples and dictionaries.
    """
    tensors: list[Any] = []
    _append_tensors(x, tensors)
    return tensors


def _append_tensors(x: Any, tensors: list[Any]) -> None:
    if isinstance(x, Tensor):
        tensors.append(x)
    elif isinstance(x, (tuple, list)):
        for item in x:
            _append_tensors(item, tensors)
    elif isinstance(x, dict):
        for item in x.values():
            _append_tensors(item, tensors)
