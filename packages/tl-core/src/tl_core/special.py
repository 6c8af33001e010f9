"""Special functions under the names SciPy uses; most are also in the flat namespace.

>>> import tl_core as tl
>>> from tl_core import special
>>> special.expit(tl.tensor([0.0]))
tensor([0.5000])
"""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import (
    Tensor,
    digamma,
    erf,
    erfc,
    erfinv,
    exp2,
    expm1,
    i0,
    log1p,
    log_softmax,
    logit,
    logsumexp,
    polygamma,
    round,  # noqa: A004
    sinc,
    softmax,
    xlogy,
)
from tl_core._C import digamma as psi
from tl_core._C import lgamma as gammaln
from tl_core._C import mvlgamma as multigammaln
from tl_core._C import sigmoid as expit

__all__ = [
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "sinc",
    "softmax",
    "xlog1py",
    "xlogy",
    "zeta",
]

_OWN: Any = _C._special
bessel_j0, bessel_j1 = _OWN.special_bessel_j0, _OWN.special_bessel_j1
bessel_y0, bessel_y1 = _OWN.special_bessel_y0, _OWN.special_bessel_y1
entr, erfcx, zeta = _OWN.special_entr, _OWN.special_erfcx, _OWN.special_zeta
i0e, i1, i1e = _OWN.special_i0e, _OWN.special_i1, _OWN.special_i1e
log_ndtr, ndtri, xlog1py = _OWN.special_log_ndtr, _OWN.special_ndtri, _OWN.special_xlog1py


def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The share of a standard normal distribution below each element."""
    half = _C.mul(_C.erfc(_C.mul(input, -0.7071067811865476)), 0.5)
    return half if out is None else out.copy_(half)
