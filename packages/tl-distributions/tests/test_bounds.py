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
            result = getattr(dist, name)(tl.tensor(first, dtype=tl.float64), tl.tensor(end, dtype=tl.float64))
            twin = TWINS[name](first, second)
            for value in values:
                actual = result.log_prob(tl.tensor(value, dtype=tl.float64)).item()
                with np.errstate(all="ignore"):
                    np.testing.assert_allclose(actual, twin.logpdf(value), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [tl.float32, tl.float64])
@pytest.mark.parametrize("logit", [-INF, -1000.0, 0.0, 1000.0, INF])
def test_bernoulli_of_any_logit(logit, dtype):
    logits = tl.tensor(logit, dtype=dtype, requires_grad=True)
    output = dist.Bernoulli(logits=logits)
    for value in (0.0, 1.0):
        actual = output.log_prob(tl.tensor(value, dtype=dtype))
        expected = special.log_expit(logit if value else -logit)
        assert actual.item() == pytest.approx(expected)
        (result,) = grad(actual, logits)
        assert result.item() == pytest.approx(value - special.expit(logit))
    entropy = output.entropy()
    assert entropy.item() == pytest.approx(math.log(2) if logit == 0 else 0)


def test_multinomial_of_an_impossible_class():
    p = dist.Multinomial(4, logits=tl.tensor([0.5, -INF, 0.5], dtype=tl.float64))
    possible, impossible = p.log_prob(
        tl.tensor([[1.0, 0.0, 3.0], [1.0, 1.0, 2.0]], dtype=tl.float64)
    ).tolist()
    assert possible == pytest.approx(stats.multinomial.logpmf([1, 0, 3], 4, [0.5, 0, 0.5]))
    assert impossible == -INF


@pytest.mark.parametrize("dtype", [tl.float16, tl.float32, tl.float64])
def test_sigmoids_stay_within_the_open_interval(dtype):
    x = tl.tensor([-INF, -1000.0, 0.0, 1000.0, INF], dtype=dtype)
    info = tl.finfo(dtype)
    ends = [info.tiny, info.tiny, 0.5, 1 - info.eps, 1 - info.eps]
    assert dist.SigmoidTransform()(x).tolist() == ends


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_bernoulli_of_certain_outcomes(probability):
    result = dist.Bernoulli(tl.tensor(probability, dtype=tl.float64))
    assert result.log_prob(tl.tensor(probability, dtype=tl.float64)).item() == pytest.approx(0, abs=1e-15)
    assert result.log_prob(tl.tensor(1 - probability, dtype=tl.float64)).item() < -36
    assert result.entropy().item() == pytest.approx(0, abs=1e-13)
    assert (result.sample((100,)) == probability).all()


def test_geometric_of_a_certain_success():
    result = dist.Geometric(logits=tl.tensor([INF, 1000.0]))
    assert result.log_prob(tl.tensor(0.0)).tolist() == [0, 0]
    assert result.log_prob(tl.tensor(2.0)).tolist() == [-INF, -2000]


def test_cumulative_probabilities_at_open_ends():
    zero = tl.tensor(0.0)
    for result in (dist.LogNormal(0.0, 1.0), dist.Weibull(1.0, 1.0), dist.Kumaraswamy(1.0, 2.0)):
        assert result.cdf(zero).item() == 0
    with pytest.raises(ValueError, match="support"):
        dist.LogNormal(0.0, 1.0).log_prob(zero)


@pytest.mark.parametrize("concentration", [1e-6, 1e-3, 0.1])
def test_samples_stay_within_the_open_interval(concentration):
    result = dist.Beta(tl.tensor(concentration), tl.tensor(concentration))
    values = result.sample((5000,))
    assert bool(((values > 0) & (values < 1)).all()) and bool(result.log_prob(values).isfinite().all())


def twin(name, *parameters):
    return getattr(dist, name)(*(tl.tensor(p, dtype=tl.float64, requires_grad=True) for p in parameters))


