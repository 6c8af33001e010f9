"""Transforms: inverses, Jacobians beside those of automatic differentiation, shapes, caches, composition."""

from __future__ import annotations

import copy
import pickle

import pytest

import tl_autograd as ag
import tl_core as tl
import tl_distributions as D
from tl_distributions import constraints as c
from tl_distributions import transforms as T

F64 = {"dtype": tl.float64}


def t(*values):
    """A tensor of double precision."""
    return tl.tensor(values[0] if len(values) == 1 else values, **F64)


REAL, POSITIVE, UNIT = t(-2.0, -0.3, 0.4, 3.0), t(0.1, 0.7, 1.5, 4.0), t(0.1, 0.3, 0.6, 0.95)
MATRIX = t(((0.3, 9.0), (0.7, -0.4)))

# Each with a point of its domain.
EVERY = [
    (T.AbsTransform(), POSITIVE),
    (T.AffineTransform(1.0, -2.0), REAL),
    (T.AffineTransform(t(1.0, 2.0, 3.0, 4.0), t(0.5, -1.0, 2.0, 3.0)), REAL),
    (T.AffineTransform(1.0, 2.0, event_dim=1), REAL),
    (T.CatTransform([T.ExpTransform(), T.identity_transform], lengths=[1, 3]), REAL),
    (T.ComposeTransform([T.AffineTransform(1.0, 2.0), T.ExpTransform()]), REAL),
    (T.ComposeTransform([T.ExpTransform().inv, T.StickBreakingTransform()]), POSITIVE),
    (T.CorrCholeskyTransform(), t(0.3, -0.8, 1.2, 0.1, 0.5, -0.6)),
    (T.CumulativeDistributionTransform(D.Normal(t(0.0), t(1.0))), REAL),
    (T.ExpTransform(), REAL),
    (T.ExpTransform().inv, POSITIVE),
    (T.IndependentTransform(T.ExpTransform(), 1), REAL),
    (T.LowerCholeskyTransform(), MATRIX.tril()),
    (T.PositiveDefiniteTransform(), MATRIX.tril()),
    (T.PowerTransform(t(2.5)), POSITIVE),
    (T.PowerTransform(t(-1.0)), POSITIVE),
    (T.ReshapeTransform((4,), (2, 2)), REAL),
    (T.SigmoidTransform(), REAL),
    (T.SoftmaxTransform(), REAL.log_softmax(-1)),
    (T.SoftplusTransform(), REAL),
    (T.StackTransform([T.ExpTransform(), T.TanhTransform(), T.identity_transform, T.SigmoidTransform()]), REAL),
    (T.StickBreakingTransform(), REAL),
    (T.TanhTransform(), REAL),
    (T.TanhTransform().inv, UNIT),
]  # fmt: skip
every = pytest.mark.parametrize(
    ("transform", "x"), EVERY, ids=[f"{type(p[0]).__name__}{i}" for i, p in enumerate(EVERY)]
)


@every
def test_the_inverse_leads_back(transform, x):
    y = transform(x)
    assert tl.allclose(transform.inv(y), x, rtol=1e-8, atol=1e-10)
    assert transform.inv.inv is transform
    assert bool(transform.codomain.check(y).all())
    assert bool(transform.domain.check(x).all())
    assert tuple(transform.forward_shape(x.shape)) == tuple(y.shape)
    assert tuple(transform.inverse_shape(y.shape)) == tuple(x.shape)


@every
def test_jacobian(transform, x):
    if not transform.bijective:
        with pytest.raises(NotImplementedError):
            transform.log_abs_det_jacobian(x, transform(x))
        return
    x = x.detach().requires_grad_()
    y = transform(x)
    actual = transform.log_abs_det_jacobian(x, y)
    rows = independent_elements(transform, y)
    jacobian = tl.stack([ag.grad(e, x, retain_graph=True, allow_unused=True)[0].flatten() for e in rows])
    if jacobian.dim() and transform.domain.event_dim == 0:
        expected = jacobian.diagonal().abs().log()
    else:
        expected = tl.linalg.slogdet(jacobian).logabsdet
    assert tl.allclose(actual, expected.expand(actual.shape), rtol=1e-9, atol=1e-10)
    back = transform.inv.log_abs_det_jacobian(y, x)
    assert tl.allclose(back, -actual)


