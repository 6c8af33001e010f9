"""Shapes of batches, events and samples; expansion, copies, texts, element types, devices without memory."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tl_core as tl
import tl_distributions as D


def make():
    """One distribution of each kind, with a batch of three where it is one of single numbers."""
    a, p, x = tl.tensor([0.5, 1.0, 4.0]), tl.tensor([0.2, 0.5, 0.9]), tl.tensor([-1.0, 0.0, 2.0])
    rows = tl.tensor([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    eye = tl.eye(2).expand(3, 2, 2)
    return [
        D.Bernoulli(p), D.Bernoulli(logits=x), D.Beta(a, a), D.Binomial(4, p), D.Categorical(rows),
        D.Categorical(logits=rows), D.Cauchy(x, a), D.Chi2(a), D.ContinuousBernoulli(p), D.Dirichlet(rows),
        D.Exponential(a), D.FisherSnedecor(a, a), D.Gamma(a, a), D.GeneralizedPareto(x, a, p), D.Geometric(p),
        D.Gumbel(x, a), D.HalfCauchy(a), D.HalfNormal(a), D.Independent(D.Normal(x, a), 1), D.InverseGamma(a, a),
        D.Kumaraswamy(a, a), D.LKJCholesky(3, a), D.Laplace(x, a), D.LogNormal(x, a),
        D.LogisticNormal(rows, tl.ones(2, 3)), D.LowRankMultivariateNormal(rows, tl.ones(2, 3, 1), tl.ones(2, 3)),
        D.MixtureSameFamily(D.Categorical(rows), D.Normal(tl.zeros(2, 3), 1.0)),
        D.MixtureSameFamily(D.Categorical(p), D.Independent(D.Normal(tl.zeros(3, 2), 1.0), 1)),
        D.Multinomial(4, rows), D.MultivariateNormal(tl.zeros(3, 2), eye),
        D.MultivariateNormal(tl.zeros(2), precision_matrix=eye), D.NegativeBinomial(a, p), D.Normal(x, a),
        D.OneHotCategorical(rows), D.OneHotCategoricalStraightThrough(rows), D.Pareto(a, a), D.Poisson(a),
        D.RelaxedBernoulli(tl.tensor(0.7), p), D.RelaxedOneHotCategorical(tl.tensor(0.7), rows), D.StudentT(a, x, a),
        D.TransformedDistribution(D.Normal(x, a), [D.AffineTransform(1.0, 2.0), D.ExpTransform()]),
        D.TransformedDistribution(D.Normal(rows, 1.0), D.StickBreakingTransform()),
        D.Uniform(x, x + a), D.VonMises(x, a), D.Weibull(a, a), D.Wishart(a + 2, eye),
    ]  # fmt: skip


EVERY = make()
NAMES = [f"{type(d).__name__}{i}" for i, d in enumerate(EVERY)]
every = pytest.mark.parametrize("d", EVERY, ids=NAMES)


def test_every_public_distribution_is_among_them():
    public = {c for c in vars(D).values() if isinstance(c, type) and issubclass(c, D.Distribution)}
    made_by_others = {D.Distribution, D.ExponentialFamily, D.LogitRelaxedBernoulli, D.ExpRelaxedCategorical}
    assert public - made_by_others == {type(d) for d in EVERY}


@every
def test_samples(d):
    for shape in ((), (5,), (2, 1), (0,)):
        x = d.sample(shape)
        assert x.shape == shape + tuple(d.batch_shape) + tuple(d.event_shape)
        assert d.log_prob(x).shape == shape + tuple(d.batch_shape)
        assert x.numel() == 0 or bool(d.support.check(x).all())
    assert d.support.event_dim == len(d.event_shape)
    if d.has_rsample:
        assert d.rsample((2,)).shape == (2, *d.batch_shape, *d.event_shape)


@every
def test_expand(d):
    wide = d.expand((4, *d.batch_shape))
    assert type(wide) is type(d)
    assert wide.batch_shape == (4, *d.batch_shape)
    assert wide.event_shape == d.event_shape
    x = d.sample((4,))
    assert np.allclose(wide.log_prob(x).numpy(), d.log_prob(x).numpy(), rtol=1e-5)
    assert wide.sample((2,)).shape == (2, 4, *d.batch_shape, *d.event_shape)
    assert wide.expand((3, 4, *d.batch_shape)).batch_shape == (3, 4, *d.batch_shape)
    assert repr(wide).startswith(type(d).__name__)


MOMENTS = ("mean", "mode", "variance", "stddev")

# The distributions whose moments or entropy have no closed form, as in PyTorch.
ABSENT = {
    D.FisherSnedecor: {"entropy"},
    D.NegativeBinomial: {"entropy"},
    D.Poisson: {"entropy"},
    D.VonMises: {"entropy"},
    D.ContinuousBernoulli: {"mode"},
    D.Multinomial: {"mode"},
    D.MixtureSameFamily: {"mode", "entropy"},
    D.LKJCholesky: {*MOMENTS, "entropy"},
    D.LogisticNormal: {*MOMENTS, "entropy"},
    D.RelaxedBernoulli: {*MOMENTS, "entropy"},
    D.RelaxedOneHotCategorical: {*MOMENTS, "entropy"},
    D.TransformedDistribution: {*MOMENTS, "entropy"},
}


@every
def test_moments_have_the_shape_of_samples(d):
    shape = d.batch_shape if isinstance(d, D.Categorical) else (*d.batch_shape, *d.event_shape)
    for name in MOMENTS:
        if name in ABSENT.get(type(d), ()):
            with pytest.raises(NotImplementedError):
                getattr(d, name)
        else:
            assert getattr(d, name).shape == shape, name


@every
def test_entropies_have_the_shape_of_batches(d):
    if "entropy" in ABSENT.get(type(d), ()):
        with pytest.raises(NotImplementedError):
            d.entropy()
    else:
        entropy = d.entropy()
        assert entropy.shape == d.batch_shape
        assert np.allclose(d.perplexity().numpy(), np.exp(entropy.numpy()), rtol=1e-5)


@every
def test_copies_and_pickles(d):
    d.sample()
    for other in (copy.deepcopy(d), copy.copy(d), pickle.loads(pickle.dumps(d))):
        tl.manual_seed(1)
        x = d.sample((3,))
        tl.manual_seed(1)
        assert other.sample((3,)).tolist() == x.tolist()
        assert np.array_equal(other.log_prob(x).numpy(), d.log_prob(x).numpy(), equal_nan=True)
        assert repr(other) == repr(d)


@every
def test_values_must_be_tensors(d):
    with pytest.raises(
        ValueError, match=f"must be a Tensor, but got str for distribution {type(d).__name__}"
    ):
        d._validate_sample("x")


@every
def test_enumerate_support(d):
    if not d.has_enumerate_support:
        with pytest.raises(NotImplementedError):
            d.enumerate_support()
        return
    values = d.enumerate_support()
    assert values.shape[1:] == (*d.batch_shape, *d.event_shape)
    assert d.log_prob(values).exp().sum(0).tolist() == pytest.approx([1.0] * d.batch_shape.numel(), rel=1e-5)
    narrow = d.enumerate_support(expand=False)
    assert narrow.shape == (len(values), *[1] * len(d.batch_shape), *d.event_shape)


@pytest.mark.parametrize("dtype", [tl.float32, tl.float64])
def test_element_types_are_kept(dtype):
    a = tl.tensor([0.5, 2.0], dtype=dtype)
    for d in (
        *(D.Normal(0.0, a), D.Gamma(a, 1.0), D.Beta(a, a), D.Cauchy(0, a), D.StudentT(a), D.Poisson(a)),
        *(D.Uniform(0, a), D.Exponential(a), D.VonMises(0.0, a), D.Gumbel(0.0, a), D.LKJCholesky(3, a)),
        *(D.Binomial(3, a / 3), D.Dirichlet(a), D.HalfCauchy(a), D.Weibull(a, 1.0), D.LogNormal(0.0, a)),
    ):
        x = d.sample((2,))
        assert x.dtype == dtype, d
        assert d.log_prob(x).dtype == dtype, d
    default = D.Normal(0, 1)
    assert default.loc.dtype == tl.get_default_dtype()
    tl.set_default_dtype(tl.float64)
    try:
        assert D.Normal(0, 1).sample().dtype == tl.float64
    finally:
        tl.set_default_dtype(tl.float32)


def test_devices_without_memory():
    a = tl.empty(3, device="meta")
    for d in (
        D.Normal(a, a),
        D.Gamma(a, a),
        D.Bernoulli(a),
        D.Uniform(a, a),
        D.Geometric(a),
        D.Exponential(a),
    ):
        assert d.batch_shape == (3,)
        x = d.sample((2,))
        assert x.is_meta
        assert x.shape == (2, 3)
        assert d.log_prob(x).shape == (2, 3)


def test_texts():
    assert repr(D.Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"
    assert repr(D.Normal(tl.zeros(2, 3), 1.0)) == "Normal(loc: torch.Size([2, 3]), scale: torch.Size([2, 3]))"
    assert repr(D.Independent(D.Normal(tl.zeros(3), 1.0), 1)) == (
        "Independent(Normal(loc: torch.Size([3]), scale: torch.Size([3])), 1)"
    )
    assert repr(D.LogNormal(0.0, 1.0)) == "LogNormal()"
    assert repr(D.Gumbel(0.0, 1.0)) == "Gumbel(loc: 0.0, scale: 1.0)"
    assert repr(D.Multinomial(3, tl.ones(2))) == "Multinomial(total_count: 3, probs: torch.Size([2]))"


def test_scalars_broadcast():
    d = D.Normal(tl.zeros(3, 1), tl.ones(2))
    assert d.batch_shape == (3, 2)
    assert D.Normal(0, tl.ones(2)).loc.tolist() == [0, 0]
    with pytest.raises(ValueError, match="tensors or numbers"):
        D.Normal("0", 1.0)


def test_subclasses():
    class Same(D.Normal):
        pass

    class Other(D.Normal):
        def __init__(self, scale):
            super().__init__(0.0, scale)

    assert isinstance(Same(0.0, 1.0).expand((2,)), Same)
    with pytest.raises(NotImplementedError, match=r"define a custom \.expand"):
        Other(1.0).expand((2,))
    with pytest.raises(NotImplementedError, match="does not implement expand"):
        D.Distribution(validate_args=False).expand((2,))


def test_what_the_base_class_lacks_is_named():
    d = D.Distribution(validate_args=False)
    for name in ("mean", "mode", "variance", "support", "arg_constraints"):
        with pytest.raises(NotImplementedError, match=f"Distribution does not implement {name}"):
            getattr(d, name)
    with pytest.raises(NotImplementedError, match="cdf"):
        d.cdf(tl.zeros(1))
    with pytest.warns(FutureWarning, match="sample_n"):
        assert D.Normal(0.0, 1.0).sample_n(3).shape == (3,)


def test_derived_parameters_are_computed_once():
    d = D.Bernoulli(tl.tensor(0.25))
    assert d.logits is d.logits
    assert isinstance(D.Bernoulli.logits, D.utils.lazy_property)
    leaf = tl.tensor(0.25, requires_grad=True)
    with tl.no_grad():
        assert D.Bernoulli(leaf).logits.requires_grad
