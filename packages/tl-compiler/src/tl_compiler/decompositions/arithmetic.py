"""Functions of single elements."""

from __future__ import annotations

import math
from typing import Any

import tl_core
import tl_core.operators.packets

from .registry import decomposes, in_float32

aten = tl_core.operators.packets.aten


@decomposes("square.default")
def square(self: Any) -> Any:
    """The product with itself."""
    return aten.mul.Tensor(self, self)


@decomposes("rsub.Tensor")
def rsub(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """other - α·self."""
    return other - (self if alpha == 1 else self * alpha)


@decomposes("addcmul.default")
@in_float32
def addcmul(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """self + value·a·b."""
    product = tensor1 * tensor2
    return self + (product if value == 1 else product * value)


@decomposes("addcdiv.default")
@in_float32
def addcdiv(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """self + value·a/b."""
    return self + (tensor1 if value == 1 else value * tensor1) / tensor2


@decomposes("lerp.Tensor")
@in_float32
def lerp(self: Any, end: Any, weight: Any) -> Any:
    """From one tensor to another, from the nearer end so that both ends are met."""
    if not isinstance(weight, tl_core.Tensor):
        near = abs(weight) < 0.5
        return self + weight * (end - self) if near else end - (end - self) * (1 - weight)
    near = aten.abs.default(weight) < 0.5
    return aten.where.self(near, self + weight * (end - self), end - (end - self) * (1 - weight))


@decomposes("frac.default")
def frac(self: Any) -> Any:
    """What is behind the point, with the sign."""
    return self - aten.trunc.default(self)


@decomposes("floor_divide.default")
def floor_divide(self: Any, other: Any) -> Any:
    """The quotient rounded down."""
    return aten.div.Tensor_mode(self, other, rounding_mode="floor")


@decomposes("true_divide.Tensor")
def true_divide(self: Any, other: Any) -> Any:
    """The quotient."""
    return aten.div.Tensor(self, other)


@decomposes("clamp_min.default")
def clamp_min(self: Any, min: Any) -> Any:
    """At least the bound."""
    return (
        aten.maximum.default(self, min) if isinstance(min, tl_core.Tensor) else aten.clamp.default(self, min)
    )


@decomposes("clamp_max.default")
def clamp_max(self: Any, max: Any) -> Any:
    """At most the bound."""
    if isinstance(max, tl_core.Tensor):
        return aten.minimum.default(self, max)
    return aten.clamp.default(self, None, max)


@decomposes("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(self: Any, mask: Any, value: Any) -> Any:
    """The value where the mask holds."""
    if not isinstance(value, tl_core.Tensor):
        value = aten.full.default([], value, dtype=self.dtype, device=self.device)
    elif value.dtype != self.dtype:
        value = aten._to_copy.default(value, dtype=self.dtype)
    return aten.where.self(mask, value, self)


@decomposes("isfinite.default")
def isfinite(self: Any) -> Any:
    """Neither infinite nor nan."""
    if not (self.is_floating_point() or self.is_complex()):
        return aten.full_like.default(self, True, dtype=tl_core.bool)
    return aten.logical_not.default(
        aten.logical_or.default(aten.isinf.default(self), aten.isnan.default(self))
    )


@decomposes("isposinf.default")
def isposinf(self: Any) -> Any:
    """Equal to infinity."""
    return self == math.inf


@decomposes("isneginf.default")
def isneginf(self: Any) -> Any:
    """Equal to minus infinity."""
    return self == -math.inf


@decomposes("nan_to_num.default")
def nan_to_num(self: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    """Numbers in place of nan and the infinities."""
    if not self.is_floating_point():
        return aten.clone.default(self)
    limits = tl_core.finfo(self.dtype)

    def fill_where(where: Any, value: Any, x: Any) -> Any:
        return aten.where.self(where, aten.full_like.default(x, value), x)

    out = fill_where(aten.isnan.default(self), 0.0 if nan is None else nan, self)
    out = fill_where(self == -math.inf, limits.min if neginf is None else neginf, out)
    return fill_where(self == math.inf, limits.max if posinf is None else posinf, out)


@decomposes("heaviside.default")
def heaviside(self: Any, values: Any) -> Any:
    """0 below 0, 1 above, the given value at 0 and for nan 0."""
    step = aten._to_copy.default(self > 0, dtype=self.dtype)
    return aten.where.self(self == 0, values, step)


@decomposes("deg2rad.default")
@in_float32
def deg2rad(self: Any) -> Any:
    """Degrees as radians."""
    return self * (math.pi / 180.0)


@decomposes("rad2deg.default")
@in_float32
def rad2deg(self: Any) -> Any:
    """Radians as degrees."""
    return self * (180.0 / math.pi)


@decomposes("exp2.default")
@in_float32
def exp2(self: Any) -> Any:
    """Powers of two."""
    return aten.pow.Scalar(2.0, self)


@decomposes("erfc.default")
@in_float32
def erfc(self: Any) -> Any:
    """1 - erf."""
    return 1 - aten.erf.default(self)


@decomposes("sinc.default")
@in_float32
def sinc(self: Any) -> Any:
    """sin(πx)/(πx)."""
    x = self * math.pi
    return aten.where.self(x == 0, aten.full_like.default(x, 1), aten.sin.default(x) / x)


@decomposes("logit.default")
@in_float32
def logit(self: Any, eps: float | None = None) -> Any:
    """log(x/(1 - x)), of x kept away from 0 and 1 by eps."""
    x = self if eps is None else aten.clamp.default(self, eps, 1 - eps)
    return aten.log.default(x / (1 - x))


@decomposes("logaddexp.default")
@in_float32
def logaddexp(self: Any, other: Any) -> Any:
    """log(exp(a) + exp(b)), without overflow."""
    most, least = aten.maximum.default(self, other), aten.minimum.default(self, other)
    same = aten.logical_and.default(aten.isinf.default(most), most == least)
    return aten.where.self(same, most, most + aten.log1p.default(aten.exp.default(least - most)))


@decomposes("logaddexp2.default")
@in_float32
def logaddexp2(self: Any, other: Any) -> Any:
    """The same to the base 2."""
    most, least = aten.maximum.default(self, other), aten.minimum.default(self, other)
    same = aten.logical_and.default(aten.isinf.default(most), most == least)
    rest = aten.log1p.default(aten.exp.default((least - most) * math.log(2))) / math.log(2)
    return aten.where.self(same, most, most + rest)


def _times_log(self: Any, other: Any, log: Any) -> Any:
    product = self * log(other)
    zero = aten.where.self(self == 0, aten.full_like.default(product, 0), product)
    return aten.where.self(aten.isnan.default(other), aten.full_like.default(product, math.nan), zero)


@decomposes("xlogy.Tensor")
@in_float32
def xlogy(self: Any, other: Any) -> Any:
    """a·log(b), 0 where a is."""
    return _times_log(self, other, aten.log.default)


@decomposes("special_xlog1py.default")
@in_float32
def xlog1py(self: Any, other: Any) -> Any:
    """a·log(1 + b), 0 where a is."""
    return _times_log(self, other, aten.log1p.default)


@decomposes("special_entr.default")
@in_float32
def entr(self: Any) -> Any:
    """-x·log(x); 0 at 0, minus infinity below."""
    inside = aten.where.self(self > 0, -self * aten.log.default(self), aten.full_like.default(self, 0))
    below = aten.where.self(self < 0, aten.full_like.default(self, -math.inf), inside)
    return aten.where.self(aten.isnan.default(self), self, below)


@decomposes("sgn.default")
def sgn(self: Any) -> Any:
    """The sign of a real number; complex ones stay whole."""
    return NotImplemented if self.is_complex() else aten.sign.default(self)


@decomposes("angle.default")
def angle(self: Any) -> Any:
    """0 or π of a real number; complex ones stay whole."""
    if self.is_complex() or not self.is_floating_point():
        return NotImplemented
    zero, turned = aten.full_like.default(self, 0), aten.full_like.default(self, math.pi)
    return aten.where.self(aten.isnan.default(self), self, aten.where.self(self < 0, turned, zero))
