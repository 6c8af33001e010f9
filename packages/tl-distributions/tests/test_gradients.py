"""Gradients of log densities, samples, entropies and divergences beside finite differences."""

from __future__ import annotations

import pytest

import tl_autograd as ag
import tl_core as tl
import tl_distributions as D

F64 = {"dtype": tl.float64}


def leaf(*values):
    """A parameter that asks for gradients."""
    return tl.tensor(values, **F64, requires_grad=True)


def value(*values):
    """A constant."""
    return tl.tensor(values, **F64)


A, B, P, X = (0.7, 1.5, 3.0), (2.0, 0.8, 1.2), (0.2, 0.5, 0.7), (-0.5, 0.3, 1.5)
MATRIX = ((2.0, 0.5), (0.5, 1.0))
POSITIVE = (0.4, 1.3, 2.5)

# What it is, its parameters, and a value whose density is differentiated, by itself too where it is continuous.
CASES = {
    "Bernoulli": (D.Bernoulli, [P], value(0, 1, 1)),
    "BernoulliLogits": (lambda x: D.Bernoulli(logits=x), [X], value(0, 1, 1)),
    "Beta": (D.Beta, [A, B], leaf(0.2, 0.5, 0.9)),
    "Binomial": (lambda p: D.Binomial(5, p), [P], value(0, 2, 5)),
    "Categorical": (lambda x: D.Categorical(logits=x), [X], tl.tensor([0, 2])),
    "Cauchy": (D.Cauchy, [X, A], leaf(*X)),
    "Chi2": (D.Chi2, [A], leaf(*POSITIVE)),
    "ContinuousBernoulli": (lambda x: D.ContinuousBernoulli(logits=x), [X], leaf(0.2, 0.5, 0.9)),
    "Dirichlet": (D.Dirichlet, [A], value(0.2, 0.3, 0.5)),
    "Exponential": (D.Exponential, [A], leaf(*POSITIVE)),
    "FisherSnedecor": (D.FisherSnedecor, [A, B], leaf(*POSITIVE)),
    "Gamma": (D.Gamma, [A, B], leaf(*POSITIVE)),
    "GeneralizedPareto": (D.GeneralizedPareto, [X, A, (0.2, -0.1, 0.4)], leaf(0.5, 0.9, 2.5)),
    "Geometric": (D.Geometric, [P], value(0, 2, 5)),
    "GeometricLogits": (lambda x: D.Geometric(logits=x), [X], value(0, 2, 5)),
    "Gumbel": (D.Gumbel, [X, A], leaf(*X)),
    "HalfCauchy": (D.HalfCauchy, [A], leaf(*POSITIVE)),
    "HalfNormal": (D.HalfNormal, [A], leaf(*POSITIVE)),
    "InverseGamma": (D.InverseGamma, [A, B], leaf(*POSITIVE)),
    "Kumaraswamy": (D.Kumaraswamy, [A, B], leaf(0.2, 0.5, 0.9)),
    "Laplace": (D.Laplace, [X, A], leaf(0.1, 0.2, 0.3)),
    "LogNormal": (D.LogNormal, [X, A], leaf(*POSITIVE)),
    "LogisticNormal": (D.LogisticNormal, [X, A], value(0.2, 0.3, 0.1, 0.4)),
    "LowRankMultivariateNormal": (
        lambda m, w, d: D.LowRankMultivariateNormal(m, w.unsqueeze(-1), d), [X, A, B], leaf(*X),
    ),
    "Multinomial": (lambda x: D.Multinomial(5, logits=x), [X], value(2, 3, 0)),
    "NegativeBinomial": (D.NegativeBinomial, [A, P], value(0, 2, 5)),
    "Normal": (D.Normal, [X, A], leaf(*X)),
    "OneHotCategorical": (lambda x: D.OneHotCategorical(logits=x), [X], value(0, 1, 0)),
    "Pareto": (D.Pareto, [(0.1, 0.2, 0.3), A], leaf(*POSITIVE)),
    "Poisson": (D.Poisson, [A], value(0, 2, 5)),
    "RelaxedBernoulli": (lambda x: D.RelaxedBernoulli(value(0.7), logits=x), [X], leaf(0.2, 0.5, 0.9)),
    "RelaxedOneHotCategorical": (
        lambda x: D.RelaxedOneHotCategorical(value(0.7), logits=x), [X], value(0.2, 0.3, 0.5),
    ),
    "StudentT": (D.StudentT, [A, X, B], leaf(*X)),
    "Uniform": (D.Uniform, [(-1.0, -2.0, 0.0), (2.0, 1.0, 3.0)], value(0.1, 0.2, 0.3)),
    "VonMises": (D.VonMises, [X, A], leaf(*X)),
    "Weibull": (D.Weibull, [A, B], leaf(*POSITIVE)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_log_prob(name):
    make, parameters, x = CASES[name]
    leaves = [leaf(*p) for p in parameters]
    make(*leaves).log_prob(x)  # what is given satisfies the constraints

    def density(x, *parameters):
        distribution = make(*parameters)
        distribution._validate_args = False
        return distribution.log_prob(x)

    assert ag.gradcheck(density, (x, *leaves))
    assert ag.gradgradcheck(density, (x, *leaves)) if name not in NO_SECOND else True


NO_SECOND = {"VonMises"}  # the derivative of the scaled Bessel function has none of its own

# Those whose samples are differentiable, drawn with noise of a fixed seed.
DIRECT = [
    *(
        "Cauchy",
        "ContinuousBernoulli",
        "Exponential",
        "GeneralizedPareto",
        "Gumbel",
        "HalfCauchy",
        "HalfNormal",
    ),
    *(
        "Kumaraswamy",
        "Laplace",
        "LogNormal",
        "LogisticNormal",
        "LowRankMultivariateNormal",
        "Normal",
        "Pareto",
    ),
    *("RelaxedBernoulli", "RelaxedOneHotCategorical", "Uniform", "Weibull"),
]


@pytest.mark.parametrize("name", DIRECT)
def test_rsample_of_fixed_noise(name):
    make, parameters, _ = CASES[name]

    def sample(*parameters):
        tl.manual_seed(5)
        distribution = make(*parameters)
        assert distribution.has_rsample
        return distribution.rsample((2,))

    assert ag.gradcheck(sample, tuple(leaf(*p) for p in parameters))


def test_rsample_of_matrices():
    def multivariate(x, m):
        tl.manual_seed(5)
        return D.MultivariateNormal(x, m @ m.mT).rsample((2,))

    def wishart(m):
        tl.manual_seed(5)
        return D.Wishart(value(4.0)[0], scale_tril=m.tril()).rsample((2,))

    factor = tl.tensor(((1.5, 0.0), (0.3, 0.8)), **F64, requires_grad=True)
    assert ag.gradcheck(multivariate, (leaf(0.0, 1.0), factor))
    assert ag.gradcheck(wishart, (factor,))


def cdf_gradient(distribution, cdf, parameter, x, step=1e-5):
    """dx/dθ of a sample x: -(∂F/∂θ) / p(x)."""
    derivative = (cdf(parameter + step, x) - cdf(parameter - step, x)) / (2 * step)
    return -derivative / distribution.log_prob(x).exp().detach().numpy()


@pytest.mark.parametrize("a", [0.05, 0.6, 3.0, 60.0, 2000.0])
def test_gamma_by_implicit_reparametrization(a):
    from scipy.stats import gamma

    tl.manual_seed(2)
    shape = tl.full((50,), a, **F64, requires_grad=True)
    d = D.Gamma(shape, value(1.0))
    x = d.rsample()
    (gradient,) = ag.grad(x.sum(), shape)
    x = x.detach()
    usable = x.numpy() > 1e-200
    expected = cdf_gradient(d, lambda a, x: gamma.cdf(x.numpy(), a), a, x, step=1e-5 * a)
    assert gradient.numpy()[usable] == pytest.approx(expected[usable], rel=2e-5)


@pytest.mark.parametrize(("a", "b"), [(0.6, 2.0), (3.0, 0.8), (20.0, 30.0)])
def test_beta_by_implicit_reparametrization(a, b):
    from scipy.stats import beta

    tl.manual_seed(2)
    first, second = (tl.full((50,), v, **F64, requires_grad=True) for v in (a, b))
    d = D.Beta(first, second)
    x = d.rsample()
    by_first, by_second = ag.grad(x.sum(), (first, second))
    x = x.detach()
    for gradient, cdf, parameter in (
        (by_first, lambda p, x: beta.cdf(x.numpy(), p, b), a),
        (by_second, lambda p, x: beta.cdf(x.numpy(), a, p), b),
    ):
        assert gradient.numpy() == pytest.approx(cdf_gradient(d, cdf, parameter, x), rel=1e-4, abs=1e-7)


def test_dirichlet_samples_move_within_the_simplex():
    concentration = leaf(0.5, 2.0, 3.0)
    x = D.Dirichlet(concentration).rsample()
    for i in range(3):
        (gradient,) = ag.grad(x[i], concentration, retain_graph=True)
        assert gradient[i] > 0
    (total,) = ag.grad(x.sum(), concentration)
    assert total.abs().max() < 1e-12


@pytest.mark.parametrize("name", ["Chi2", "FisherSnedecor", "InverseGamma", "StudentT"])
def test_what_is_made_of_gamma_variables_has_gradients_of_the_mean(name):
    # the mean of samples has the gradient of the mean
    make, parameters = {
        "Chi2": (D.Chi2, [4.0]),
        "FisherSnedecor": (lambda b: D.FisherSnedecor(8.0, b), [20.0]),
        "InverseGamma": (D.InverseGamma, [6.0, 2.0]),
        "StudentT": (lambda m: D.StudentT(10.0, m, 1.0), [1.0]),
    }[name]
    leaves = [leaf(p) for p in parameters]
    tl.manual_seed(3)
    mean = make(*leaves).rsample((40_000,)).mean()
    exact = make(*leaves).mean.sum()
    for result, expected in zip(
        ag.grad(mean, leaves), ag.grad(exact, leaves, allow_unused=True), strict=True
    ):
        assert float(result) == pytest.approx(
            float(expected if expected is not None else 0.0), rel=0.05, abs=0.05
        )


@pytest.mark.parametrize(
    "name", sorted(set(CASES) - {"FisherSnedecor", "NegativeBinomial", "Poisson", "VonMises"})
)
def test_entropy(name):
    make, parameters, _ = CASES[name]
    distribution = make(*(leaf(*p) for p in parameters))
    try:
        distribution.entropy()
    except NotImplementedError:
        assert name in {"LogisticNormal", "RelaxedBernoulli", "RelaxedOneHotCategorical"}
        return
    assert ag.gradcheck(lambda *p: make(*p).entropy(), tuple(leaf(*p) for p in parameters))


def test_samples_without_gradients():
    d = D.Normal(leaf(0.0), leaf(1.0))
    assert not d.sample().requires_grad
    assert d.rsample().requires_grad
    straight = D.OneHotCategoricalStraightThrough(logits=leaf(*X))
    (gradient,) = ag.grad(straight.rsample()[0], [straight.logits])
    assert gradient.shape == (3,)
    with pytest.raises(NotImplementedError, match="Poisson does not implement rsample"):
        D.Poisson(1.0).rsample()
