"""What is registered for an operator, by the core's rows and from Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import _C
from tl_core.dispatch import registrations
from tl_core.dispatch.layers import DEVICES
from tl_core.dispatch.registrations import Registration

__all__ = ["has_kernel", "implemented", "resolve_packet"]


def has_kernel(op: str, key: str) -> bool:
    """Whether a function is registered for an operator at a dispatch key.

    Args:
        op: the operator's native name.
        key: the key's name.
    """
    if registrations.of(op, key):
        return True
    if "::" in op:  # it came at run time: from a library in C, if not from Python
        may = key in DEVICES and not _from_python(op) and _C._is_operator(op)
        return may and _C._has_kernel(op, DEVICES[key])
    _, is_composite, has_derivative = _C._operator_facts(op)[:3]
    if key == "CompositeImplicitAutograd":
        return is_composite
    if key.startswith("Autograd"):
        return has_derivative and not is_composite
    return key in DEVICES and not is_composite and _C._has_kernel(op, DEVICES[key])


def _from_python(op: str) -> bool:
    return any(registrations.of(op, key) for key in (*DEVICES, *registrations._COMPOSITES))


def implemented(op: str, key: Any) -> Callable[[Any], Any]:
    """A decorator that registers a function for an operator and a key, for the rest of the process.

    Args:
        op: the operator's native name.
        key: the dispatch key.
    """

    def decorate(function: Any) -> Any:
        registrations.put(Registration(op, getattr(key, "name", key), function))
        return function

    return decorate


def resolve_packet(packet: Any, *args: Any, **kwargs: Any) -> str:
    """The overload that a call of a packet takes.

    Args:
        packet: the overloads of one name.
        *args: the arguments.
        **kwargs: those by keyword.

    Raises:
        RuntimeError: none takes the arguments.
    """
    reasons = []
    for overload in packet.overloads():
        native_name = getattr(packet, overload)._native_name
        if not _C._is_operator(native_name):  # a function of Python, which a call of the packet does not take
            continue
        reason = _C._why_not(native_name, *args, **kwargs)
        if reason is None:
            return overload
        reasons.append(reason)
    raise RuntimeError(f"failed to match any schema of {packet}:\n" + "\n".join(reasons))
