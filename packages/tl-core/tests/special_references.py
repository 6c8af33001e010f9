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
