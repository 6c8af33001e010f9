"""The table of tl's own translations, and how functions enter it.

A translation gets a `Call` and the arguments of the operator. The attributes of the call are ONNX's operators:
`op.Add(x, y)` records a node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["COMPLEX", "OWN", "translates", "translates_complex"]

OWN: dict[str, Callable[..., Any]] = {}
COMPLEX: dict[str, Callable[..., Any]] = {}


def translates_complex(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function translates the operators of these names for complex tensors.

    Args:
        names: qualified names.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        COMPLEX.update(dict.fromkeys(names, function))
        return function

    return register


def translates(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function translates the operators of these names.

    Args:
        names: qualified names.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        OWN.update(dict.fromkeys(names, function))
        return function

    return register
