"""Divergences beside quadrature, sums and Monte Carlo, and the registry that finds them."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from scipy.integrate import quad

import tl_core as tl
import tl_distributions as D
from tl_distributions import kl

F64 = {"dtype": tl.float64}


def t(*values):
    """A tensor of double precision."""
    return tl.tensor(values[0] if len(values) == 1 else values, **F64)


CONTINUOUS = {
    D.Beta: [D.Beta(t(2.5), t(1.5)), D.Beta(t(0.7), t(3.0))],
    D.ContinuousBernoulli: [D.ContinuousBernoulli(t(0.2)), D.ContinuousBernoulli(logits=t(0.3))],
    D.Exponential: [D.Exponential(t(0.7)), D.Exponential(t(3.0))],
    D.Gamma: [D.Gamma(t(2.5), t(1.5)), D.Gamma(t(1.2), t(0.4))],
    D.Gumbel: [D.Gumbel(t(0.5), t(1.5)), D.Gumbel(t(-1.0), t(0.8))],
    D.HalfNormal: [D.HalfNormal(t(0.7)), D.HalfNormal(t(2.0))],
    D.Cauchy: [D.Cauchy(t(0.7), t(1.5)), D.Cauchy(t(-1.0), t(0.4))],
    D.Laplace: [D.Laplace(t(0.5), t(1.5)), D.Laplace(t(-1.0), t(0.8))],
    D.Normal: [D.Normal(t(0.5), t(1.5)), D.Normal(t(-1.0), t(0.8))],
    D.Pareto: [D.Pareto(t(1.5), t(3.5)), D.Pareto(t(1.0), t(2.5))],
    D.Uniform: [D.Uniform(t(0.1), t(0.9)), D.Uniform(t(-0.5), t(2.5))],
}
ENDS = {
    D.Beta: (0, 1),
    D.ContinuousBernoulli: (0, 1),
    D.Exponential: (0, 80),
    D.Gamma: (0, 150),
    D.Gumbel: (-8, 60),
    D.HalfNormal: (0, 30),
    D.Cauchy: (-np.inf, np.inf),
    D.Laplace: (-60, 60),
    D.Normal: (-18, 18),
}
REAL_LINE = [D.Cauchy, D.Gumbel, D.Laplace, D.Normal]
PAIRS = [pair for pair in kl._KL_REGISTRY if pair[0] in CONTINUOUS and pair[1] in CONTINUOUS]


def ends(p):
    """The interval in which p has its mass, but for 1e-15."""
    if isinstance(p, D.Uniform):
        return float(p.low), float(p.high)
    if isinstance(p, D.Pareto):
        return float(p.scale), np.inf
    return ENDS[type(p)]


def integral(p, q):
    """The divergence by quadrature; inf where q has no mass."""
    p._validate_args = q._validate_args = False

    def integrand(x):
        value = t(x)
        log_p, log_q = float(p.log_prob(value)), float(q.log_prob(value))
        return 0.0 if np.exp(log_p) == 0 else np.exp(log_p) * (log_p - log_q)

    low, high = ends(p)
    middle = float(p.icdf(t(0.5))) if hasattr(type(p), "icdf") and type(p) not in (D.Beta, D.Gamma) else None
    middle = float(p.mean) if middle is None else middle
    points = [low, middle, high] if np.isfinite(low + high) else [low, middle - 50, middle, middle + 50, high]
    parts = list(itertools.pairwise(x for x in points if low <= x <= high))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sum(quad(integrand, a, b, limit=400, epsabs=1e-11, epsrel=1e-11)[0] for a, b in parts)


def covers(p, q):
    """Whether the support of q holds the mass of p."""
    low, high = ends(p)
    q_low, q_high = ends(q)
    if type(q) in REAL_LINE:
        return True
    if type(p) in REAL_LINE:
        return False
    unbounded = type(q) in (D.Exponential, D.Gamma, D.HalfNormal, D.Pareto)
    beyond = type(p) in (D.Exponential, D.Gamma, D.HalfNormal, D.Pareto)
    return low >= q_low and (unbounded or (not beyond and high <= q_high))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0].__name__}-{pair[1].__name__}")
def test_pairs_on_the_line_against_quadrature(pair):
    for p, q in itertools.product(CONTINUOUS[pair[0]], CONTINUOUS[pair[1]]):
        actual = float(D.kl_divergence(p, q))
        if covers(p, q):
            assert actual == pytest.approx(integral(p, q), rel=1e-7, abs=1e-9), (p, q)
        else:
            assert actual == np.inf, (p, q)


def test_every_pair_of_the_manual_is_there():
    names = {(p.__name__, q.__name__) for p, q in kl._KL_REGISTRY}
    assert len(names) == len(kl._KL_REGISTRY) >= 82
    covered = {(p.__name__, q.__name__) for p, q in PAIRS}
    assert len(covered) == 70


COUNTS = [
    (D.Bernoulli(t(0.3)), D.Bernoulli(t(0.8))),
    (D.Bernoulli(logits=t(-30.0)), D.Bernoulli(logits=t(-31.0))),
    (D.Bernoulli(t(0.3)), D.Poisson(t(0.8))),
    (D.Binomial(7, t(0.3)), D.Binomial(7, t(0.8))),
    (D.Geometric(t(0.3)), D.Geometric(t(0.8))),
    (D.Poisson(t(3.0)), D.Poisson(t(5.0))),
    (D.Categorical(t(0.2, 0.3, 0.5)), D.Categorical(t(0.5, 0.4, 0.1))),
]


@pytest.mark.parametrize(("p", "q"), COUNTS, ids=lambda d: type(d).__name__)
def test_pairs_of_counts_against_sums(p, q):
    values = p.enumerate_support() if p.has_enumerate_support else tl.arange(200.0, **F64)
    log_p = p.log_prob(values)
    expected = (log_p.exp() * (log_p - q.log_prob(values))).sum()
    assert float(D.kl_divergence(p, q)) == pytest.approx(float(expected), rel=1e-10)


def test_divergence_of_counts_where_q_has_no_mass():
    assert D.kl_divergence(D.Bernoulli(t(0.3)), D.Bernoulli(t(0.0))) == tl.inf
    assert D.kl_divergence(D.Bernoulli(t(1.0)), D.Bernoulli(t(1.0))).abs() < 1e-12
    assert D.kl_divergence(D.Categorical(t(0.5, 0.5)), D.Categorical(t(1.0, 0.0))) == tl.inf
    assert D.kl_divergence(D.Categorical(t(1.0, 0.0)), D.Categorical(t(0.5, 0.5))).item() == pytest.approx(
        np.log(2)
    )
    assert D.kl_divergence(D.Binomial(3, t(0.5)), D.Binomial(2, t(0.5))) == tl.inf
    assert D.kl_divergence(D.Poisson(t(1.0)), D.Poisson(t(0.0))) == tl.inf
    assert D.kl_divergence(D.Poisson(t(0.0)), D.Poisson(t(2.0))) == 2
    for q in (D.Bernoulli(t(0.5)), D.Binomial(9, t(0.5))):
        assert D.kl_divergence(D.Poisson(t(1.0)), q) == tl.inf
    with pytest.raises(NotImplementedError, match="trials"):
        D.kl_divergence(D.Binomial(2, t(0.5)), D.Binomial(3, t(0.5)))


def spd(n, seed):
    """A positive definite matrix."""
    a = np.random.default_rng(seed).standard_normal((n, n))
    return tl.from_numpy(a @ a.T + n * np.eye(n))


def dense(d):
    """Mean and covariance as arrays."""
    return d.loc.numpy(), d.covariance_matrix.numpy()


def lowrank(seed):
    """A normal distribution with a covariance of low rank."""
    rng = np.random.default_rng(seed)
    parts = rng.standard_normal(4), rng.standard_normal((4, 2)), rng.uniform(0.5, 2, 4)
    return D.LowRankMultivariateNormal(*map(tl.from_numpy, parts))


@pytest.mark.parametrize("p_low", [False, True])
@pytest.mark.parametrize("q_low", [False, True])
def test_multivariate_normal_pairs(p_low, q_low):
    p = lowrank(1) if p_low else D.MultivariateNormal(t(0.5, 1.0, -1.0, 0.0), spd(4, 2))
    q = lowrank(3) if q_low else D.MultivariateNormal(t(0.0, 0.3, -0.2, 1.0), spd(4, 4))
    (m0, s0), (m1, s1) = dense(p), dense(q)
    inverse, d = np.linalg.inv(s1), m1 - m0
    logs = np.linalg.slogdet(s1)[1] - np.linalg.slogdet(s0)[1]
    expected = 0.5 * (np.trace(inverse @ s0) + d @ inverse @ d - 4 + logs)
    assert float(D.kl_divergence(p, q)) == pytest.approx(expected, rel=1e-12)
    batch = p.expand((3, 1)), q.expand((2,))
    assert D.kl_divergence(*batch).shape == (3, 2)


def monte_carlo(p, q, samples=40_000):
    """The divergence by Monte Carlo, and four standard errors."""
    tl.manual_seed(11)
    x = p.sample((samples,))
    values = (p.log_prob(x) - q.log_prob(x)).numpy()
    return values.mean(), 4 * values.std() / np.sqrt(samples)


VECTORS = [
    (D.Dirichlet(t(0.5, 2.0, 3.0)), D.Dirichlet(t(1.0, 1.0, 4.0))),
    (D.Wishart(t(5.0), spd(3, 5)), D.Wishart(t(6.0), spd(3, 6))),
    (D.OneHotCategorical(t(0.2, 0.3, 0.5)), D.OneHotCategorical(t(0.5, 0.4, 0.1))),
    (
        D.Independent(D.Normal(t(0.0, 1.0), t(1.0, 2.0)), 1),
        D.Independent(D.Normal(t(1.0, 1.0), t(2.0, 2.0)), 1),
    ),
    (D.LogNormal(t(0.0), t(1.0)), D.LogNormal(t(1.0), t(1.5))),
    (D.Chi2(t(3.0)), D.Chi2(t(4.5))),
]


@pytest.mark.parametrize(("p", "q"), VECTORS, ids=lambda d: type(d).__name__)
def test_other_pairs_against_monte_carlo(p, q):
    expected, error = monte_carlo(p, q)
    assert abs(float(D.kl_divergence(p, q)) - expected) < error
    assert float(D.kl_divergence(p, p)) == pytest.approx(0.0, abs=1e-10)


FAMILIES = [
    (D.Bernoulli(t(0.3)), D.Bernoulli(t(0.8))),
    (D.Beta(t(2.0), t(3.0)), D.Beta(t(1.0), t(4.0))),
    (D.ContinuousBernoulli(t(0.3)), D.ContinuousBernoulli(t(0.8))),
    (D.Dirichlet(t(0.5, 2.0)), D.Dirichlet(t(1.0, 4.0))),
    (D.Exponential(t(0.3)), D.Exponential(t(0.8))),
    (D.Gamma(t(2.0), t(3.0)), D.Gamma(t(1.0), t(4.0))),
    (D.Normal(t(2.0), t(3.0)), D.Normal(t(1.0), t(4.0))),
    (D.Poisson(t(2.0)), D.Poisson(t(3.0))),
]


@pytest.mark.parametrize(("p", "q"), FAMILIES, ids=lambda d: type(d).__name__)
def test_exponential_families_by_their_log_normalizers(p, q):
    assert float(kl._kl_expfamily_expfamily(p, q)) == pytest.approx(float(D.kl_divergence(p, q)), rel=1e-10)
    if not isinstance(p, D.Poisson):
        assert float(D.ExponentialFamily.entropy(p)) == pytest.approx(
            float(p.entropy()), rel=1e-10, abs=1e-14
        )


def test_families_must_agree():
    with pytest.raises(NotImplementedError, match="one family"):
        kl._kl_expfamily_expfamily(D.Normal(0.0, 1.0), D.Exponential(1.0))


def test_what_is_not_registered():
    with pytest.raises(NotImplementedError, match="p type Normal and q type VonMises"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.VonMises(0.0, 1.0))
    with pytest.raises(TypeError, match="type_p"):
        D.register_kl(3, D.Normal)


def test_the_most_specific_pair_wins_and_a_tie_warns():
    class Base(D.Distribution):
        def __init__(self):
            super().__init__(validate_args=False)

    class Left(Base):
        pass

    class Right(Base):
        pass

    saved = dict(kl._KL_REGISTRY)
    try:
        D.register_kl(Base, Base)(lambda p, q: 0)
        assert D.kl_divergence(Left(), Right()) == 0
        D.register_kl(Base, Right)(lambda p, q: 1)
        assert D.kl_divergence(Left(), Right()) == 1
        D.register_kl(Left, Base)(lambda p, q: 2)
        with pytest.warns(RuntimeWarning, match="Ambiguous"):
            assert D.kl_divergence(Left(), Right()) in (1, 2)
        D.register_kl(Left, Right)(lambda p, q: 3)
        assert D.kl_divergence(Left(), Right()) == 3
    finally:
        kl._KL_REGISTRY.clear()
        kl._KL_REGISTRY.update(saved)
        kl._KL_MEMOIZE.clear()


def test_distributions_made_of_others_must_match():
    p = D.Independent(D.Normal(tl.zeros(2, 3), 1.0), 1)
    q = D.Independent(D.Normal(tl.zeros(2, 3), 1.0), 2)
    with pytest.raises(NotImplementedError, match="reinterpreted"):
        D.kl_divergence(p, q)
    with pytest.raises(NotImplementedError, match="same transforms"):
        D.kl_divergence(
            D.LogNormal(0.0, 1.0), D.TransformedDistribution(D.Normal(0.0, 1.0), [D.AbsTransform()])
        )
