"""Elementwise operators of `prims`: of one tensor, and of two of one type and shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.compat import prims_common as utils

__all__ = ["rows"]

_UNARY = (
    "abs acos acosh asin asinh atan atanh cos cosh bitwise_not ceil conj_physical digamma erf erfc exp exp2 expm1 "
    "floor isfinite lgamma log log10 log1p log2 neg reciprocal round rsqrt sign signbit sin sinh sqrt tan tanh trunc "
    "erf_inv:erfinv bessel_i0:i0 bessel_i0e:special.i0e bessel_i1:special.i1 bessel_i1e:special.i1e "
    "bessel_j0:special.bessel_j0 bessel_j1:special.bessel_j1 erfcx:special.erfcx ndtri:special.ndtri "
    "spherical_bessel_j0:special.spherical_bessel_j0"
)
_BINARY = (
    "add atan2 bitwise_and bitwise_or bitwise_xor eq fmax fmin fmod gcd ge gt hypot igamma igammac le lt maximum "
    "minimum mul ne nextafter pow remainder sub shift_left:bitwise_left_shift "
    "shift_right_arithmetic:bitwise_right_shift zeta:special.zeta"
)


# Functions of tensors alone: a number becomes a tensor of the other one's type.
_OF_TENSORS = ("maximum", "minimum")


def _function(path: str) -> Callable[..., Any]:
    value: Any = tl_core
    for part in path.split("."):
        value = getattr(value, part)
    return value


def _pairs(table: str) -> Iterator[tuple[str, str]]:
    for entry in table.split():
        name, _, path = entry.partition(":")
        yield name, path or name


def rows() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The schemas of the operators, and their functions."""
    for name, path in _pairs(_UNARY):
        if name != "conj_physical":
            yield f"{name}(Tensor self) -> Tensor", _function(path)
    for name, path in _pairs(_BINARY):
        function = _with_tensors(_function(path)) if name in _OF_TENSORS else _function(path)
        yield f"{name}(Operand self, Operand other) -> Tensor", _strict(function)
    yield "div(Operand self, Operand other) -> Tensor", _strict(_divide)
    yield "cbrt(Tensor self) -> Tensor", _cbrt
    yield "conj_physical(Tensor self) -> Tensor", _conj_physical
    yield "fill(Tensor self, Scalar value) -> Tensor", _fill
    yield "frexp(Tensor self) -> (Tensor mantissa, Tensor exponent)", tl_core.frexp
    yield "where(Tensor pred, Operand a, Operand b) -> Tensor", _where


def _check(*values: Any) -> None:
    """Tensors have one type, and one shape but for those of 0 dimensions; numbers go with any."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    for other in tensors[1:]:
        if other.dtype != tensors[0].dtype:
            raise RuntimeError(
                f"Tensor with dtype {other.dtype} is not the expected dtype of {tensors[0].dtype}!"
            )
    shaped = [t for t in tensors if t.dim()]
    for other in shaped[1:]:
        if not utils.is_same_shape(other.shape, shaped[0].shape):
            raise RuntimeError(f"Shape {other.shape} is not the expected shape {shaped[0].shape}!")


def _strict(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, other: Any) -> Any:
        _check(self, other)
        return function(self, other)

    return call


def _with_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, other: Any) -> Any:
        owner = self if isinstance(self, Tensor) else other
        a, b = (v if isinstance(v, Tensor) else owner.new_full((), v) for v in (self, other))
        return function(a, b)

    return call


def _divide(self: Any, other: Any) -> Tensor:
    """Division, which of integers is rounded towards zero."""
    if all(_is_exact(v) for v in (self, other)):
        return tl_core.div(self, other, rounding_mode="trunc")
    return tl_core.true_divide(self, other)


def _is_exact(value: Any) -> bool:
    if isinstance(value, Tensor):
        return utils.is_integer_dtype(value.dtype) or utils.is_boolean_dtype(value.dtype)
    return isinstance(value, int)


def _cbrt(self: Tensor) -> Tensor:
    return tl_core.copysign(tl_core.pow(self.abs(), 1 / 3), self)


def _conj_physical(self: Tensor) -> Tensor:
    if not self.is_complex():
        raise RuntimeError("prims.conj_physical is only defined for complex dtypes")
    return tl_core.conj_physical(self)


def _fill(self: Tensor, value: Any) -> Tensor:
    return tl_core.full_like(self, value)


def _where(pred: Tensor, a: Tensor, b: Tensor) -> Tensor:
    _check(a, b)
    if pred.dtype != tl_core.bool:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {pred.dtype}"
        )
    return tl_core.where(pred, a, b)
