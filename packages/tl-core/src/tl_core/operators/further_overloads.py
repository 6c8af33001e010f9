"""The overloads of a packet of aten beside those of its rows: for numbers, with out tensors, and others."""

from __future__ import annotations

import functools

from tl_core.operators import number_functions, number_overloads, out_overloads, tensor_overloads
from tl_core.operators.composites import CompositeOperator
from tl_core.operators.names import overloads_by_packet
from tl_core.operators.packets import OpOverload, OpOverloadPacket

__all__ = ["names_of", "overload_of"]

_TABLES = (
    (tensor_overloads.rows, CompositeOperator),
    (number_functions.rows, number_functions.NumberOperator),
)


@functools.cache
def _names() -> dict[str, list[str]]:
    """The overloads of both tables by packet."""
    return overloads_by_packet(full for rows, _ in _TABLES for full in rows())


def names_of(packet: OpOverloadPacket) -> list[str]:
    """The names of the overloads.

    Args:
        packet: the packet.

    Example:
        >>> from tl_core.operators.packets import aten
        >>> names_of(aten.bmm)
        ['dtype', 'dtype_out']
    """
    return [
        *number_overloads.names_of(packet),
        *_names().get(packet.__name__, ()),
        *out_overloads.names_of(packet),
    ]


def overload_of(packet: OpOverloadPacket, overload: str) -> OpOverload | None:
    """The overload of that name; None if the packet has none.

    Args:
        packet: the packet.
        overload: the name of the overload.

    Example:
        >>> from tl_core.operators.packets import aten
        >>> overload_of(aten.mul, "Scalar_out")
        <OpOverload(op='aten.mul', overload='Scalar_out')>
    """
    full = packet.__name__ + ("" if overload == "default" else f".{overload}")
    for rows, kind in _TABLES:
        if full in rows():
            return kind(packet, overload, *rows()[full])
    return number_overloads.overload_of(packet, overload) or out_overloads.overload_of(packet, overload)
