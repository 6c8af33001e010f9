"""Multivariate distributions at fifty settings each against scipy: log-probabilities, entropies, means, variances."""

import pytest

import tl_core as tl
import tl_distributions as d

np = pytest.importorskip("numpy")
stats = pytest.importorskip("scipy.stats")

SETTINGS = range(50)


def tensor(a):
    return tl.tensor(np.asarray(a, np.float64).tolist(), dtype=tl.float64)


def close(got, want, tolerance=1e-9):
    np.testing.assert_allclose(np.asarray(got.tolist()), want, rtol=tolerance, atol=tolerance)


def draw(seed, least=1, most=8):
    """A generator, and the number of dimensions."""
    rng = np.random.default_rng(seed)
    return rng, int(rng.integers(least, most))


def covariance(rng, n):
    """A positive definite matrix, whose scales lie up to three powers of ten apart."""
    scale = 10 ** rng.uniform(-1.5, 1.5, n)
    factor = np.tril(rng.normal(size=(n, n)), -1) + np.diag(rng.uniform(0.5, 2, n))
    return (factor @ factor.T) * scale[:, None] * scale


@pytest.mark.parametrize("seed", SETTINGS)
@pytest.mark.parametrize("form", ["covariance_matrix", "precision_matrix", "scale_tril"])
def test_multivariate_normal(seed, form):
    rng, n = draw(seed)
    mean, spread = rng.normal(size=n) * 10, covariance(rng, n)
    of = {
        "covariance_matrix": spread,
        "precision_matrix": np.linalg.inv(spread),
        "scale_tril": np.linalg.cholesky(spread),
    }
    own = d.MultivariateNormal(tensor(mean), **{form: tensor(of[form])})
    reference = stats.multivariate_normal(mean, spread)
    x = reference.rvs(4, random_state=seed).reshape(4, n)
    close(own.log_prob(tensor(x)), reference.logpdf(x).reshape(4), 1e-7)
    close(own.entropy(), reference.entropy(), 1e-7)
    close(own.mean, mean)
    np.testing.assert_allclose(own.variance.tolist(), np.diag(spread), rtol=1e-7)


@pytest.mark.parametrize("seed", SETTINGS)
def test_low_rank_multivariate_normal(seed):
    rng, n = draw(seed, 2)
    mean, factor, diagonal = rng.normal(size=n), rng.normal(size=(n, 2)), 10 ** rng.uniform(-2, 2, n)
    spread = factor @ factor.T + np.diag(diagonal)
    own = d.LowRankMultivariateNormal(tensor(mean), tensor(factor), tensor(diagonal))
    reference = stats.multivariate_normal(mean, spread)
    x = reference.rvs(4, random_state=seed)
    close(own.log_prob(tensor(x)), reference.logpdf(x), 1e-8)
    close(own.entropy(), reference.entropy())
    close(own.variance, np.diag(spread))
    close(own.covariance_matrix, spread)


@pytest.mark.parametrize("seed", SETTINGS)
def test_dirichlet(seed):
    rng, n = draw(seed, 2)
    alpha = 10 ** rng.uniform(-0.5, 2, n)
    own, reference = d.Dirichlet(tensor(alpha)), stats.dirichlet(alpha)
    x = np.clip(reference.rvs(4, random_state=seed), 1e-12, None)
    x /= x.sum(1, keepdims=True)
    close(own.log_prob(tensor(x)), [reference.logpdf(row) for row in x], 1e-8)
    close(own.entropy(), reference.entropy())
    close(own.mean, reference.mean())
    close(own.variance, reference.var())


@pytest.mark.parametrize("seed", SETTINGS)
def test_multinomial(seed):
    rng, n = draw(seed, 2)
    total, probabilities = int(rng.integers(1, 40)), rng.dirichlet(np.ones(n))
    own, reference = d.Multinomial(total, tensor(probabilities)), stats.multinomial(total, probabilities)
    x = reference.rvs(4, random_state=seed)
    close(own.log_prob(tensor(x)), reference.logpmf(x), 1e-8)
    close(own.mean, total * probabilities)
    close(own.variance, total * probabilities * (1 - probabilities))
    if total <= 12:
        close(own.entropy(), reference.entropy(), 1e-7)


@pytest.mark.parametrize("seed", SETTINGS)
def test_wishart(seed):
    rng, n = draw(seed, 2, 6)
    df, spread = n + rng.uniform(0.5, 20), covariance(rng, n)
    own, reference = d.Wishart(tensor(df), covariance_matrix=tensor(spread)), stats.wishart(df, spread)
    x = reference.rvs(3, random_state=seed)
    close(own.log_prob(tensor(x)), reference.logpdf(np.moveaxis(x, 0, -1)), 1e-7)
    close(own.entropy(), reference.entropy(), 1e-8)
    np.testing.assert_allclose(own.mean.tolist(), reference.mean(), rtol=1e-9)
    np.testing.assert_allclose(own.variance.tolist(), reference.var(), rtol=1e-9)


@pytest.mark.parametrize("seed", SETTINGS)
def test_moments_of_samples(seed):
    """The mean of 4,000 samples lies within six of its standard deviations."""
    rng, n = draw(seed, 2, 5)
    tl.manual_seed(seed)
    spread = covariance(rng, n)
    for own in (
        d.MultivariateNormal(tensor(rng.normal(size=n)), tensor(spread)),
        d.LowRankMultivariateNormal(tensor(np.zeros(n)), tensor(rng.normal(size=(n, 1))), tensor(np.ones(n))),
        d.Dirichlet(tensor(rng.uniform(0.5, 4, n))),
        d.Multinomial(9, tensor(rng.dirichlet(np.ones(n) * 3))),
        d.Wishart(tensor(n + 3.0), covariance_matrix=tensor(spread)),
    ):
        error = np.asarray((own.sample((4000,)).mean(0) - own.mean).tolist())
        assert np.all(np.abs(error) <= 6 * np.sqrt(np.asarray(own.variance.tolist()) / 4000)), type(
            own
        ).__name__


@pytest.mark.parametrize("seed", SETTINGS)
def test_lkj_cholesky(seed):
    """The correlation of two has a scaled beta distribution; factors have rows of length one."""
    rng, n = draw(seed, 2, 6)
    eta = float(rng.uniform(0.5, 5))
    tl.manual_seed(seed)
    factors = d.LKJCholesky(n, tensor(eta)).sample((5,))
    close((factors * factors).sum(-1), np.ones((5, n)))
    r = rng.uniform(-0.95, 0.95, 5)
    pairs = np.array([[[1, 0], [c, np.sqrt(1 - c * c)]] for c in r])
    want = stats.beta(eta, eta).logpdf((r + 1) / 2) - np.log(2)
    close(d.LKJCholesky(2, tensor(eta)).log_prob(tensor(pairs)), want)
