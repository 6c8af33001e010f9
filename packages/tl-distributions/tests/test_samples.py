"""Samples beside their distributions: Kolmogorov-Smirnov and chi-square at fixed seeds.

`TL_SAMPLES` sets how many; the suite takes few, `nox -s samples` a million.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.stats as st

import tl_core as tl
import tl_distributions as D

sys.path.insert(0, str(Path(__file__).parent))
from scipy_cases import CONTINUOUS, DISCRETE

SAMPLES = int(os.environ.get("TL_SAMPLES", "20000"))
LEAST = 1e-4
SETTINGS = (2, 20, 41)  # of those in scipy_cases


def draw(distribution):
    """Samples at a fixed seed, as an array."""
    tl.manual_seed(7)
    return distribution.sample((SAMPLES,)).numpy()


@pytest.mark.parametrize("case", CONTINUOUS, ids=lambda c: c.name)
@pytest.mark.parametrize("setting", SETTINGS)
def test_continuous(case, setting):
    if case.name == "Beta" and setting == SETTINGS[-1]:
        setting += 3  # that one has mass that rounds to 1, which no test of its values can tell apart
    parameters = [p[setting : setting + 1] for p in case.parameters()]
    x = draw(case.make(*map(tl.from_numpy, parameters)))[:, 0]
    reference = case.reference(*(p[0] for p in parameters))
    if case.name == "VonMises":
        x = (x - parameters[0][0] + np.pi) % (2 * np.pi) - np.pi
        reference = st.vonmises(parameters[1][0])
    assert st.kstest(x, reference.cdf).pvalue > LEAST


@pytest.mark.parametrize("case", DISCRETE, ids=lambda c: c.name)
@pytest.mark.parametrize("setting", SETTINGS)
def test_discrete(case, setting):
    parameters = [p[setting : setting + 1] for p in case.parameters()]
    x = draw(case.make(*map(tl.from_numpy, parameters)))[:, 0]
    reference = case.reference(*(p[0] for p in parameters))
    assert chi_square(x, reference) > LEAST
    assert (x == np.floor(x)).all()


def chi_square(x, reference, least=10):
    """The p-value of counts, with values that are expected less than `least` times put together."""
    cuts = np.unique(reference.ppf(np.linspace(0, 1, 40)[1:-1]))
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    expected = np.diff(reference.cdf(edges)) * len(x)
    observed = np.diff(np.searchsorted(np.sort(x), edges, side="right"))
    observed[-1] = len(x) - observed[:-1].sum()
    keep = expected >= least
    observed = np.append(observed[keep], observed[~keep].sum())
    expected = np.append(expected[keep], expected[~keep].sum())
    if expected[-1] < least:
        observed[-2] += observed[-1]
        expected[-2] += expected[-1]
        observed, expected = observed[:-1], expected[:-1]
    if len(expected) < 2:
        return 1.0
    return st.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue


@pytest.mark.parametrize("probs", [[0.5, 0.5], [0.1, 0.2, 0.7], [0.0, 0.9, 0.1], [1e-3] * 999 + [1e-3]])
def test_classes(probs):
    p = tl.tensor(probs, dtype=tl.float64)
    counts = np.bincount(draw(D.Categorical(p)), minlength=len(probs))
    assert counts[np.array(probs) == 0].sum() == 0
    possible = np.array(probs) > 0
    expected = np.array(probs)[possible] / np.sum(probs) * SAMPLES
    assert st.chisquare(counts[possible], expected).pvalue > LEAST
    one_hot = draw(D.OneHotCategorical(p))
    assert (one_hot.argmax(-1) == draw(D.Categorical(p))).all()


def test_multinomial():
    probs = np.array([0.2, 0.3, 0.5])
    x = draw(D.Multinomial(12, tl.from_numpy(probs)))
    assert (x.sum(-1) == 12).all()
    for i, p in enumerate(probs):
        assert chi_square(x[:, i], st.binom(12, p)) > LEAST


def test_dirichlet():
    a = np.array([0.3, 2.0, 5.0])
    x = draw(D.Dirichlet(tl.from_numpy(a)))
    assert np.allclose(x.sum(-1), 1)
    for i, ai in enumerate(a):
        assert st.kstest(x[:, i], st.beta(ai, a.sum() - ai).cdf).pvalue > LEAST


def test_multivariate_normal():
    covariance = np.array([[2.0, 0.6, 0.1], [0.6, 1.0, -0.3], [0.1, -0.3, 0.5]])
    loc = tl.tensor([1.0, -1.0, 0.0], dtype=tl.float64)
    factor = np.linalg.cholesky(covariance)
    spread = tl.from_numpy(covariance)
    low = D.LowRankMultivariateNormal(loc, tl.from_numpy(factor[:, :1].copy()), tl.ones(3, dtype=tl.float64))
    for d, sigma in (
        (D.MultivariateNormal(loc, spread), covariance),
        (D.MultivariateNormal(loc, precision_matrix=tl.linalg.inv(spread)), covariance),
        (low, factor[:, :1] @ factor[:, :1].T + np.eye(3)),
    ):
        white = np.linalg.solve(np.linalg.cholesky(sigma), (draw(d) - loc.numpy()).T)
        for row in white:
            assert st.kstest(row, st.norm.cdf).pvalue > LEAST
        assert st.kstest((white**2).sum(0), st.chi2(3).cdf).pvalue > LEAST


def test_wishart():
    sigma = np.array([[2.0, 0.6], [0.6, 1.0]])
    x = draw(D.Wishart(tl.tensor(4.5, dtype=tl.float64), tl.from_numpy(sigma)))
    for i in range(2):  # a diagonal element is a chi-squared variable times the variance
        assert st.kstest(x[:, i, i] / sigma[i, i], st.chi2(4.5).cdf).pvalue > LEAST
    ratio = np.linalg.det(x) / np.linalg.det(
        sigma
    )  # the product of two independent ones: its logarithm has their sum
    logs = np.log(ratio)
    from scipy.special import digamma, polygamma

    mean = digamma(2.25) + digamma(1.75) + 2 * np.log(2)
    deviation = np.sqrt(polygamma(1, 2.25) + polygamma(1, 1.75))
    assert abs(logs.mean() - mean) < 4 * deviation / np.sqrt(SAMPLES)


@pytest.mark.parametrize(("n", "eta"), [(2, 1.0), (3, 0.5), (4, 2.0), (5, 1.0)])
def test_correlations(n, eta):
    factor = draw(D.LKJCholesky(n, tl.tensor(eta, dtype=tl.float64)))
    r = factor @ factor.swapaxes(-1, -2)
    # each correlation is 2 B - 1 with B ~ Beta(a, a), a = eta - 1 + n / 2
    marginal = st.beta(eta - 1 + n / 2, eta - 1 + n / 2, loc=-1, scale=2)
    for i in range(n):
        for j in range(i):
            assert st.kstest(r[:, i, j], marginal.cdf).pvalue > LEAST


def test_relaxed():
    t = tl.tensor(0.7, dtype=tl.float64)
    d = D.RelaxedBernoulli(t, tl.tensor(0.3, dtype=tl.float64))
    x = draw(d)
    logistic = st.logistic(np.log(0.3 / 0.7) / 0.7, 1 / 0.7)
    assert st.kstest(np.log(x) - np.log1p(-x), logistic.cdf).pvalue > LEAST
    p = np.array([0.2, 0.3, 0.5])
    y = draw(D.RelaxedOneHotCategorical(t, tl.from_numpy(p)))
    counts = np.bincount(y.argmax(-1), minlength=3)  # the largest is a categorical variable
    assert st.chisquare(counts, p * SAMPLES).pvalue > LEAST


def test_mixture():
    weights = D.Categorical(tl.tensor([0.2, 0.8], dtype=tl.float64))
    mixture = D.MixtureSameFamily(weights, D.Normal(tl.tensor([-2.0, 1.0], dtype=tl.float64), 0.5))
    x = draw(mixture)
    assert st.kstest(x, lambda v: mixture.cdf(tl.from_numpy(np.asarray(v))).numpy()).pvalue > LEAST


def test_other_transformed():
    u = {"dtype": tl.float64}
    kumaraswamy = D.Kumaraswamy(tl.tensor(2.0, **u), tl.tensor(3.0, **u))
    assert st.kstest(draw(kumaraswamy), lambda x: 1 - (1 - x**2) ** 3).pvalue > LEAST
    continuous = D.ContinuousBernoulli(tl.tensor(0.3, **u))
    assert st.kstest(draw(continuous), lambda x: continuous.cdf(tl.from_numpy(x)).numpy()).pvalue > LEAST
    logistic = draw(D.LogisticNormal(tl.zeros(2, **u), tl.ones(2, **u)))
    first = np.log(logistic[:, 0] / (1 - logistic[:, 0])) + np.log(2)
    assert st.kstest(first, st.norm.cdf).pvalue > LEAST


def test_one_seed_gives_one_sample():
    for d in (D.Normal(0.0, 1.0), D.Gamma(2.0, 1.0), D.VonMises(0.0, 1.0), D.Poisson(3.0)):
        tl.manual_seed(1)
        first = d.sample((5,))
        tl.manual_seed(1)
        assert first.tolist() == d.sample((5,)).tolist()


# Recorded once from the reference's generator on a CPU, with seed 0.
STREAMS = [
    (lambda: D.Normal(0.0, 1.0), [1.540996, -0.2934289, -2.178789]),
    (lambda: D.Uniform(0.0, 1.0), [0.4962566, 0.7682218, 0.08847743]),
    (lambda: D.Exponential(2.0), [1.754163, 0.6151924, 0.3075221]),
    (lambda: D.Laplace(0.0, 1.0), [-0.007514927, 0.7688272, -1.73186]),
    (lambda: D.Cauchy(0.0, 1.0), [10.59773, 0.7647673, -0.1282993]),
    (lambda: D.Bernoulli(0.3), [0.0, 0.0, 1.0]),
    (lambda: D.Geometric(0.2), [3.0, 1.0, 10.0]),
    (lambda: D.Gumbel(0.0, 1.0), [0.3557292, 1.333031, -0.8858348]),
    (lambda: D.Gamma(2.0, 1.0), [4.552623, 1.315827, 0.6220217]),
    (lambda: D.Beta(2.0, 1.0), [0.9092044, 0.9219686, 0.6984091]),
    (lambda: D.StudentT(3.0), [1.371144, -0.3094602, -3.371132]),
    (lambda: D.Poisson(4.0), [7.0, 3.0, 5.0]),
    (lambda: D.Binomial(10, tl.tensor(0.3)), [6.0, 3.0, 3.0]),
    (lambda: D.Categorical(tl.tensor([0.2, 0.3, 0.5])), [2.0, 2.0, 1.0]),
    (lambda: D.VonMises(0.0, 1.0), [-0.4641954, -0.7931674, -0.2752742]),
    (lambda: D.Weibull(1.0, 2.0), [1.873053, 1.109227, 0.7842475]),
]


@pytest.mark.parametrize(("make", "expected"), STREAMS)
def test_streams(make, expected):
    tl.manual_seed(0)
    assert make().sample((3,)).tolist() == pytest.approx(expected, rel=1e-5)
