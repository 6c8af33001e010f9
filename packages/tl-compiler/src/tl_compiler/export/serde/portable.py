"""Names of operators that other implementations know, where this library's own differ."""

from __future__ import annotations

from typing import Any

from tl_core.ops import OpOverload

from ...fx.node import Node

__all__ = ["aliases", "portable_name"]

# Operators here take numbers where they take tensors; elsewhere there is an overload for them.
_WITH_SCALAR = frozenset(
    [
        "gt",
        "lt",
        "ge",
        "le",
        "eq",
        "ne",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "bitwise_left_shift",
        "bitwise_right_shift",
        "fmod",
        "remainder",
        "pow",
        "float_power",
    ]
)
_SCALAR = {"Tensor": "Scalar", "Tensor_Tensor": "Tensor_Scalar"}
_TENSOR = {v: k for k, v in _SCALAR.items()}
_ELSEWHERE = {"aten.cross_entropy_of_classes.default": "aten.cross_entropy_loss.default"}
_HERE = {v: k for k, v in _ELSEWHERE.items()}


def portable_name(node: Node) -> str:
    """The name of the operator that a node calls, as other implementations know it.

    Args:
        node: the node.
    """
    target: Any = node.target
    name = str(target)
    if not isinstance(target, OpOverload) or len(node.args) < 2 or isinstance(node.args[1], Node):
        return _ELSEWHERE.get(name, name)
    base, overload = target.overloadpacket.__name__, target._overloadname
    numbers = isinstance(node.args[1], (bool, int, float, complex))
    if numbers and base.removesuffix("_") in _WITH_SCALAR and overload in _SCALAR:
        return f"aten.{base}.{_SCALAR[overload]}"
    return _ELSEWHERE.get(name, name)


def aliases(name: str) -> list[str]:
    """Names under which an operator may be known here.

    Args:
        name: its name in a file, such as `aten.gt.Scalar`.

    Returns:
        The name, then others.

    Example:
        >>> aliases("aten.gt.Scalar")
        ['aten.gt.Scalar', 'aten.gt.Tensor']
    """
    found = [name]
    head, _, overload = name.rpartition(".")
    if overload in _TENSOR:
        found.append(f"{head}.{_TENSOR[overload]}")
    if name in _HERE:
        found.append(_HERE[name])
    return found
