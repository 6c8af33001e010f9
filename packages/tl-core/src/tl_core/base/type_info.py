"""The limits of the element types."""

from __future__ import annotations

import re
from typing import Any

from tl_core import _C

# name: (bits, digits of the significand after the point, largest exponent, smallest exponent)
_FLOATS = {"float16": (16, 10, 15, -14), "bfloat16": (16, 7, 127, -126), "float32": (32, 23, 127, -126),
           "float64": (64, 52, 1023, -1022), "float8_e4m3fn": (8, 3, 8, -6), "float8_e5m2": (8, 2, 15, -14),
           "float8_e4m3fnuz": (8, 3, 7, -7), "float8_e5m2fnuz": (8, 2, 15, -15), "float8_e8m0fnu": (8, 0, 127, -127),
           "float4_e2m1fn_x2": (4, 1, 2, 0)}  # fmt: skip
_QUANTIZED = {"quint8": (8, False), "qint8": (8, True), "qint32": (32, True)}  # bits, signed
_INTEGER = re.compile(r"(u?)int(\d+)")


class finfo:
    """The limits of a floating-point type: IEEE 754, and the formats of bfloat16 and float8.

    >>> finfo(float32).bits
    32
    """

    __module__ = "tl_core"

    def __init__(self, type: Any = None, /) -> None:
        dtype = _C.get_default_dtype() if type is None else type
        if not isinstance(dtype, _C.dtype) or not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{dtype}'"
            )
        self.dtype = str(dtype.to_real()).removeprefix("torch.")
        self.bits, digits, largest, smallest = _FLOATS[self.dtype]
        self.eps = 2.0**-digits
        # NaN takes the code of what would be the largest number of E4M3.
        steps = 2.0 if self.dtype == "float8_e4m3fn" else 1.0
        self.max = (2.0 - steps * 2.0**-digits) * 2.0**largest
        self.tiny = self.smallest_normal = 2.0**smallest
        self.min = -self.max if dtype.to_real().is_signed else self.tiny
        self.resolution = {10: 1e-3, 7: 1e-2, 23: 1e-6, 52: 1e-15}.get(digits, 1.0)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


class iinfo:
    """The limits of an integer type.

    >>> iinfo(int8).max
    127
    """

    __module__ = "tl_core"

    def __init__(self, type: Any, /) -> None:
        limits = _limits_of(str(type).removeprefix("torch.")) if isinstance(type, _C.dtype) else None
        if limits is None:
            raise TypeError(
                f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type}'"
            )
        self.dtype = str(type).removeprefix("torch.")
        self.bits, signed = limits
        self.min = -(1 << self.bits - 1) if signed else 0
        self.max = (1 << self.bits - signed) - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


def _limits_of(name: str) -> tuple[int, bool] | None:
    """The bits of an integer type, quantized or not, and whether there are negative numbers."""
    match = _INTEGER.fullmatch(name)
    return (int(match[2]), not match[1]) if match else _QUANTIZED.get(name)


def element_size(dtype: _C.dtype) -> int:
    """The bytes of one element of a type."""
    return dtype.itemsize
