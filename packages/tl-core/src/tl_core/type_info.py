"""The limits of the element types."""

from __future__ import annotations

from typing import Any

from tl_core import _C

# name: (bits, digits of the significand after the point, largest exponent, smallest exponent)
_FLOATS = {"float16": (16, 10, 15, -14), "bfloat16": (16, 7, 127, -126), "float32": (32, 23, 127, -126),
           "float64": (64, 52, 1023, -1022)}  # fmt: skip


class finfo:
    """The limits of a floating-point type, IEEE 754 for all but bfloat16.

    >>> finfo(float32).bits
    32
    """

    __module__ = "tl_core"

    def __init__(self, type: Any = None, /) -> None:
        given = _C.get_default_dtype() if type is None else type
        if not isinstance(given, _C.dtype) or not (given.is_floating_point or given.is_complex):
            raise TypeError(
                f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{given}'"
            )
        self.dtype = str(given.to_real()).removeprefix("torch.")
        self.bits, digits, largest, smallest = _FLOATS[self.dtype]
        self.eps = 2.0**-digits
        self.max = (2.0 - 2.0**-digits) * 2.0**largest
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0**smallest
        self.resolution = {10: 1e-3, 7: 1e-2, 23: 1e-6, 52: 1e-15}[digits]

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
        if not isinstance(type, _C.dtype) or type.is_floating_point or type.is_complex or type is _C.bool:
            raise TypeError(
                f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type}'"
            )
        self.dtype = str(type).removeprefix("torch.")
        self.bits = 8 * type.itemsize
        self.min = -(1 << self.bits - 1) if type.is_signed else 0
        self.max = (1 << self.bits - type.is_signed) - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


def element_size(dtype: _C.dtype) -> int:
    """The bytes of one element of a type."""
    return dtype.itemsize
