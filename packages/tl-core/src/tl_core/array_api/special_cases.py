"""Where the standard says what a function of infinity, NaN or zero is, and tl's own says it otherwise.

The complex cases are those of C99, Annex G: a product with an exact zero is zero, whatever the other factor is.
"""

from __future__ import annotations

from typing import Any

import tl_core as _tl
from tl_core._C import Tensor
from tl_core.base.rule_table import RuleTable

SPECIAL_CASES: RuleTable[Any] = RuleTable("array API")


def _replace_nonfinite(x: Tensor, out: Tensor, real: Tensor, imag: Tensor) -> Tensor:
    """The result, but for the elements that are not finite."""
    return _tl.where(_tl.isfinite(x), out, _tl.complex(real, imag))


def _without_angle(x: Tensor) -> Tensor:
    """Infinite numbers of which nobody knows the direction."""
    return _tl.isinf(x.real) & ~_tl.isfinite(x.imag)


@SPECIAL_CASES.rule("tanh")
def tanh(x: Tensor) -> Tensor:
    """`tl.tanh`; of infinity it is one with any angle, of an exact zero with none a zero."""
    if not x.is_complex():
        return _tl.tanh(x)
    a, b = x.real, x.imag
    nan = _tl.full_like(a, _tl.nan)
    real = _tl.where(_tl.isinf(a), _tl.sign(a), _tl.where(a == 0, a, nan))
    turned = _tl.copysign(_tl.zeros_like(b), b)
    imag = _tl.where(_tl.isinf(a), turned, _tl.where(_tl.isnan(a) & (b == 0), b, nan))
    return _replace_nonfinite(x, _tl.tanh(x), real, imag)


@SPECIAL_CASES.rule("expm1")
def expm1(x: Tensor) -> Tensor:
    """`tl.expm1`; of -infinity it is -1, of infinity infinite, with any angle; a real part of zero is positive."""
    if not x.is_complex():
        return _tl.expm1(x)
    a, b = x.real, x.imag
    zero, vanishes = _tl.zeros_like(a), a == -_tl.inf  # a power that is only too small is multiplied
    real = _tl.where(_without_angle(x), _tl.where(vanishes, zero, a), _tl.exp(a) * _tl.cos(b)) - 1
    imag = _tl.where(vanishes | (b == 0), zero, _tl.exp(a) * _tl.sin(b))
    out = _tl.expm1(x)
    return _replace_nonfinite(x, _tl.complex(out.real + 0.0, out.imag), real, imag)


@SPECIAL_CASES.rule("sign")
def sign(x: Tensor) -> Tensor:
    """`tl.sgn`; NaN has no sign, and zero is positive."""
    out = _tl.sgn(x)
    if x.is_complex():
        return _tl.where(x == 0, _tl.zeros_like(x), out)
    return _tl.where(_tl.isnan(x), x, out) if x.is_floating_point() else out


@SPECIAL_CASES.rule("floor_divide")
def floor_divide(x1: Tensor, x2: Tensor) -> Tensor:
    """`tl.floor_divide`; with one infinite operand it is the quotient itself."""
    out = _tl.floor_divide(x1, x2)
    if not out.is_floating_point():
        return out
    one_is_infinite = (_tl.isinf(x1) & _tl.isfinite(x2)) | (_tl.isfinite(x1) & _tl.isinf(x2))
    return _tl.where(one_is_infinite, x1 / x2, out)


@SPECIAL_CASES.rule("remainder")
def remainder(x1: Tensor, x2: Tensor) -> Tensor:
    """`tl.remainder`; zero has the divisor's sign as well."""
    out = _tl.remainder(x1, x2)
    return _tl.where(out == 0, _tl.copysign(out, x2), out) if out.is_floating_point() else out
