"""Operators of the namespace aten that programs also call as functions of `torch`."""

from __future__ import annotations

from typing import Any

from tl_core.operators.packets import aten

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(aten, name)
