"""Nodes of quantized tensors, whose integers are other tensors on the same memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_core.operators import packets
from tl_core.tensors import quantized_tensor

from ..fx.node import Node

__all__ = ["conversion_node"]

_INTEGERS = {tl_core.quint8: tl_core.uint8, tl_core.qint8: tl_core.int8, tl_core.qint32: tl_core.int32}
_TYPES = _INTEGERS | {integers: quantized for quantized, integers in _INTEGERS.items()}


def conversion_node(
    t: Any, location: Any, in_memory: dict[Any, tuple[Any, Node]], create: Callable[..., Node]
) -> Node | None:
    """The node of a quantized tensor or of integers, of which only the other one is a result of an operator.

    The packages that compute with quantized tensors convert between the two without an operator.

    Args:
        t: the tensor, which has no node.
        location: the place, the type and the geometry of its elements.
        in_memory: the tensors with nodes by their locations.
        create: creates the node of an operator and its arguments.

    Returns:
        The node of a new conversion, or None if neither has a node.
    """
    _, node = in_memory.get(_other(location), (None, None))
    if node is None:
        return None
    return (
        create(*_quantization(t), node) if t.is_quantized else create(packets.aten.int_repr.default, (), node)
    )


def forget_conversions(location: Any, in_memory: dict[Any, tuple[Any, Node]]) -> None:
    """Removes the node of the other tensor on the same memory, because an operator has written it.

    Args:
        location: the place, the type and the geometry of the elements that have a new node.
        in_memory: the tensors with nodes by their locations.
    """
    in_memory.pop(_other(location), None)


def _other(location: Any) -> Any:
    """The location of the integers of a quantized tensor, or of the quantized tensor with these integers."""
    if not isinstance(location, tuple) or location[1] not in _TYPES:
        return None
    address, dtype, *geometry = location
    return address, _TYPES[dtype], *geometry


def _quantization(t: Any) -> tuple[Any, tuple[Any, ...]]:
    quantizer = quantized_tensor.quantizer(t)
    name = "per_tensor" if len(quantizer) == 2 else "per_channel"
    return getattr(packets.aten, f"_make_{name}_quantized_tensor").default, quantizer
