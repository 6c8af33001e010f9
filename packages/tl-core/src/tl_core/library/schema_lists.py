"""Schemas and operators by name, as programs ask `torch._C` for them."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core.dispatch import queries
from tl_core.dispatch.keys import DispatchKey
from tl_core.operators import packets as ops
from tl_core.operators.names import parse_namespace

__all__ = ["operators_of_libraries"]


def _packet(qualname: str) -> Any:
    return ops._packet(*parse_namespace(qualname))


def _jit_get_all_schemas() -> list[Any]:
    """The schemas of all operators."""
    return [ops._overload(name)._schema for name in _C._operators()]


def _jit_get_schemas_for_operator(qualname: str) -> list[Any]:
    """The schemas of one name's overloads; none for a name without operators."""
    try:
        return list(_packet(qualname)._schemas.values())
    except AttributeError:
        return []


def _jit_resolve_packet(qualname: str, *args: Any, **kwargs: Any) -> str:
    """The overload that a call takes."""
    return queries.resolve_packet(_packet(qualname), *args, **kwargs)


def _jit_get_operation(qualname: str) -> tuple[Any, list[str]]:
    """(the operator, its overloads' names, the default's being empty)."""
    packet = _packet(qualname)
    return packet, ["" if name == "default" else name for name in packet.overloads()]


def _get_operation_overload(qualname: str, overload: str) -> Any:
    """(the operator, the same for redispatch, its tags); None if there is none."""
    operator = getattr(_packet(qualname), overload or "default", None)
    return None if operator is None else (operator, operator.redispatch, operator.tags)


def _get_schema(qualname: str, overload: str) -> Any:
    """The schema of one overload."""
    return getattr(_packet(qualname), overload or "default")._schema


def _dispatch_has_kernel_for_dispatch_key(qualname: str, key: Any) -> bool:
    """Whether a function is registered for a key."""
    return ops._overload(qualname.removeprefix("aten::")).has_kernel_for_dispatch_key(key)


def _dispatch_has_kernel(qualname: str) -> bool:
    """Whether there is such an operator."""
    return _C._is_operator(qualname.removeprefix("aten::"))


def _dispatch_dump(qualname: str) -> str:
    """An operator's name, its schema, and the keys for which functions are registered: a line each."""
    if not _dispatch_has_kernel(qualname):
        return f"name: {qualname}\n"
    op = ops._overload(qualname.removeprefix("aten::"))
    keys = [key for key in DispatchKey.__members__ if op.has_kernel_for_dispatch_key(key)]
    return "".join(f"{line}\n" for line in (f"name: {op.name()}", f"schema: {op._schema}", *keys))


def _dispatch_get_all_op_names() -> list[str]:
    """The names of all operators."""
    return [name if "::" in name else f"aten::{name}" for name in _C._operators()]


def _dispatch_get_registrations_for_dispatch_key(key: str = "") -> list[str]:
    """The names of the operators that have a function for a key; of all without one."""
    names = _dispatch_get_all_op_names()
    return [name for name in names if not key or _dispatch_has_kernel_for_dispatch_key(name, key)]


def operators_of_libraries() -> list[Any]:
    """The operators that came at run time.

    Example:
        >>> isinstance(operators_of_libraries(), list)
        True
    """
    return [ops._overload(name) for name in _C._operators() if "::" in name]
