"""Values of enumerations, from classes that the program has imported."""

from __future__ import annotations

import enum
import pickle
import sys
from typing import Any

from .globals import Global

__all__ = ["imported_enum"]

_FLAGS_OWN = getattr(enum.Flag._missing_, "__func__", None)


def imported_enum(module: str, name: str) -> Global | None:
    """An enumeration that is imported already, else None. The lookup imports and computes nothing."""
    value: Any = sys.modules.get(module)
    for part in name.split("."):
        value = (
            vars(value).get(part) if hasattr(type(value), "__dict__") and hasattr(value, "__dict__") else None
        )
    if not isinstance(value, type) or not issubclass(value, enum.Enum):
        return None
    kind = value

    def member(value: Any) -> Any:
        return _member(kind, value)

    return Global(f"{module}.{name}", member)


def _member(kind: Any, value: Any) -> Any:
    if type(value) not in (int, str, float, bool, bytes, type(None), tuple):
        raise pickle.UnpicklingError(f"a value of {kind.__qualname__} is a {type(value).__name__!r}")
    for member in kind.__members__.values():
        if type(member._value_) is type(value) and member._value_ == value:
            return member
    if issubclass(kind, enum.Flag) and getattr(kind._missing_, "__func__", 0) is _FLAGS_OWN:
        return kind(value)  # several flags at once
    raise pickle.UnpicklingError(f"{kind.__qualname__} has no value {value!r}")
