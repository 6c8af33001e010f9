"""NumPy's scalars in a pickle, read as Python's numbers where NumPy is not installed."""

from __future__ import annotations

import pickle
import struct
from typing import Any

from .globals import Global
from .unfinished import Unfinished

__all__ = ["find"]

_FORMATS = {
    "b1": "?",
    "i1": "b",
    "i2": "h",
    "i4": "i",
    "i8": "q",
    "u1": "B",
    "u2": "H",
    "u4": "I",
    "u8": "Q",
    "f2": "e",
    "f4": "f",
    "f8": "d",
    "c8": "2f",
    "c16": "2d",
}
_ARRAYS = ("multiarray._reconstruct", "numeric._frombuffer")
_INSTALL = "needs numpy, which is not installed: pip install 'tl-checkpoint[numpy]'"


class _Dtype(Unfinished):
    """A dtype that a pickle describes in two steps: its code, then its byte order."""

    def __init__(self, code: Any, align: Any = False, copy: Any = False) -> None:
        self.code = code.lstrip("<>|=") if type(code) is str else ""
        self.order = "<"
        if self.code not in _FORMATS:
            raise pickle.UnpicklingError(f"a NumPy object of dtype {code!r} {_INSTALL}")

    def finish(self, state: Any) -> _Dtype:
        """The dtype."""
        if type(state) is not tuple or len(state) < 5 or state[1] not in ("<", ">", "|", "="):
            raise pickle.UnpicklingError("a NumPy dtype is damaged")
        self.order = ">" if state[1] == ">" else "<"
        return self


def _scalar(kind: Any, data: Any = b"") -> bool | int | float | complex:
    text = kind.order + _FORMATS[kind.code] if isinstance(kind, _Dtype) else ""
    if not text or type(data) is not bytes or len(data) != struct.calcsize(text):
        raise pickle.UnpicklingError("a NumPy scalar is damaged")
    parts = struct.unpack(text, data)
    return complex(*parts) if len(parts) == 2 else parts[0]


def find(full: str) -> Global | None:
    """The entry for a global of numpy. None for a name that is not allowed.

    Raises:
        pickle.UnpicklingError: the name is that of arrays, which need NumPy.
    """
    if full == "numpy.dtype":
        return Global(full, _Dtype)
    _, *inside, name = full.split(".")
    path = f"{inside[1]}.{name}" if inside[:1] in (["core"], ["_core"]) and len(inside) == 2 else ""
    if path in _ARRAYS:
        raise pickle.UnpicklingError(f"an array of NumPy in the file {_INSTALL}")
    return Global(full, _scalar) if path == "multiarray.scalar" else None
