"""The engine that `backends.quantized.engine` names: all engines have the same kernels and differ in their defaults."""

from __future__ import annotations

from tl_core.settings import switches

__all__ = ["engine"]

_SWITCH = "backends.quantized.engine"
switches.declare(_SWITCH, "x86", str)


def engine() -> str:
    """The name of the selected engine.

    Example:
        >>> engine()
        'x86'
    """
    name: str = switches.get(_SWITCH)
    return name
