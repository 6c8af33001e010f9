"""Densities at the bounds of parameters and supports."""

import math

import numpy as np
import pytest
from scipy import special, stats

import tl_core as tl
import tl_distributions as dist
from tl_autograd import grad

INF = math.inf
CLASSES = {
    "Beta": ([0.5, 1.0, 2.0], [0.5, 1.0, 2.0], [0.0, 0.25, 1.0]),
    "Gamma": ([0.5, 1.0, 2.0], [0.5, 2.0], [0.0, 1.0, 1e-300]),
    "Weibull": ([1.0, 2.0], [1.0, 2.0], [0.25, 1.0]),
    "Pareto": ([1.0, 2.0], [0.5, 3.0], [2.0, 5.0]),
    "Uniform": ([0.0, 0.5], [1.0, 2.0], [0.5, 0.75]),
}
TWINS = {
    "Beta": lambda a, b: stats.beta(a, b),
    "Gamma": lambda a, b: stats.gamma(a, scale=1 / b),
    "Weibull": lambda a, b: stats.weibull_min(b, scale=a),
    "Pareto": lambda a, b: stats.pareto(b, scale=a),
    "Uniform": lambda a, b: stats.uniform(a, b),
}


@pytest.mark.parametrize("name", CLASSES)
def test_densities_at_the_ends_of_supports(name):
    firsts, seconds, values = CLASSES[name]
    for first in firsts:
        for second in seconds:
            end = first + second if name == "Uniform" else second
            made = getattr(dist, name)(tl.tensor(first, dtype=tl.float64), tl.tensor(end, dtype=tl.float64))
            twin = TWINS[name](first, second)
            for value in values:
                got = made.log_prob(tl.tensor(value, dtype=tl.float64)).item()
                with np.errstate(all="ignore"):
                    np.testing.assert_allclose(got, twin.logpdf(value), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [tl.float32, tl.float64])
@pytest.mark.parametrize("logit", [-INF, -1000.0, 0.0, 1000.0, INF])
def test_bernoulli_of_any_logit(logit, dtype):
    logits = tl.tensor(logit, dtype=dtype, requires_grad=True)
    made = dist.Bernoulli(logits=logits)
    for value in (0.0, 1.0):
        got = made.log_prob(tl.tensor(value, dtype=dtype))
        expected = special.log_expit(logit if value else -logit)
        assert got.item() == pytest.approx(expected)
        (found,) = grad(got, logits)
        assert found.item() == pytest.approx(value - special.expit(logit))
    entropy = made.entropy()
    assert entropy.item() == pytest.approx(math.log(2) if logit == 0 else 0)


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_bernoulli_of_certain_outcomes(probability):
    made = dist.Bernoulli(tl.tensor(probability, dtype=tl.float64))
    assert made.log_prob(tl.tensor(probability, dtype=tl.float64)).item() == pytest.approx(0, abs=1e-15)
    assert made.log_prob(tl.tensor(1 - probability, dtype=tl.float64)).item() < -36
    assert made.entropy().item() == pytest.approx(0, abs=1e-13)
    assert (made.sample((100,)) == probability).all()


def test_geometric_of_a_certain_success():
    made = dist.Geometric(logits=tl.tensor([INF, 1000.0]))
    assert made.log_prob(tl.tensor(0.0)).tolist() == [0, 0]
    assert made.log_prob(tl.tensor(2.0)).tolist() == [-INF, -2000]


def test_cumulative_probabilities_at_open_ends():
    zero = tl.tensor(0.0)
    for made in (dist.LogNormal(0.0, 1.0), dist.Weibull(1.0, 1.0), dist.Kumaraswamy(1.0, 2.0)):
        assert made.cdf(zero).item() == 0
    with pytest.raises(ValueError, match="support"):
        dist.LogNormal(0.0, 1.0).log_prob(zero)


@pytest.mark.parametrize("concentration", [1e-6, 1e-3, 0.1])
def test_samples_stay_within_the_open_interval(concentration):
    made = dist.Beta(tl.tensor(concentration), tl.tensor(concentration))
    values = made.sample((5000,))
    assert bool(((values > 0) & (values < 1)).all()) and bool(made.log_prob(values).isfinite().all())
