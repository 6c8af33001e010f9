"""The element types and schemes of quantized tensors: an integer has the value `(integer - zero_point) * scale`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tl_core

__all__ = [
    "QScheme",
    "bits_of",
    "bounds",
    "is_quantized_dtype",
    "per_channel_affine",
    "per_channel_affine_float_qparams",
    "per_channel_symmetric",
    "per_tensor_affine",
    "per_tensor_symmetric",
    "qint8",
    "qint32",
    "quantized_dtype",
    "quint2x4",
    "quint4x2",
    "quint8",
    "storage_dtype",
]


@dataclass(frozen=True)
class QScheme:
    """The assignment of scales and zero points to elements."""

    name: str

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


#: Integers from 0 to 255.
quint8 = tl_core.quint8
#: Integers from -128 to 127.
qint8 = tl_core.qint8
#: Integers of 32 bits.
qint32 = tl_core.qint32
#: Integers from 0 to 15, two of which share a byte in files and in `int_repr`.
quint4x2 = tl_core.quint4x2
#: Integers from 0 to 3, four of which share a byte in files and in `int_repr`.
quint2x4 = tl_core.quint2x4

#: One scale and one zero point.
per_tensor_affine = QScheme("per_tensor_affine")
#: One scale, with the zero point in the middle of the integers.
per_tensor_symmetric = QScheme("per_tensor_symmetric")
#: A scale and a zero point for each slice along an axis.
per_channel_affine = QScheme("per_channel_affine")
#: A scale for each slice along an axis, with the zero points in the middle of the integers.
per_channel_symmetric = QScheme("per_channel_symmetric")
#: A scale and a zero point, both floating numbers, for each slice along an axis.
per_channel_affine_float_qparams = QScheme("per_channel_affine_float_qparams")

_BY_STORAGE = {tl_core.uint8: quint8, tl_core.int8: qint8, tl_core.int32: qint32}
_BITS = {quint4x2: 4, quint2x4: 2}  # of types smaller than a byte
_STORAGE = {dtype: storage for storage, dtype in _BY_STORAGE.items()} | dict.fromkeys(_BITS, tl_core.uint8)


def is_quantized_dtype(dtype: Any) -> bool:
    """Whether it is the element type of quantized tensors.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> tq.is_quantized_dtype(tq.quint8), tq.is_quantized_dtype(tl_core.uint8)
        (True, False)
    """
    return isinstance(dtype, tl_core.dtype) and dtype in _STORAGE


def quantized_dtype(dtype: Any) -> tl_core.dtype:
    """Returns a quantized type itself, and for a type of integers the quantized type that stores them.

    Raises:
        ValueError: If `dtype` is neither.

    >>> quantized_dtype(tl_core.int8)
    torch.qint8
    """
    quantized = dtype if is_quantized_dtype(dtype) else _BY_STORAGE.get(dtype)
    if quantized is None:
        raise ValueError(f"dtype must be torch.quint8, torch.qint8 or torch.qint32, but got {dtype}")
    return quantized


def storage_dtype(dtype: Any) -> Any:
    """The type of the integers that a quantized type stores. Other types are returned unchanged.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> tq.storage_dtype(tq.quint8)
        torch.uint8
    """
    return _STORAGE.get(dtype, dtype)


def bits_of(dtype: Any) -> int:
    """The bits of an integer of a quantized type.

    Args:
        dtype: the quantized type.

    Example:
        >>> bits_of(quint4x2), bits_of(qint32)
        (4, 32)
    """
    return _BITS.get(dtype) or 8 * int(_STORAGE[dtype].itemsize)


def bounds(dtype: tl_core.dtype) -> tuple[int, int]:
    """The smallest and the largest integer of a quantized type.

    >>> bounds(qint8)
    (-128, 127)
    """
    if dtype in _BITS:
        return 0, (1 << _BITS[dtype]) - 1
    limits = tl_core.iinfo(dtype)
    return limits.min, limits.max