@pytest.mark.parametrize("df1", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("df2", [1.0, 3.0])
def test_the_f_distribution_at_its_ends(df1, df2):
    result = dist.FisherSnedecor(
        tl.tensor(df1, dtype=tl.float64), tl.tensor(df2, dtype=tl.float64), validate_args=False
    )
    actual = result.log_prob(tl.tensor([0.0, 1e-300, 0.5, 1e300, INF], dtype=tl.float64)).numpy()
    with np.errstate(all="ignore"):
        inner = stats.f(df1, df2).logpdf([1e-300, 0.5])
    np.testing.assert_allclose(actual[1:3], inner, rtol=1e-9, atol=1e-14)
    assert actual[0] == (INF if df1 < 2 else -INF if df1 > 2 else pytest.approx(0, abs=1e-15))
    assert actual[-1] == -INF


def test_the_exponential_case_of_the_generalized_pareto_distribution_at_infinity():
    result = twin("GeneralizedPareto", 0.0, 1.0, 0.0)
    end = tl.tensor(INF, dtype=tl.float64)
    assert result.log_prob(end).item() == -INF and result.cdf(end).item() == 1
    assert result.icdf(tl.tensor(1.0, dtype=tl.float64)).item() == INF


@pytest.mark.parametrize("probability", [0.25, 1.0])
def test_gradients_of_a_geometric_distribution_at_no_failure(probability):
    probs = tl.tensor(probability, dtype=tl.float64, requires_grad=True)
    value = tl.tensor(0.0, dtype=tl.float64, requires_grad=True)
    of_probs, of_value = grad(dist.Geometric(probs).log_prob(value), (probs, value))
    assert of_probs.item() == pytest.approx(1 / probability)
    assert of_value.item() == (0 if probability == 1 else pytest.approx(math.log1p(-probability)))
    logits = tl.tensor(math.log(1 / 3), dtype=tl.float64, requires_grad=True)
    (of_value,) = grad(dist.Geometric(logits=logits).log_prob(value), (value,))
    assert of_value.item() == pytest.approx(math.log(0.75))
    certain = dist.Geometric(logits=tl.tensor(INF, dtype=tl.float64))
    assert grad(certain.log_prob(value), (value,))[0].item() == 0


def relative_entropy(p, q):
    return special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q)


@pytest.mark.parametrize("p", [-INF, -2.0, 0.0, INF])
@pytest.mark.parametrize("q", [-INF, -2.0, 0.0, INF])
def test_divergences_of_certain_outcomes(p, q):
    logits = [tl.tensor(x, dtype=tl.float64) for x in (p, q)]
    a, b = (dist.Bernoulli(logits=x, validate_args=False) for x in logits)
    expected = relative_entropy(special.expit(p), special.expit(q))
    assert dist.kl_divergence(a, b).item() == pytest.approx(expected)
    for trials in (0, 3):
        a, b = (dist.Binomial(trials, logits=x, validate_args=False) for x in logits)
        assert dist.kl_divergence(a, b).item() == pytest.approx(trials * expected if trials else 0)


@pytest.mark.parametrize("p", [0.0, 0.5, 20.0])
@pytest.mark.parametrize("q", [0.0, 0.5, 20.0])
def test_divergences_of_poisson_distributions(p, q):
    output = [twin("Poisson", rate) for rate in (p, q)]
    divergence = dist.kl_divergence(*output)
    assert divergence.item() == pytest.approx(special.rel_entr(p, q) - p + q)
    (result,) = grad(divergence, output[1].rate)
    assert q == 0 or result.item() == pytest.approx(1 - p / q)


def test_a_geometric_distribution_that_always_succeeds_does_not_differ_from_itself():
    certain = dist.Geometric(tl.tensor(1.0))
    assert dist.kl_divergence(certain, certain).item() == pytest.approx(0, abs=1e-6)
