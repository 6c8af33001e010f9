"""References of special functions that scipy and numpy lack, element by element in the wide type."""

from __future__ import annotations

import numpy as np
from scipy import special


def standard_gamma_grad(shape: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The power series of the incomplete gamma function (DLMF 8.11.4), differentiated by the shape."""
    n = np.arange(200.0)
    a, t = np.broadcast_arrays(shape[..., None] + n, x[..., None])
    terms = np.cumprod(t / a, -1) * (special.digamma(a + 1) - np.log(t))
    return np.where(shape > 0, np.where(x == 0, 0, terms.sum(-1)), np.nan)


def dirichlet_grad(x: np.ndarray, alpha: np.ndarray, total: np.ndarray) -> np.ndarray:
    """The power series of the incomplete beta function (DLMF 8.17.8), differentiated by alpha."""
    n = np.arange(1500.0)
    t, a, s = np.broadcast_arrays(x[..., None], alpha[..., None] + 1 + n, total[..., None] + n)
    ratios = np.concatenate([np.ones_like(t[..., :1]), (s * t / a)[..., :-1]], -1)
    terms = np.cumprod(ratios, -1) * (np.log(t) + special.digamma(s) - special.digamma(a))
    inside = np.where(x == 0, 0, -x / alpha * terms.sum(-1))
    at_one = (special.digamma(total) - special.digamma(alpha)) / (total - alpha)
    return np.where((alpha > 0) & (total > alpha), np.where(x == 1, at_one, inside), np.nan)


def airy_ai(x: np.ndarray) -> np.ndarray:
    """Ai of the four functions that scipy gives."""
    return special.airy(x)[0]


def spherical_j0(x: np.ndarray) -> np.ndarray:
    """numpy's sinc has pi in it."""
    return np.sinc(x / np.pi)


def _third(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    return special.eval_chebyu(n, x) - special.eval_chebyu(n - 1, x)


def _fourth(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    return special.eval_chebyu(n, x) + special.eval_chebyu(n - 1, x)


def _polynomial(evaluate, shift=False):
    """Of the degree rounded towards zero."""

    def of(x, n):
        degree, at = np.broadcast_arrays(np.trunc(n).astype(np.int64), 2 * x - 1 if shift else x)
        return evaluate(degree, np.asarray(at, np.float64))

    return of


chebyshev_polynomial_t = _polynomial(special.eval_chebyt)
chebyshev_polynomial_u = _polynomial(special.eval_chebyu)
chebyshev_polynomial_v = _polynomial(_third)
chebyshev_polynomial_w = _polynomial(_fourth)
shifted_chebyshev_polynomial_t = _polynomial(special.eval_chebyt, shift=True)
shifted_chebyshev_polynomial_u = _polynomial(special.eval_chebyu, shift=True)
shifted_chebyshev_polynomial_v = _polynomial(_third, shift=True)
shifted_chebyshev_polynomial_w = _polynomial(_fourth, shift=True)
hermite_polynomial_h = _polynomial(special.eval_hermite)
hermite_polynomial_he = _polynomial(special.eval_hermitenorm)
laguerre_polynomial_l = _polynomial(special.eval_laguerre)
legendre_polynomial_p = _polynomial(special.eval_legendre)
