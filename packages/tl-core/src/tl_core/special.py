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
from tl_core._C import igamma as gammainc
from tl_core._C import igammac as gammaincc
from tl_core._C import lgamma as gammaln
from tl_core._C import mvlgamma as multigammaln
from tl_core._C import sigmoid as expit

__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "sinc",
    "softmax",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]

_OWN: Any = _C._special
airy_ai = _OWN.special_airy_ai
bessel_j0, bessel_j1 = _OWN.special_bessel_j0, _OWN.special_bessel_j1
bessel_y0, bessel_y1 = _OWN.special_bessel_y0, _OWN.special_bessel_y1
chebyshev_polynomial_t, chebyshev_polynomial_u, chebyshev_polynomial_v, chebyshev_polynomial_w = (
    _OWN.special_chebyshev_polynomial_t,
    _OWN.special_chebyshev_polynomial_u,
    _OWN.special_chebyshev_polynomial_v,
    _OWN.special_chebyshev_polynomial_w,
)
entr, erfcx, zeta = _OWN.special_entr, _OWN.special_erfcx, _OWN.special_zeta
hermite_polynomial_h, hermite_polynomial_he = (
    _OWN.special_hermite_polynomial_h,
    _OWN.special_hermite_polynomial_he,
)
i0e, i1, i1e = _OWN.special_i0e, _OWN.special_i1, _OWN.special_i1e
laguerre_polynomial_l, legendre_polynomial_p = (
    _OWN.special_laguerre_polynomial_l,
    _OWN.special_legendre_polynomial_p,
)
log_ndtr, ndtr, ndtri, xlog1py = (
    _OWN.special_log_ndtr,
    _OWN.special_ndtr,
    _OWN.special_ndtri,
    _OWN.special_xlog1py,
)
modified_bessel_i0, modified_bessel_i1 = _OWN.special_modified_bessel_i0, _OWN.special_modified_bessel_i1
modified_bessel_k0, modified_bessel_k1 = _OWN.special_modified_bessel_k0, _OWN.special_modified_bessel_k1
scaled_modified_bessel_k0, scaled_modified_bessel_k1 = (
    _OWN.special_scaled_modified_bessel_k0,
    _OWN.special_scaled_modified_bessel_k1,
)
(
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
) = (
    _OWN.special_shifted_chebyshev_polynomial_t,
    _OWN.special_shifted_chebyshev_polynomial_u,
    _OWN.special_shifted_chebyshev_polynomial_v,
    _OWN.special_shifted_chebyshev_polynomial_w,
)
spherical_bessel_j0 = _OWN.special_spherical_bessel_j0
