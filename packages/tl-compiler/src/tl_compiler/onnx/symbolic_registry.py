"""Registry of functions that write operators as ONNX nodes, by operator set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["register_custom_op_symbolic", "find_symbolic", "unregister_custom_op_symbolic"]

FIRST_OPSET, LAST_OPSET = 9, 23

_by_operator: dict[str, dict[int, Callable[..., Any]]] = {}


def _check_name(symbolic_name: str) -> str:
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
    """Registers the function that writes an operator as ONNX, for an operator set and later ones.

    Args:
        symbolic_name: `namespace::name`.
        symbolic_fn: takes the graph and the operator's arguments, and returns the graph's values.
        opset_version: the first operator set that supports the function's nodes.

    Raises:
        ValueError: the name has no namespace.

    Example:
        >>> register_custom_op_symbolic("mine::twice", lambda g, x: g.op("Add", x, x), 9)
        >>> unregister_custom_op_symbolic("mine::twice", 9)
    """
    name = _check_name(symbolic_name).removesuffix("_")
    _by_operator.setdefault(name, {})[max(opset_version, FIRST_OPSET)] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Removes a function of `register_custom_op_symbolic`.

    Args:
        symbolic_name: `namespace::name`.
        opset_version: the operator set of the registration.

    Raises:
        ValueError: the name has no namespace.
    """
    name = _check_name(symbolic_name).removesuffix("_")
    _by_operator.get(name, {}).pop(max(opset_version, FIRST_OPSET), None)


def find_symbolic(symbolic_name: str, opset_version: int = LAST_OPSET) -> Callable[..., Any] | None:
    """The function of an operator for the latest registered operator set up to `opset_version`; None without one.

    Args:
        symbolic_name: `namespace::name`.
        opset_version: the operator set of the file.
    """
    versions = _by_operator.get(symbolic_name, {})
    usable = [version for version in versions if version <= opset_version]
    return versions[max(usable)] if usable else None
