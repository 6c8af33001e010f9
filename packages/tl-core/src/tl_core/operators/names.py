"""Names of operators: `mylib::sinc`, with the overload `mylib::sinc.out`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tl_core import _C
from tl_core.operators import packets as ops

__all__ = ["lookup_op", "native_name", "overloads_by_packet", "parse_namespace", "qualified_name"]


def parse_namespace(qualname: str) -> tuple[str, str]:
    """`mylib::sinc` → (`mylib`, `sinc`).

    Args:
        qualname: the operator's name with its namespace.

    Raises:
        ValueError: it has no namespace, or two.
    """
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(f"Expected `qualname` to be of the form \"namespace::name\", but got {qualname}. "
                         "The qualname passed to the torch.library APIs must consist of a namespace and a name, "
                         "e.g. aten::sin")  # fmt: skip
    return parts[0], parts[1]


def lookup_op(qualname: str) -> Any:
    """The operator of that name; AttributeError if there is none.

    Args:
        qualname: `mylib::sinc`, with the overload where it isn't `default`.
    """
    namespace, name = parse_namespace(qualname)
    base, _, overload = name.partition(".")
    return getattr(ops._packet(namespace, base), overload or "default")


def native_name(qualname: str) -> str:
    """The name under which the core knows it: its own operators have no namespace.

    Args:
        qualname: `aten::add.Tensor`.
    """
    name = qualname.removesuffix(".default")
    bare = name.removeprefix("aten::")
    return bare if bare != name and _C._is_operator(bare) else name


def qualified_name(op: Any, caller: str) -> str:
    """The name of an operator that is given as such, as text, or as what `custom_op` made.

    Args:
        op: the operator.
        caller: who asks, for the message.

    Raises:
        ValueError: it is none of these.
    """
    if isinstance(op, _C._Operator) and hasattr(op, "_qualname"):  # what `custom_op` made
        return op._qualname
    if isinstance(op, ops.OpOverload):
        return op._name
    if isinstance(op, str):
        return op
    raise ValueError(f"{caller}(op): got unexpected type for op: {type(op)}")


def overloads_by_packet(names: Iterable[str]) -> dict[str, list[str]]:
    """The names of overloads, by the packet that has them.

    Args:
        names: the names of operators, such as `add.Scalar`.

    Example:
        >>> overloads_by_packet(["add.Scalar", "add.out", "relu"])
        {'add': ['Scalar', 'out'], 'relu': ['default']}
    """
    overloads: dict[str, list[str]] = {}
    for full in names:
        packet, _, overload = full.partition(".")
        overloads.setdefault(packet, []).append(overload or "default")
    return overloads
