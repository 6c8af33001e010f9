"""Which function writes an operator as nodes of ONNX, and since which operator set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["register_custom_op_symbolic", "registered", "unregister_custom_op_symbolic"]

FIRST_OPSET, LAST_OPSET = 9, 23

_by_operator: dict[str, dict[int, Callable[..., Any]]] = {}


def _checked(symbolic_name: str) -> str:
    space, _, name = symbolic_name.partition("::")
    if not (space and name):
        raise ValueError(
            f"Failed to register operator {symbolic_name}. The symbolic name must match the format domain::name, and "
            "should start with a letter and contain only alphanumerical characters"
        )
    return symbolic_name


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int
) -> None:
    """Says how an operator is written as ONNX, for an operator set and those after it.

    Args:
        symbolic_name: `namespace::name`.
        symbolic_fn: takes the graph and the operator's arguments, and returns the graph's values.
        opset_version: the first operator set that has what the function writes.

    Raises:
        ValueError: the name has no namespace.

    Example:
        >>> register_custom_op_symbolic("mine::twice", lambda g, x: g.op("Add", x, x), 9)
        >>> unregister_custom_op_symbolic("mine::twice", 9)
    """
    name = _checked(symbolic_name).removesuffix("_")
    _by_operator.setdefault(name, {})[max(opset_version, FIRST_OPSET)] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Forgets what `register_custom_op_symbolic` was given.

    Args:
        symbolic_name: `namespace::name`.
        opset_version: the operator set that it was given for.

    Raises:
        ValueError: the name has no namespace.
    """
    name = _checked(symbolic_name).removesuffix("_")
    _by_operator.get(name, {}).pop(max(opset_version, FIRST_OPSET), None)


def registered(symbolic_name: str, opset_version: int = LAST_OPSET) -> Callable[..., Any] | None:
    """The function for an operator: that of the latest operator set up to the one named; None without one.

    Args:
        symbolic_name: `namespace::name`.
        opset_version: the operator set that is written.
    """
    found = _by_operator.get(symbolic_name, {})
    usable = [version for version in found if version <= opset_version]
    return found[max(usable)] if usable else None
