"""Matrices of multivariate distributions against numpy, limits of values, and entropies by the general formula."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tl_core as tl
import tl_distributions as D
from tl_distributions import transforms as T
from tl_distributions.exp_family import ExponentialFamily
from tl_distributions.utils import lazy_property

MATRIX = np.array([[2.0, 0.5, 0.1], [0.5, 1.5, -0.3], [0.1, -0.3, 1.2]])


def tensor(values):
    return tl.tensor(np.asarray(values).tolist(), dtype=tl.float64)


# ---- matrices


def test_the_matrices_of_a_wishart_distribution():
    for name, matrix in (("covariance_matrix", MATRIX), ("precision_matrix", np.linalg.inv(MATRIX)),
                         ("scale_tril", np.linalg.cholesky(MATRIX))):  # fmt: skip
        p = D.Wishart(tl.tensor(5.0, dtype=tl.float64), **{name: tensor(matrix)})
        assert np.allclose(p.scale_tril.tolist(), np.linalg.cholesky(MATRIX))
        assert np.allclose(p.covariance_matrix.tolist(), MATRIX)
        assert np.allclose(p.precision_matrix.tolist(), np.linalg.inv(MATRIX))
        assert np.allclose(p.mean.tolist(), 5 * MATRIX)


@pytest.mark.filterwarnings("ignore:Low df values", "ignore:Singular sample")
@pytest.mark.parametrize(("df", "tries"), [(2.5, 10), (5.0, 3)])
def test_singular_samples_are_drawn_again(monkeypatch, df, tries):
    p, calls = D.Wishart(tl.tensor(df, dtype=tl.float64), covariance_matrix=tensor(MATRIX)), []

    def singular(shape):
        calls.append(shape)
        return tl.zeros(3, 3, dtype=tl.float64)

    monkeypatch.setattr(p, "_bartlett_sampling", singular)
    p.rsample()
    assert len(calls) == 1 + tries
    p.rsample(max_try_correction=1)
    assert len(calls) == 1 + tries + 2


def test_the_matrices_of_a_low_rank():
    factor, diagonal = np.array([[1.0, 0.5], [-0.3, 2.0], [0.7, 0.1]]), np.array([0.5, 1.0, 2.0])
    p = D.LowRankMultivariateNormal(tl.zeros(3, dtype=tl.float64), tensor(factor), tensor(diagonal))
    matrix = factor @ factor.T + np.diag(diagonal)
    assert np.allclose(p.covariance_matrix.tolist(), matrix)
    assert np.allclose(p.precision_matrix.tolist(), np.linalg.inv(matrix))
    assert np.allclose(p.scale_tril.tolist(), np.linalg.cholesky(matrix))
    assert np.allclose(p.variance.tolist(), np.diag(matrix))


def test_the_matrices_of_a_normal_distribution():
    forms = {
        "covariance_matrix": MATRIX,
        "precision_matrix": np.linalg.inv(MATRIX),
        "scale_tril": np.linalg.cholesky(MATRIX),
    }
    for name, matrix in forms.items():
        p = D.MultivariateNormal(tl.zeros(2, 3, dtype=tl.float64), **{name: tensor(matrix)})
        assert (tuple(p.batch_shape), tuple(p.event_shape)) == ((2,), (3,))
        for other, expected in forms.items():
            assert np.allclose(getattr(p, other)[1].tolist(), expected), other
        wide = p.expand((4, 2))
        assert tuple(wide.loc.shape) == (4, 2, 3) and np.allclose(
            wide.covariance_matrix[3, 0].tolist(), MATRIX
        )


# ---- limits


def test_logits_of_certain_events_are_finite():
    sigmoid = T.SigmoidTransform()
    eps, tiny = np.finfo("f4").eps, np.finfo("f4").tiny
    ends = sigmoid.inv(tl.tensor([0.0, 1.0, 0.5])).tolist()
    assert ends == pytest.approx([math.log(tiny), math.log((1 - eps) / eps), 0.0], rel=1e-5)


@pytest.mark.parametrize(
    ("low", "high", "is_inside"),
    [(0.25, 0.75, True), (-0.5, 0.75, False), (0.25, 1.5, False), (-1.0, 2.0, False)],
)
def test_divergences_from_a_support_beyond(low, high, is_inside):
    p = D.Uniform(low, high)
    for q in (D.Beta(2.0, 3.0), D.ContinuousBernoulli(0.3)):
        assert math.isfinite(float(D.kl_divergence(p, q))) is is_inside
    assert math.isfinite(float(D.kl_divergence(p, D.Gamma(2.0, 3.0)))) is (low >= 0)
    assert math.isfinite(float(D.kl_divergence(p, D.Exponential(3.0)))) is (low >= 0)
    assert math.isfinite(float(D.kl_divergence(p, D.Pareto(0.2, 3.0)))) is (low >= 0.2)


def test_numbers_outside_of_a_support_are_refused_everywhere():
    nan = tl.tensor(math.nan)
    for p in (D.Cauchy(0.0, 1.0, validate_args=True), D.HalfCauchy(1.0, validate_args=True),
              D.HalfNormal(1.0, validate_args=True), D.Gumbel(0.0, 1.0, validate_args=True),
              D.Normal(0.0, 1.0, validate_args=True), D.Laplace(0.0, 1.0, validate_args=True),
              D.Exponential(1.0, validate_args=True)):  # fmt: skip
        with pytest.raises(ValueError, match="within the support"):
            p.cdf(nan)
        with pytest.raises(ValueError, match="within the support"):
            p.log_prob(nan)
    assert math.isnan(float(D.Cauchy(0.0, 1.0, validate_args=False).cdf(nan)))


# ---- the general formula of entropies


@pytest.mark.parametrize(
    "p",
    [
        D.Beta(tl.tensor(2.0), tl.tensor([0.5, 3.0])), D.Gamma(tl.tensor(2.0), tl.tensor([0.5, 3.0])),
        D.Normal(tl.tensor(1.0), tl.tensor([0.5, 3.0])), D.Exponential(tl.tensor([0.5, 3.0])),
        D.Dirichlet(tl.tensor([[0.5, 2.0, 3.0], [1.0, 1.0, 1.0]])), D.Bernoulli(tl.tensor([0.2, 0.9])),
    ],
    ids=lambda p: type(p).__name__,
)  # fmt: skip
def test_entropies_by_gradients_of_the_normalizer(p):
    general = ExponentialFamily.entropy(p)
    assert np.allclose(general.tolist(), p.entropy().tolist(), rtol=1e-4, atol=1e-5)


# ---- chains of transforms


def test_the_inverse_of_a_chain_is_one_object():
    chain = T.ComposeTransform([T.ExpTransform(), T.AffineTransform(1.0, 2.0)])
    inverse = chain.inv
    assert chain.inv is inverse and inverse.inv is chain
    x = tl.tensor([0.5, -1.0])
    assert tl.allclose(inverse(chain(x)), x, atol=1e-6)


def test_dimensions_of_events_through_a_chain():
    reshape = T.ReshapeTransform((6,), (2, 3))
    chain = T.ComposeTransform([T.ExpTransform(), reshape])
    assert (chain.domain.event_dim, chain.codomain.event_dim) == (1, 2)
    back = T.ComposeTransform([reshape.inv, T.StickBreakingTransform()])
    assert (back.domain.event_dim, back.codomain.event_dim) == (2, 1)
    wide = T.ComposeTransform(
        [T.StickBreakingTransform(), T.ReshapeTransform((7,), (7, 1)), T.ExpTransform()]
    )
    assert (wide.domain.event_dim, wide.codomain.event_dim) == (1, 2)
    x = tl.linspace(-1, 1, 6)
    assert float(chain.log_abs_det_jacobian(x, chain(x))) == pytest.approx(float(x.sum()), abs=1e-5)


def test_transforms_of_one_kind_are_equal():
    for kind in (T.PositiveDefiniteTransform, T.SoftmaxTransform, T.StickBreakingTransform,
                 T.LowerCholeskyTransform, T.ExpTransform, T.SigmoidTransform, T.TanhTransform):  # fmt: skip
        rest = [T.AbsTransform(), T.SoftplusTransform(), 3]
        assert (kind() == kind()) is True and not any(kind() == other for other in rest), kind


def test_lazy_properties_are_properties_of_their_function():
    def scale(self):
        """The scale."""
        return 3

    kind = type("Kind", (), {"scale": lazy_property(scale)})
    assert isinstance(kind.scale, property) and kind.scale.fget is scale
    each = kind()
    assert each.scale == 3 and vars(each) == {"scale": 3}
