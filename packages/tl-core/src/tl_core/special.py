"""Special functions under the names SciPy uses; most are also in the flat namespace.

>>> import tl_core as tl
>>> from tl_core import special
>>> special.expit(tl.tensor([0.0]))
tensor([0.5000])
"""

from __future__ import annotations

from tl_core import _C

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

_OWN = _C._special
digamma, expit, logit, polygamma, psi = (
    _OWN.special_digamma,
    _OWN.special_expit,
    _OWN.special_logit,
    _OWN.special_polygamma,
    _OWN.special_psi,
)
erf, erfc, erfinv = _OWN.special_erf, _OWN.special_erfc, _OWN.special_erfinv
exp2, expm1, log1p, round = (
    _OWN.special_exp2,
    _OWN.special_expm1,
    _OWN.special_log1p,
    _OWN.special_round,
)
gammainc, gammaincc, gammaln, multigammaln = (
    _OWN.special_gammainc,
    _OWN.special_gammaincc,
    _OWN.special_gammaln,
    _OWN.special_multigammaln,
)
i0, sinc, xlogy = _OWN.special_i0, _OWN.special_sinc, _OWN.special_xlogy
log_softmax, logsumexp, softmax = _OWN.special_log_softmax, _OWN.special_logsumexp, _OWN.special_softmax
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
