"""`make_tensor`: tensors of random numbers to test with."""

from __future__ import annotations

import math
import warnings
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.base.type_info import finfo, iinfo

__all__ = ["make_tensor"]

_UNSIGNED = (_C.uint8, _C.uint16, _C.uint32, _C.uint64)
_SIGNED = (_C.int8, _C.int16, _C.int32, _C.int64)


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of numbers drawn evenly from ``[low, high)``.

    Parameters:
        shape : int or sequence of int
            The shape.
        dtype : dtype
            The elements' type; both parts of complex numbers are drawn.
        device : device
            Where it lies.
        low, high : number, optional
            From where, and up to where; what the type can't hold is cut off. By default 0 and 2 for bool, 0 and 10 for
            unsigned integers, -9 and 10 for signed ones, -9 and 9 for all others.
        requires_grad : bool
            Whether gradients are wanted.
        noncontiguous : bool
            Whether the elements lie with gaps, if there are two of them at least.
        exclude_zero : bool
            Whether zeros become 1, or the smallest normal number of the type.
        memory_format : memory_format, optional
            In which order the elements lie.

    Raises:
        ValueError
            If no number lies between `low` and `high` or one of them is NaN, if an integral type should require
            gradients, or if both `noncontiguous` and `memory_format` are given.
        TypeError
            If the type is not a number's.

    Examples:
        >>> import tl_core as tl
        >>> t = make_tensor((2, 3), dtype=tl.int64, device="cpu", low=5, high=8)
        >>> t.shape, bool((t >= 5).all()), bool((t < 8).all())
        (torch.Size([2, 3]), True, True)
    """
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    integral = dtype is _C.bool or dtype in _UNSIGNED or dtype in _SIGNED
    if not (integral or dtype.is_floating_point or dtype.is_complex):
        raise TypeError(f"make_tensor() draws numbers, which '{dtype}' has none of")
    if requires_grad and integral:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}"
        )
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, "
            f"but got noncontiguous={noncontiguous} and memory_format={memory_format}"
        )
    result = (_integers if integral else _reals)(shape, dtype, device, low, high)
    if noncontiguous and result.numel() > 1:
        result = _C.repeat_interleave(result, 2, dim=-1)[..., ::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        zero = (_C.view_as_real(result) == 0).all(-1) if dtype.is_complex else result == 0
        result[zero] = _smallest(dtype, integral)
    return result.requires_grad_() if requires_grad else result


def _integers(shape: Any, dtype: Any, device: Any, low: Any, high: Any) -> Tensor:
    if dtype is _C.bool:
        least, end, defaults = 0, 2, (0, 2)
    else:
        limits = iinfo(dtype)
        least, end, defaults = limits.min, limits.max + 1, (0, 10) if dtype in _UNSIGNED else (-9, 10)
    low, high = _range(dtype, low, high, least, end, defaults)
    low, high = math.ceil(low), math.ceil(high)
    if low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high} in whole numbers")
    # The drawing of int64 ends at its largest number.
    wide = _C.randint(low, min(high, 2**63 - 1), shape, dtype=_C.int64, device=device)
    return wide.to(dtype)


def _reals(shape: Any, dtype: Any, device: Any, low: Any, high: Any) -> Tensor:
    limits = finfo(dtype)
    if low is not None and low == high:
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1: "
            "use torch.full instead",
            FutureWarning,
            stacklevel=3,
        )
    low, high = _range(dtype, low, high, limits.min, limits.max, (-9, 9), may_be_equal=True)
    if dtype.is_complex:
        pairs = _C.empty((*shape, 2), dtype=_real_of(dtype), device=device).uniform_(low, high)
        return _C.view_as_complex(pairs)
    return _C.empty(shape, dtype=dtype, device=device).uniform_(low, high)


def _range(
    dtype: Any, low: Any, high: Any, least: Any, end: Any, defaults: Any, may_be_equal: bool = False
) -> tuple[Any, Any]:
    low, high = (
        default if bound is None else bound for bound, default in zip((low, high), defaults, strict=True)
    )
    if low != low or high != high:
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    if low > high or (low == high and not may_be_equal):
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if high < least or low >= end:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), "
            f"but {dtype} only supports [{least}, {end})"
        )
    return max(low, least), min(high, end)


def _real_of(dtype: Any) -> Any:
    return {_C.complex32: _C.float16, _C.complex64: _C.float32, _C.complex128: _C.float64}[dtype]


def _smallest(dtype: Any, integral: bool) -> Any:
    tiny = 1 if integral else finfo(dtype).tiny
    return complex(tiny, tiny) if dtype.is_complex else tiny
