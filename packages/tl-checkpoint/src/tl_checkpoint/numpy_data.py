"""NumPy's scalars, arrays and dtypes in a pickle, made of their bytes; object arrays are refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from .unfinished import Unfinished

__all__ = ["known"]


class _Dtype(Unfinished):
    """A dtype that a pickle describes in two steps: its code, then byte order and fields."""

    def __init__(self, code: Any, align: Any = False, copy: Any = False) -> None:
        if type(code) is not str or "O" in code:
            raise pickle.UnpicklingError(f"a NumPy dtype of {code!r} isn't read as data")
        import numpy

        self.dtype = numpy.dtype(code)

    def finished(self, state: Any) -> Any:
        if type(state) is not tuple or len(state) < 2 or state[1] not in ("<", ">", "|", "="):
            raise pickle.UnpicklingError("a NumPy dtype is damaged")
        if len(state) > 4 and (state[2] is not None or state[3] is not None):
            raise pickle.UnpicklingError("NumPy dtypes with fields aren't read as data")
        return self.dtype.newbyteorder(state[1])


class _Array(Unfinished):
    """An array that a pickle describes in two steps."""

    def finished(self, state: Any) -> Any:
        import numpy

        if type(state) is not tuple or len(state) != 5 or not isinstance(state[2], numpy.dtype):
            raise pickle.UnpicklingError("a NumPy array is damaged")
        _, shape, kind, fortran, data = state
        if type(data) is not bytes or not all(type(n) is int and n >= 0 for n in shape):
            raise pickle.UnpicklingError("a NumPy array is damaged")
        try:
            return numpy.frombuffer(data, kind).copy().reshape(shape, order="F" if fortran else "C")
        except ValueError as error:
            raise pickle.UnpicklingError(f"a NumPy array is damaged: {error}") from None


def _reconstruct(kind: Any, shape: Any, code: Any) -> _Array:
    return _Array()


def _scalar(kind: Any, data: Any = b"") -> Any:
    import numpy

    if not isinstance(kind, numpy.dtype) or type(data) is not bytes or len(data) != kind.itemsize:
        raise pickle.UnpicklingError("a NumPy scalar is damaged")
    return numpy.frombuffer(data, kind)[0]


def _nothing(*args: Any) -> None:
    raise pickle.UnpicklingError("numpy.ndarray isn't called while a file is read as data")


def known(full: str) -> Callable[..., Any] | None:
    """What stands for a global of numpy; None if it isn't allowed."""
    if full == "numpy.dtype":
        return _Dtype
    if full == "numpy.ndarray":
        return _nothing
    parts = full.split(".")
    inside = parts[1:-1]
    if inside in (["core", "multiarray"], ["_core", "multiarray"]):
        makers: dict[str, Callable[..., Any]] = {"_reconstruct": _reconstruct, "scalar": _scalar}
        return makers.get(parts[-1])
    return None
