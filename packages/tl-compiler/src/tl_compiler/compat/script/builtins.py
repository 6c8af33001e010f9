"""`torch.jit._builtins`: the operators that functions stand for in scripted code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_compiler.scripting.names import operator_of, packet_of, register_function

__all__: list[str] = []


def _find_builtin(fn: Callable[..., Any]) -> str | None:
    """The full name of the operator that a function stands for; None without one.

    Args:
        fn: the function.

    Example:
        >>> import math
        >>> _find_builtin(math.sqrt), _find_builtin(print)
        ('aten::sqrt', None)
    """
    own = operator_of(fn)
    if own is not None:
        return f"aten::{own}"
    packet = packet_of(fn)
    return None if packet is None else "::".join(packet)


def _register_builtin(fn: Callable[..., Any], op: str) -> None:
    """Lets a function stand for an operator in code that is compiled from now on.

    Args:
        fn: the function.
        op: the full name of the operator, such as `mylib::double`.

    Raises:
        ValueError: the name has no namespace.

    Example:
        >>> def root(x): ...
        >>> _register_builtin(root, "aten::sqrt")
        >>> _find_builtin(root)
        'aten::sqrt'
    """
    register_function(fn, op)
