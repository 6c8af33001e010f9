"""Values of enumerations, looked up in classes that the program has imported itself."""

from __future__ import annotations

import enum
import pickle
import sys
from typing import Any

from .globals import Global

__all__ = ["imported_enum"]

_FLAGS_OWN = getattr(enum.Flag._missing_, "__func__", None)


def imported_enum(module: str, name: str) -> Global | None:
    """An enumeration that is already there; nothing is imported, and no attribute is computed. None if it isn't."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = (
            vars(found).get(part) if hasattr(type(found), "__dict__") and hasattr(found, "__dict__") else None
        )
    if not isinstance(found, type) or not issubclass(found, enum.Enum):
        return None
    kind = found

    def member(value: Any) -> Any:
        return _member(kind, value)

    return Global(f"{module}.{name}", member)


def _member(kind: Any, value: Any) -> Any:
    if type(value) not in (int, str, float, bool, bytes, type(None), tuple):
        raise pickle.UnpicklingError(f"a value of {kind.__qualname__} is a {type(value).__name__!r}")
    for known in kind.__members__.values():
        if type(known._value_) is type(value) and known._value_ == value:
            return known
    if issubclass(kind, enum.Flag) and getattr(kind._missing_, "__func__", 0) is _FLAGS_OWN:
        return kind(value)  # several flags at once
    raise pickle.UnpicklingError(f"{kind.__qualname__} has no value {value!r}")
