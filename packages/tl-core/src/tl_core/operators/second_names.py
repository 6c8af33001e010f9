"""Packets of the namespace aten for second names of operators: `clip` is `clamp`, `greater` is `gt`.

Their overloads are those of the first name; handlers and graphs meet the operator by its first name.
"""

from __future__ import annotations

from tl_core import _C
from tl_core.operators.packets import OpOverloadPacket

__all__ = ["FIRST_NAMES", "packet_of"]

_WITH_INPLACE = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "clip": "clamp", "divide": "div", "fix": "trunc",
    "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "multiply": "mul",
    "negative": "neg", "not_equal": "ne", "subtract": "sub",
}  # fmt: skip
FIRST_NAMES = {
    **_WITH_INPLACE,
    **{f"{second}_": f"{first}_" for second, first in _WITH_INPLACE.items()},
    "concat": "cat", "concatenate": "cat", "ger": "outer", "moveaxis": "movedim", "row_stack": "vstack",
    "swapaxes_": "transpose_", "swapdims_": "transpose_",
}  # fmt: skip


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