def independent_elements(transform, y):
    """As many elements of y as the map has coordinates."""
    if transform.codomain is c.corr_cholesky:
        return list(D.utils.tril_matrix_to_vec(y, -1))
    if isinstance(transform, T.StickBreakingTransform) or "StickBreaking" in repr(transform):
        return list(y[..., :-1])
    return list(y.flatten())


@every
def test_copies(transform, x):
    transform.inv  # noqa: B018  the inverse is held by a weak reference
    for other in (copy.deepcopy(transform), pickle.loads(pickle.dumps(transform))):
        assert tl.equal(other(x), transform(x))
    assert repr(transform).startswith(type(transform).__name__)


@pytest.mark.parametrize(
    "transform",
    [p[0] for p in EVERY if type(p[0]).__name__ not in ("LowerCholeskyTransform",)],
    ids=lambda p: type(p).__name__,
)
def test_caches(transform):
    x = next(p[1] for p in EVERY if p[0] is transform)
    value = transform.with_cache()
    assert value.with_cache() is value
    y = value(x)
    assert value.inv(y) is x or isinstance(value, (T.ComposeTransform, T._InverseTransform))
    assert tl.equal(value(x), y)


def test_equal_transforms():
    assert T.ExpTransform() == T.ExpTransform() != T.TanhTransform()
    assert T.AffineTransform(0.0, 1.0) == T.AffineTransform(0.0, 1.0) != T.AffineTransform(0.0, 2.0)
    assert T.AffineTransform(t(0.0), 1.0) == T.AffineTransform(0.0, 1.0)
    assert T.PowerTransform(t(2.0)) == T.PowerTransform(t(2.0)) != T.PowerTransform(t(3.0))
    assert T.ExpTransform().inv == T.ExpTransform().inv
    assert T.ComposeTransform([T.ExpTransform()]) == T.ComposeTransform([T.ExpTransform()])


