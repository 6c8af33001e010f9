"""NumPy's scalars, arrays and dtypes in a pickle, rebuilt from bytes; object arrays are refused."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

from . import numpy_numbers
from .globals import Global
from .unfinished import Unfinished

__all__ = ["find"]

_CODE = re.compile(r"[<>|=]?(b1|[iufc](1|2|4|8|16|32)|[SUVa]\d{1,9}|[mM]8(\[\d*[a-zA-Zμ]+\])?)")
_UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic")


def _dtype_of(code: Any) -> Any:
    import numpy

    if type(code) is not str or not _CODE.fullmatch(code):
        raise pickle.UnpicklingError(f"a NumPy dtype of {code!r} isn't read as data")
    return numpy.dtype(code)


class _Dtype(Unfinished):
    """A dtype that a pickle describes in two steps: its code, then byte order, fields and unit."""

    def __init__(self, code: Any, align: Any = False, copy: Any = False) -> None:
        self.dtype = _dtype_of(code)

    def finish(self, state: Any) -> Any:
        """The dtype."""
        if type(state) is not tuple or len(state) < 5 or state[1] not in ("<", ">", "|", "="):
            raise pickle.UnpicklingError("a NumPy dtype is damaged")
        if any(part is not None for part in state[2:5]):
            raise pickle.UnpicklingError("NumPy dtypes with fields or parts aren't read as data")
        if len(state) == 9:
            self.dtype = _dtype_of(f"{self.dtype.kind}8{_unit(state[8])}")
        return self.dtype.newbyteorder(state[1])


def _unit(metadata: Any) -> str:
    """The unit of dates and durations, in the notation of dtype codes."""
    try:
        unit, count = metadata[1][0], metadata[1][1]
        unit = unit.decode() if type(unit) is bytes else unit
    except (TypeError, IndexError, UnicodeDecodeError):
        raise pickle.UnpicklingError("the unit of a NumPy dtype is damaged") from None
    if unit not in _UNITS or type(count) is not int:
        raise pickle.UnpicklingError("the unit of a NumPy dtype is damaged")
    return "" if unit == "generic" else f"[{count}{unit}]"


class _Array(Unfinished):
    """An array that a pickle describes in two steps."""

    def finish(self, state: Any) -> Any:
        """The array."""
        if type(state) is not tuple or len(state) != 5:
            raise pickle.UnpicklingError("a NumPy array is damaged")
        _, shape, kind, fortran, data = state
        return _array(data, kind, shape, "F" if fortran else "C")


def _array(data: Any, kind: Any, shape: Any, order: Any) -> Any:
    import numpy

    good = isinstance(kind, numpy.dtype) and type(data) in (bytes, bytearray) and type(shape) is tuple
    if not good or order not in ("C", "F") or not all(type(n) is int and n >= 0 for n in shape):
        raise pickle.UnpicklingError("a NumPy array is damaged")
    try:
        flat = numpy.frombuffer(data, kind) if data else numpy.empty(0, kind)
        return flat.copy().reshape(shape, order=order)
    except ValueError as error:
        raise pickle.UnpicklingError(f"a NumPy array is damaged: {error}") from None


def _reconstruct(kind: Any, shape: Any, code: Any) -> _Array:
    return _Array()


def _scalar(kind: Any, data: Any = b"") -> Any:
    import numpy

    if not isinstance(kind, numpy.dtype) or type(data) is not bytes or len(data) != kind.itemsize or not data:
        raise pickle.UnpicklingError("a NumPy scalar is damaged")
    return numpy.frombuffer(data, kind)[0]


_MAKERS: dict[str, Callable[..., Any]] = {
    "multiarray._reconstruct": _reconstruct,
    "multiarray.scalar": _scalar,
    "numeric._frombuffer": _array,
}


def find(full: str) -> Any:
    """The entry for a global of numpy: a constructor, or an allowed class; None if it isn't allowed."""
    try:
        import numpy
    except ImportError:
        return numpy_numbers.find(full)

    if full == "numpy.dtype":
        return Global(full, _Dtype)
    _, *inside, name = full.split(".")
    if inside[:1] in (["core"], ["_core"]) and len(inside) == 2:
        maker = _MAKERS.get(f"{inside[1]}.{name}")
        return Global(full, maker) if maker else None
    modules = {(): numpy, ("dtypes",): getattr(numpy, "dtypes", None)}
    value = vars(modules.get(tuple(inside)) or object).get(name)
    is_kind = isinstance(value, type) and issubclass(value, (numpy.generic, numpy.ndarray, numpy.dtype))
    return value if is_kind and value not in (numpy.object_, numpy.void) else None
