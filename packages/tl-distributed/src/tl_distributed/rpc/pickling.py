"""Calls and their results as bytes and a list of tensors."""

from __future__ import annotations

import io
import pickle
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.tensors.parameter import Parameter

_LAYOUTS = (tl_core.strided, tl_core.sparse_coo)


_SMALL = 64  # elements
_DTYPES = (tl_core.float32, tl_core.float64, tl_core.int64, tl_core.int32, tl_core.uint8)
_CODES = {dtype: code for code, dtype in enumerate(_DTYPES)}


class _Thread(threading.local):
    tensors: Sequence[Tensor] = ()


_thread = _Thread()
_reducers: dict[type, Callable[[Any], Any]] = {}


def register_reducer(kind: type, reducer: Callable[[Any], Any]) -> None:
    """Sets the pickled form that objects of a class have in calls.

    Args:
        kind: the class, without its subclasses.
        reducer: returns what `__reduce__` would.
    """
    _reducers[kind] = reducer


def tensor_at(position: int) -> Tensor:
    """The tensor of the message that this thread reads."""
    return _thread.tensors[position]


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, tensors: list[Tensor]):
        super().__init__(file, 5)
        self._tensors = tensors

    def reducer_override(self, value: Any) -> Any:
        reducer = _reducers.get(type(value))
        if reducer is not None:
            return reducer(value)
        if isinstance(value, Tensor) and is_plain(value):
            small = _small(value)
            if small is not None:
                return small
            self._tensors.append(value)
            return tensor_at, (len(self._tensors) - 1,)
        return _name_of(value) or NotImplemented


def _name_of(value: Any) -> str | None:
    """The name by which another worker imports a callable object, such as a scripted function; None for others."""
    name = getattr(value, "__dict__", {}).get("__qualname__") if callable(value) else None
    if not isinstance(name, str):
        return None
    target: Any = sys.modules.get(value.__module__)
    for part in name.split("."):
        target = getattr(target, part, None)
    return name if target is value else None


def _small(tensor: Tensor) -> Any:
    """The form of a small tensor within the pickled content; None for other tensors."""
    code = _CODES.get(tensor.dtype)
    if code is None or tensor.requires_grad or not tensor.is_contiguous() or not 0 < tensor.numel() <= _SMALL:
        return None
    if tensor.layout != tl_core.strided or tensor.is_neg():
        return None
    return small_tensor, (bytes(memoryview(tensor)), code, tuple(tensor.shape))


def small_tensor(content: bytes, code: int, shape: tuple[int, ...]) -> Tensor:
    """A small tensor of its bytes.

    Args:
        content: the bytes of the elements.
        code: the number of the element type.
        shape: the sizes.
    """
    return tl_core.frombuffer(bytearray(content), dtype=_DTYPES[code]).reshape(shape)


def is_plain(tensor: Tensor) -> bool:
    """True for tensors that a frame carries as bytes."""
    return (
        type(tensor) in (Tensor, Parameter)
        and tensor.layout in _LAYOUTS
        and tensor.device.type == "cpu"
        and not tensor.is_quantized
        and not tensor.is_nested
    )


def serialize(value: Any) -> tuple[bytes, list[Tensor]]:
    """The pickled form of a value, and its tensors.

    Args:
        value: anything that pickles; tensors stay tensors.

    Returns:
        The bytes, and the tensors that they refer to by position.
    """
    file = io.BytesIO()
    tensors: list[Tensor] = []
    _Pickler(file, tensors).dump(value)
    return file.getvalue(), tensors


def deserialize(content: bytes | bytearray | memoryview, tensors: Sequence[Tensor]) -> Any:
    """The value of a pickled form.

    Args:
        content: what `serialize` returned first.
        tensors: what it returned second.
    """
    before, _thread.tensors = _thread.tensors, tensors
    try:
        return pickle.loads(content)
    finally:
        _thread.tensors = before
