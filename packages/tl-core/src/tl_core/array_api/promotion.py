"""Types in the standard's sense: what is promoted to what, and the limits of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.base import type_info as _type_info

__all__ = ["FloatInfo", "IntInfo", "astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

SIGNED = {name: getattr(_C, name) for name in ("int8", "int16", "int32", "int64")}
UNSIGNED = {name: getattr(_C, name) for name in ("uint8", "uint16", "uint32", "uint64")}
FLOATING = {name: getattr(_C, name) for name in ("float32", "float64")}
COMPLEX = {name: getattr(_C, name) for name in ("complex64", "complex128")}
KINDS: dict[str, dict[str, Any]] = {
    "bool": {"bool": _C.bool},
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED | UNSIGNED,
    "real floating": FLOATING,
    "complex floating": COMPLEX,
    "numeric": SIGNED | UNSIGNED | FLOATING | COMPLEX,
}
_NUMBERS = (bool, int, float, complex)


@dataclass(frozen=True)
class FloatInfo:
    """The limits of a floating-point type.

    Args:
        bits: the bits of an element.
        eps: the step at 1.
        max: the largest number.
        min: the smallest number.
        smallest_normal: the smallest positive normal number.
        dtype: the type of the result; None for the default.
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any


@dataclass(frozen=True)
class IntInfo:
    """The limits of an integer type.

    Args:
        bits: the bits of an element.
        max: the largest number.
        min: the smallest number.
        dtype: the type of the result; None for the default.
    """

    bits: int
    max: int
    min: int
    dtype: Any


def _dtype_of(x: Any) -> Any:
    return x.dtype if isinstance(x, Tensor) else x


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a floating-point or complex type, or of an array's.

    Example:
        >>> finfo(_C.complex64).dtype
        torch.float32
    """
    dtype = _dtype_of(type)
    limits = _type_info.finfo(dtype)
    return FloatInfo(limits.bits, limits.eps, limits.max, limits.min, limits.smallest_normal, dtype.to_real())


def iinfo(type: Any, /) -> IntInfo:
    """The limits of an integer type, or of an array's.

    Example:
        >>> iinfo(_C.int8).max
        127
    """
    dtype = _dtype_of(type)
    limits = _type_info.iinfo(dtype)
    return IntInfo(limits.bits, limits.max, limits.min, dtype)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a type is of a kind, which is a type, the name of a kind or a tuple of these.

    Raises:
        TypeError: it is none of these.
        ValueError: no kind has this name.

    Example:
        >>> isdtype(_C.uint8, ("bool", "integral"))
        True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, _C.dtype):
        return dtype == kind
    if not isinstance(kind, str):
        raise TypeError(f"kind must be a dtype, the name of a kind or a tuple of these, got {kind!r}")
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}")
    return dtype in KINDS[kind].values()


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The type in which operands are combined; an array without dimensions counts as any other.

    Raises:
        ValueError: there is no array and no type among them.
        RuntimeError: two of the types have no common one.

    Example:
        >>> result_type(_C.ones(2, dtype=_C.int8), _C.ones((), dtype=_C.int32))
        torch.int32
    """
    dtypes = [_dtype_of(x) for x in arrays_and_dtypes if not isinstance(x, _NUMBERS)]
    if not dtypes:
        raise ValueError("result_type(): at least one array or dtype is required")
    common = reduce(_C.promote_types, dtypes)
    for number in arrays_and_dtypes:
        if isinstance(number, _NUMBERS):
            common = _with_number(common, number)
    return common


def _with_number(dtype: Any, number: Any) -> Any:
    """Numbers only lift the kind of a type."""
    if isinstance(number, complex) and not dtype.is_complex:
        return dtype.to_complex() if dtype.is_floating_point else _C.get_default_dtype().to_complex()
    if isinstance(number, float) and not (dtype.is_floating_point or dtype.is_complex):
        return _C.get_default_dtype()
    if isinstance(number, int) and not isinstance(number, bool) and dtype is _C.bool:
        return _C.int64
    return dtype


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether promotion may turn one type, or an array's, into another.

    Example:
        >>> can_cast(_C.int8, _C.int16), can_cast(_C.int16, _C.int8)
        (True, False)
    """
    try:
        return _C.promote_types(_dtype_of(from_), to) == to
    except RuntimeError:  # the two have no common type
        return False


def astype(x: Tensor, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """The array in another type; `copy=False` gives the array itself where nothing changes.

    Args:
        x: the array.
        dtype: the type of the result; None for the default.
        copy: whether the elements are copied: False refuses where a copy is needed, None copies then only.
        device: the device of the result; None for the default one.

    Example:
        >>> astype(_C.tensor([1.5, 0.0]), _C.bool)
        tensor([ True, False])
    """
    return x.to(dtype=dtype, device=x.device if device is None else device, copy=copy)


def operands(*values: Any) -> list[Tensor]:
    """Arrays and numbers as arrays of their common type."""
    common = result_type(*values)
    device = next(v.device for v in values if isinstance(v, Tensor))
    return [
        v.to(common) if isinstance(v, Tensor) else _C.tensor(v, dtype=common, device=device) for v in values
    ]