def test_signs():
    assert T.ExpTransform().sign == 1
    assert T.AffineTransform(0.0, -2.0).sign == -1
    assert T.ComposeTransform([T.AffineTransform(0.0, -2.0), T.AffineTransform(0.0, -1.0)]).sign == 1
    assert T.PowerTransform(t(-1.0)).sign == -1
    with pytest.raises(NotImplementedError, match="SoftmaxTransform does not implement sign"):
        _ = T.SoftmaxTransform().sign


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: T.ExpTransform(cache_size=2), ValueError, "cache_size must be 0 or 1, but got 2"),
        (lambda: T.ReshapeTransform((2,), (3,)), ValueError, "as many elements"),
        (lambda: T.ReshapeTransform((2,), (2,)).forward_shape((3,)), ValueError, "Shape mismatch"),
        (lambda: T.ReshapeTransform((2,), (2,)).forward_shape(()), ValueError, "Too few dimensions"),
        (lambda: T.StickBreakingTransform().forward_shape(()), ValueError, "Too few dimensions"),
        (lambda: T.CorrCholeskyTransform().forward_shape((4,)), ValueError, r"n \(n - 1\) / 2"),
        (lambda: T.CorrCholeskyTransform().inverse_shape((2, 3)), ValueError, "square"),
        (lambda: T.CorrCholeskyTransform().inverse_shape((2,)), ValueError, "Too few dimensions"),
        (lambda: T.CatTransform([1]), TypeError, "transforms"),
        (lambda: T.CatTransform([T.ExpTransform()], lengths=[1, 2]), ValueError, "one length a transform"),
        (lambda: T.CatTransform([T.ExpTransform()])(t(1.0, 2.0)), ValueError, "expected 1 elements"),
        (lambda: T.StackTransform([T.ExpTransform()])(t(1.0, 2.0)), ValueError, "one a transform"),
        (lambda: T.StackTransform([T.ExpTransform()], dim=3)(t(1.0, 2.0)), IndexError, "dim must be in"),
        (lambda: T.IndependentTransform(T.ExpTransform(), 2)(t(1.0, 2.0)), ValueError, "Too few dimensions"),
        (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), 3), ValueError, "list of Transforms"),
        (
            lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), T.SoftmaxTransform()),
            ValueError,
            "at least 1",
        ),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_transformed_distribution():
    base = D.Normal(t(0.5), t(2.0))
    d = D.TransformedDistribution(base, [T.AffineTransform(1.0, -3.0), T.ExpTransform()])
    x = t(0.2, 1.0, 5.0)
    expected = D.LogNormal(t(1.0) - 3 * 0.5, t(6.0))
    assert tl.allclose(d.log_prob(x), expected.log_prob(x))
    assert tl.allclose(d.cdf(x), expected.cdf(x))
    assert tl.allclose(d.icdf(d.cdf(x)), x)
    assert d.support is c.positive
    rows = D.TransformedDistribution(D.Normal(tl.zeros(4, 3, **F64), 1.0), T.StickBreakingTransform())
    assert (rows.batch_shape, rows.event_shape) == ((4,), (4,))
    reshaped = D.TransformedDistribution(D.Normal(tl.zeros(4, 6), 1.0), T.ReshapeTransform((6,), (2, 3)))
    assert (reshaped.batch_shape, reshaped.event_shape) == ((4,), (2, 3))
    assert reshaped.log_prob(reshaped.sample()).shape == (4,)
    wider = D.TransformedDistribution(D.Normal(t(0.0), t(1.0)), T.AffineTransform(tl.zeros(3, **F64), 1.0))
    assert wider.batch_shape == (3,)


CONSTRAINTS = [
    *(
        c.real,
        c.real_vector,
        c.positive,
        c.nonnegative,
        c.greater_than(2.0),
        c.greater_than_eq(-1.0),
        c.less_than(3.0),
    ),
    *(c.interval(-2.0, 5.0), c.half_open_interval(1.0, 2.0), c.unit_interval, c.simplex, c.corr_cholesky),
    *(c.independent(c.positive, 2), c.greater_than(t(1.0, 2.0, 3.0))),
    *(c.cat([c.positive, c.real], lengths=[1, 2]), c.stack([c.positive, c.real, c.less_than(0.0)])),
    *(c.lower_cholesky, c.positive_definite, c.positive_semidefinite),
]


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
@pytest.mark.parametrize("registry", [D.biject_to, D.transform_to])
def test_registries(registry, constraint):
    if registry is D.biject_to and constraint in (
        c.lower_cholesky, c.positive_definite, c.positive_semidefinite,
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match="Cannot transform"):
            registry(constraint)
        return
    transform = registry(constraint)
    assert transform.bijective or registry is D.transform_to
    tl.manual_seed(0)
    x = tl.randn((3, 3), **F64)
    assert bool(constraint.check(transform(x)).all())


def test_registering():
    registry = D.ConstraintRegistry()

    class Even(c.Constraint):
        pass

    registry.register(c.positive, lambda constraint: T.ExpTransform())

    @registry.register(Even)
    def even(constraint):
        return T.AffineTransform(0.0, 2.0)

    assert isinstance(registry(c.greater_than(3.0)), T.ExpTransform)
    assert isinstance(registry(Even()), T.AffineTransform)
    with pytest.raises(TypeError, match="constraint must be a Constraint"):
        registry.register(int, even)
    with pytest.raises(NotImplementedError, match="_Real"):
        registry(c.real)
