"""Functions of numbers, element by element."""

from __future__ import annotations

import math
from typing import Any

from .registry import translates

__all__: list[str] = []  # the functions enter the table of translations by the names of operators


@translates("aten::hypot")
def hypot(op: Any, self: Any, other: Any) -> Any:
    """The square root of the sum of the squares."""
    return op.Sqrt(op.Add(op.Mul(self, self), op.Mul(other, other)))


@translates("aten::copysign.Tensor", "aten::copysign.Scalar")
def copysign(op: Any, self: Any, other: Any) -> Any:
    """The magnitude of one number with the sign of another. The sign of -0 is read from its reciprocal."""
    other = op.like(other, self)
    zero = op.constant(0.0, self)
    negative = op.Or(op.Less(other, zero), op.Less(op.Reciprocal(other), zero))
    magnitude = op.Abs(self)
    return op.Where(negative, op.Neg(magnitude), magnitude)


@translates("aten::nan_to_num")
def nan_to_num(op: Any, self: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    """Numbers instead of NaN and infinities."""
    if not self.dtype.is_floating_point():
        return op.Identity(self)
    top = float(op.limit(self))
    high = op.constant(top if posinf is None else float(posinf), self)
    low = op.constant(-top if neginf is None else float(neginf), self)
    result = op.Where(op.IsNaN(self), op.constant(float(nan or 0.0), self), self)
    wide = op.Cast(self, to=1) if self.dtype not in (1, 11) else self  # IsInf knows two types before set 20
    result = op.Where(op.IsInf(wide, detect_negative=0), high, result)
    return op.Where(op.IsInf(wide, detect_positive=0), low, result)


@translates("aten::erfinv")
def erfinv(op: Any, self: Any) -> Any:
    """The inverse of erf by two steps of Newton after Winitzki's formula (2008)."""
    one, a = op.constant(1.0, self), 0.147
    inner = op.Log(op.Sub(one, op.Mul(self, self)))
    first = op.Add(op.constant(2 / (math.pi * a), self), op.Mul(inner, op.constant(0.5, self)))
    root = op.Sqrt(op.Sub(op.Mul(first, first), op.Mul(inner, op.constant(1 / a, self))))
    x = op.Mul(op.Sign(self), op.Sqrt(op.Sub(root, first)))
    for _ in range(2):
        derivative = op.Mul(op.constant(2 / math.sqrt(math.pi), self), op.Exp(op.Neg(op.Mul(x, x))))
        x = op.Sub(x, op.Div(op.Sub(op.Erf(x), self), derivative))
    infinite = op.Mul(self, op.constant(math.inf, self))
    return op.Where(op.Equal(op.Abs(self), one), infinite, x)


@translates("aten::isin.Tensor_Tensor", "aten::isin.Tensor_Scalar")
def isin(
    op: Any, elements: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False
) -> Any:
    """Whether each element is one of the candidates."""
    candidates = op.Reshape(op.like(test_elements, elements), [-1])
    same = op.Equal(op.Unsqueeze(elements, [-1]), candidates)
    count = op.ReduceSum(op.Cast(same, to=7), [-1], keepdims=0)
    result = op.Greater(count, 0)
    return op.Not(result) if invert else result


@translates("aten::bucketize.Tensor", "aten::bucketize.Scalar")
def bucketize(op: Any, self: Any, boundaries: Any, out_int32: bool = False, right: bool = False) -> Any:
    """The number of boundaries below each element."""
    return _position(op, op.like(self, boundaries), boundaries, out_int32, right)


@translates("aten::searchsorted.Tensor", "aten::searchsorted.Scalar")
def search_sorted(
    op: Any,
    sorted_sequence: Any,
    self: Any,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """The position of each element in a sorted sequence."""
    if sorter is not None:
        sorted_sequence = op.GatherElements(sorted_sequence, sorter, axis=-1)
    self = op.like(self, sorted_sequence)
    if len(sorted_sequence.shape) > 1:
        sorted_sequence = op.Unsqueeze(sorted_sequence, [-2])
    return _position(op, self, sorted_sequence, out_int32, side == "right" or right)


def _position(op: Any, values: Any, boundaries: Any, out_int32: bool, right: bool) -> Any:
    elements = op.Unsqueeze(values, [-1])
    below = op.LessOrEqual(boundaries, elements) if right else op.Less(boundaries, elements)
    return op.ReduceSum(op.Cast(below, to=6 if out_int32 else 7), [-1], keepdims=0)


def _extreme(op: Any, self: Any, other: Any, name: str) -> Any:
    result = getattr(op, name)(self, other)
    if not self.dtype.is_floating_point():
        return result
    return op.Where(op.IsNaN(self), other, op.Where(op.IsNaN(other), self, result))


@translates("aten::fmax")
def fmax(op: Any, self: Any, other: Any) -> Any:
    """The greater of two numbers, one of which may be NaN."""
    return _extreme(op, self, other, "Max")


@translates("aten::fmin")
def fmin(op: Any, self: Any, other: Any) -> Any:
    """The smaller of two numbers, one of which may be NaN."""
    return _extreme(op, self, other, "Min")


@translates("aten::ldexp.Tensor")
def ldexp(op: Any, self: Any, other: Any) -> Any:
    """A number times a power of two."""
    kind = int(op.kind)
    power = op.Pow(op.Cast(op.constant(2.0), to=kind), op.Cast(other, to=kind))
    return op.Mul(op.Cast(self, to=kind), power)


@translates("aten::float_power.Tensor_Tensor", "aten::float_power.Tensor_Scalar", "aten::float_power.Scalar")
def float_power(op: Any, self: Any, exponent: Any) -> Any:
    """A power in double precision."""
    base, power = (
        op.Cast(v, to=11) if hasattr(v, "const_value") else op.builder.constant(float(v), op.kind)
        for v in (self, exponent)
    )
    return op.Pow(base, power)


@translates("aten::special_ndtr")
def ndtr(op: Any, self: Any) -> Any:
    """The distribution function of the standard normal distribution."""
    scaled = op.Mul(self, op.constant(math.sqrt(0.5), self))
    return op.Mul(op.Add(op.Erf(scaled), op.constant(1.0, self)), op.constant(0.5, self))
