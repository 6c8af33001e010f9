"""Densities, distribution functions, quantiles, entropies and moments beside scipy's, in double precision.

The bound is 1e-10 relative. A log density that is a difference of log-gamma functions has their rounding error on top,
of a few units of the largest.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import tl_core
import tl_core.special

sys.path.insert(0, str(Path(__file__).parent))
from scipy_cases import CONTINUOUS, DISCRETE

RELATIVE = 1e-10
EPSILONS = 16 * np.finfo(float).eps
QUANTILES = np.array([1e-8, 1e-3, 0.05, 0.3, 0.5, 0.8, 0.99, 1 - 1e-6])


def compare(ours, theirs, rounding=0.0):
    """Asserts that two arrays agree, nan and inf included."""
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    bound = RELATIVE * np.abs(theirs) + EPSILONS * (1 + np.broadcast_to(rounding, theirs.shape))
    equal = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    with np.errstate(invalid="ignore"):
        close = equal | (np.abs(ours - theirs) <= bound)
    worst = np.argwhere(~close)[:3].tolist()
    assert close.all(), [(i, float(ours[tuple(i)]), float(theirs[tuple(i)])) for i in worst]


def quantiles(case, reference):
    """Values at which a distribution is compared, (quantile, setting)."""
    middle = QUANTILES if case.extreme else QUANTILES[2:-1]
    with np.errstate(all="ignore"):
        return reference.ppf(middle[:, None])


@pytest.mark.parametrize("case", CONTINUOUS + DISCRETE, ids=lambda c: c.name)
def test_log_prob(case):
    result, reference = case.pair()
    x = quantiles(case, reference)
    within = np.isfinite(x)
    x = np.where(within, x, x[4])
    with np.errstate(all="ignore"):
        expected = (
            reference.logpmf(x) if hasattr(reference, "pmf") and case in DISCRETE else reference.logpdf(x)
        )
    rounding = np.broadcast_to(case.rounding(*case.parameters()), x.shape)
    result._validate_args = False
    actual = result.log_prob(tl_core.from_numpy(x)).numpy()
    usable = np.isfinite(expected)
    assert usable.mean() > 0.75
    compare(np.where(usable, actual, 0), np.where(usable, expected, 0), rounding)


HAS_CDF = {
    *("Cauchy", "Exponential", "GeneralizedPareto", "Gumbel", "HalfCauchy", "HalfNormal"),
    *("Laplace", "LogNormal", "Normal", "Pareto", "Uniform", "Weibull"),
}
HAS_ICDF = set(HAS_CDF)
if hasattr(tl_core.special, "gammainc"):
    HAS_CDF |= {"Chi2", "Gamma", "InverseGamma"}


@pytest.mark.parametrize("case", [c for c in CONTINUOUS if c.name in HAS_CDF], ids=lambda c: c.name)
def test_cdf(case):
    result, reference = case.pair()
    x = quantiles(case, reference)
    x = np.where(np.isfinite(x) & (x < 1e300), x, x[4])
    result._validate_args = False
    with np.errstate(all="ignore"):
        expected = reference.cdf(x)
    # a cdf passes on the rounding of its argument, which is x / scale for a location that is far away
    slack = np.abs(x) * np.exp(np.clip(reference.logpdf(x), -700, 700))
    compare(result.cdf(tl_core.from_numpy(x)).numpy(), expected, np.nan_to_num(slack, posinf=0))


@pytest.mark.parametrize("case", [c for c in CONTINUOUS if c.name in HAS_ICDF], ids=lambda c: c.name)
def test_icdf(case):
    result, reference = case.pair()
    p = np.broadcast_to(QUANTILES[:, None], (len(QUANTILES), len(case.parameters()[0]))).copy()
    with np.errstate(all="ignore"):
        expected = reference.ppf(p)
    actual = result.icdf(tl_core.from_numpy(p)).numpy()
    usable = np.isfinite(expected) & (np.abs(expected) < 1e300)
    # 1 - p has the rounding of p; a location that is far away has its own
    tail = np.maximum(np.abs(reference.median() - expected), np.abs(reference.median())) * 1e6 * (p > 0.5)
    rounding = np.where(usable, np.maximum(tail, np.abs(reference.median())), 0)
    compare(np.where(usable, actual, 0), np.where(usable, expected, 0), rounding)


NO_ENTROPY = {"FisherSnedecor", "NegativeBinomial", "VonMises", "Poisson", "Binomial"}


@pytest.mark.parametrize(
    "case", [c for c in CONTINUOUS + DISCRETE if c.name not in NO_ENTROPY], ids=lambda c: c.name
)
def test_entropy(case):
    result, expected = case.pair()
    compare(result.entropy().numpy(), expected.entropy(), case.rounding(*case.parameters()))


@pytest.mark.parametrize(
    "case", [c for c in CONTINUOUS + DISCRETE if c.name != "VonMises"], ids=lambda c: c.name
)
def test_moments(case):
    result, expected = case.pair()
    usable = np.broadcast_to(case.moments(*case.parameters()), result.batch_shape)
    assert usable.sum() >= 25
    with np.errstate(all="ignore"):
        mean, variance = expected.stats(moments="mv")
    usable = usable & np.isfinite(variance)
    compare(np.where(usable, result.mean.numpy(), 0), np.where(usable, mean, 0))
    compare(np.where(usable, result.variance.numpy(), 0), np.where(usable, variance, 0), 0.0)
    assert np.array_equal(result.stddev.numpy()[usable] > 0, variance[usable] > 0)
