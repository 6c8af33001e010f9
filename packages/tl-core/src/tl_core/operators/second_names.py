"""Packets of the namespace aten for second names of operators: `clip` is `clamp`, `greater` is `gt`.

Their overloads are those of the first name; handlers and graphs meet the operator by its first name.
"""

from __future__ import annotations

from tl_core import _C
from tl_core.base.row_facts import facts
from tl_core.operators.packets import OpOverloadPacket

__all__ = ["FIRST_NAMES", "packet_of"]

# PyTorch has operators of these names with parameters of their own.
_OWN_OPERATORS = ("swapaxes", "swapdims")
FIRST_NAMES: dict[str, str] = {
    second: first for second, first in facts("second_names").items() if second not in _OWN_OPERATORS
}


def first_name(name: str) -> str:
    """The first name of an operator.

    Args:
        name: a name.

    Example:
        >>> first_name("clip_"), first_name("add")
        ('clamp_', 'add')
    """
    return FIRST_NAMES.get(name, name)


def packet_of(name: str) -> OpOverloadPacket | None:
    """The packet of a second name; None if it is none.

    Args:
        name: the name.

    Example:
        >>> packet_of("subtract"), packet_of("sub")
        (<OpOverloadPacket(op='aten.subtract')>, None)
    """
    if name not in FIRST_NAMES:
        return None
    overloads = {}
    for full, schema in _C._operators().items():
        base, _, overload = full.partition(".")
        if base == FIRST_NAMES[name]:
            overloads[overload or "default"] = full, name + schema[len(base) :]
    packet = OpOverloadPacket("aten", name, overloads)
    for overload in overloads:
        operator = getattr(packet, overload)
        operator._name = operator.__qualname__ = f"aten::{name}" + (
            "" if overload == "default" else f".{overload}"
        )
    return packet
