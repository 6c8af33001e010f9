"""Constraints, and the errors that parameters and values outside them raise."""

from __future__ import annotations

import pytest

import tl_core as tl
import tl_distributions as D
from tl_distributions import constraints as c

EYE = tl.eye(2)
ROTATED = tl.tensor([[0.0, 1.0], [-1.0, 0.0]])
SINGULAR = tl.ones(2, 2)


@pytest.mark.parametrize(
    ("constraint", "valid", "invalid"),
    [
        (c.boolean, [0.0, 1.0], [0.5, 2.0, tl.nan]),
        (c.integer_interval(-1, 2), [-1.0, 2.0], [0.5, 3.0]),
        (c.nonnegative_integer, [0.0, 5.0], [-1.0, 0.5, tl.nan]),
        (c.positive_integer, [1.0], [0.0]),
        (c._IntegerLessThan(2), [2.0, -3.0], [3.0]),
        (c.real, [0.0, -1e30], [tl.nan]),
        (c.positive, [1e-30], [0.0, -1.0, tl.nan]),
        (c.nonnegative, [0.0], [-1e-30, tl.nan]),
        (c.less_than(2.0), [1.0], [2.0, tl.nan]),
        (c.unit_interval, [0.0, 1.0], [-0.1, 1.1, tl.nan]),
        (c.half_open_interval(0.0, 1.0), [0.0], [1.0]),
        (c.simplex, [[0.5, 0.5], [1.0, 0.0]], [[0.5, 0.6], [-0.5, 1.5]]),
        (c.one_hot, [[0.0, 1.0]], [[1.0, 1.0], [0.0, 0.0], [0.5, 0.5]]),
        (c.multinomial(3), [[1.0, 2.0], [0.0, 1.0]], [[2.0, 2.0], [-1.0, 1.0]]),
        (c.real_vector, [[0.0, 1.0]], [[tl.nan, 1.0]]),
    ],
    ids=repr,
)
def test_regions(constraint, valid, invalid):
    assert constraint.check(tl.tensor(valid)).tolist() == [True] * len(valid)
    assert constraint.check(tl.tensor(invalid)).tolist() == [False] * len(invalid)


@pytest.mark.parametrize(
    ("constraint", "valid", "invalid"),
    [
        (c.lower_triangular, [EYE, SINGULAR.tril()], [SINGULAR]),
        (c.lower_cholesky, [EYE, SINGULAR.tril()], [-EYE, SINGULAR]),
        (c.corr_cholesky, [EYE], [2 * EYE, SINGULAR.tril()]),
        (c.square, [EYE, ROTATED], []),
        (c.symmetric, [EYE, SINGULAR], [ROTATED]),
        (c.positive_semidefinite, [EYE, tl.zeros(2, 2)], [-EYE, ROTATED]),
        (c.positive_definite, [EYE], [SINGULAR - 0.1 * EYE, -EYE, ROTATED]),
    ],
    ids=repr,
)
def test_matrices(constraint, valid, invalid):
    assert constraint.event_dim == 2
    for matrix in valid:
        assert bool(constraint.check(matrix))
    for matrix in invalid:
        assert not bool(constraint.check(matrix))
    assert not c.square.check(tl.zeros(3, 2, 4)).any()
    assert not c.symmetric.check(tl.zeros(3, 2, 4)).any()


def test_constraints_of_integers_are_discrete():
    integers = [c.integer_interval(0, 2), c.nonnegative_integer, c.positive_integer, c._IntegerLessThan(2)]
    assert all(constraint.is_discrete for constraint in [c.boolean, c.one_hot, c.multinomial(3), *integers])
    assert not any(constraint.is_discrete for constraint in (c.real, c.positive, c.simplex, c.less_than(2.0)))


def test_dependent_constraints():
    assert c.is_dependent(c.dependent)
    assert c.is_dependent(D.Uniform.support)
    assert not c.is_dependent(D.Uniform(0.0, 1.0).support)
    with pytest.raises(NotImplementedError, match="event_dim cannot be determined"):
        _ = c.dependent.event_dim
    assert c.dependent(event_dim=2).event_dim == 2
    assert c.dependent(is_discrete=True)(event_dim=1).is_discrete is True
    with pytest.raises(ValueError, match="Cannot determine"):
        c.dependent.check(tl.zeros(1))
    assert D.Binomial.support.is_discrete is True


def test_joined_constraints():
    joined = c.cat([c.positive, c.boolean], dim=0, lengths=[2, 1])
    assert joined.check(tl.tensor([1.0, -1.0, 1.0])).tolist() == [True, False, True]
    assert joined.is_discrete is True
    stacked = c.stack([c.positive, c.real_vector], dim=0)
    assert stacked.event_dim == 1
    assert c.stack([c.real], dim=-1).event_dim == 1
    mixture = c.MixtureSameFamilyConstraint(c.interval(tl.tensor([0.0, 1.0]), tl.tensor([2.0, 3.0])))
    assert mixture.check(tl.tensor([1.5, 0.5])).tolist() == [True, False]
    with pytest.raises(TypeError, match="cseq must hold constraints"):
        c.cat([1])
    with pytest.raises(ValueError, match="one length a constraint"):
        c.cat([c.real], lengths=[1, 2])
    with pytest.raises(IndexError, match="dim must be in"):
        c.stack([c.real], dim=2).check(tl.zeros(1))
    with pytest.raises(ValueError, match="must not be negative"):
        c.independent(c.real, -1)
    with pytest.raises(TypeError, match="must be a Constraint"):
        c.MixtureSameFamilyConstraint(3)
    with pytest.raises(NotImplementedError, match="Constraint does not implement check"):
        c.Constraint().check(tl.zeros(1))


def test_texts():
    assert repr(c.positive) == "GreaterThan(lower_bound=0.0)"
    assert repr(c.real_vector) == "IndependentConstraint(Real(), 1)"
    assert repr(c.dependent) == "Dependent()"
    assert repr(D.Uniform.support) == "DependentProperty()"
    assert repr(c.MixtureSameFamilyConstraint(c.real)) == "MixtureSameFamilyConstraint(Real())"


ONE = tl.ones(2)
BAD = tl.tensor([1.0, -2.0])


@pytest.mark.parametrize(
    ("make", "parameter", "constraint", "found"),
    [
        (lambda: D.Normal(0.0, BAD), "scale", r"GreaterThan\(lower_bound=0.0\)", "-2.0"),
        (lambda: D.Normal(tl.tensor([0.0, tl.nan]), 1.0), "loc", r"Real\(\)", "nan"),
        (lambda: D.Bernoulli(tl.tensor([0.5, 1.5])), "probs", "Interval", "1.5"),
        (lambda: D.Bernoulli(logits=tl.tensor([0.5, tl.nan])), "logits", "Real", "nan"),
        (lambda: D.Beta(ONE, BAD), "concentration0", "GreaterThan", "-2.0"),
        (lambda: D.Binomial(tl.tensor([1.0, 1.5]), 0.5 * ONE), "total_count", "IntegerGreaterThan", "1.5"),
        (
            lambda: D.Dirichlet(tl.stack([ONE, BAD])),
            "concentration",
            "IndependentConstraint",
            r"tensor\(\[ 1., -2.\]\)",
        ),
        (lambda: D.Gamma(ONE, BAD), "rate", "GreaterThan", "-2.0"),
        (lambda: D.LogNormal(0.0, BAD), "scale", "GreaterThan", "-2.0"),
        (lambda: D.OneHotCategorical(tl.stack([ONE, BAD])), "probs", "Simplex", "tensor"),
        (lambda: D.Multinomial(3, tl.stack([ONE, BAD])), "probs", "Simplex", "tensor"),
        (lambda: D.MultivariateNormal(tl.zeros(2), -EYE), "covariance_matrix", "PositiveDefinite", "tensor"),
        (lambda: D.NegativeBinomial(-1.0, 0.5 * ONE), "total_count", "GreaterThanEq", "-1.0"),
        (lambda: D.Poisson(BAD), "rate", "GreaterThanEq", "-2.0"),
        (lambda: D.Weibull(ONE, BAD), "concentration", "GreaterThan", "-2.0"),
        (lambda: D.Wishart(tl.tensor(3.0), -EYE), "covariance_matrix", "PositiveDefinite", "tensor"),
    ],
)
def test_bad_parameters_are_named(make, parameter, constraint, found):
    distribution = "Normal" if parameter == "loc" else r"\w+"
    named = rf"parameter {parameter} .* of distribution {distribution}\("
    message = rf"{named}.*{constraint}.*found the invalid value {found}"
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: D.Uniform(tl.tensor([0.0, 2.0]), 1.0), "low 2.0 and high 1.0"),
        (lambda: D.Geometric(tl.tensor([0.5, 0.0])), "probs .* positive, but found 0.0"),
        (lambda: D.Bernoulli(), "Either `probs` or `logits` must be specified, but not both, for Bernoulli"),
        (lambda: D.Categorical(ONE, ONE), "Either `probs` or `logits`"),
        (lambda: D.Categorical(tl.tensor(1.0)), "`probs` parameter must be at least one-dimensional"),
        (lambda: D.Dirichlet(tl.tensor(1.0)), "at least one-dimensional"),
        (lambda: D.Independent(D.Normal(0.0, 1.0), 1), "reinterpreted_batch_ndims"),
        (lambda: D.LKJCholesky(1), "dim=1"),
        (lambda: D.LowRankMultivariateNormal(ONE, tl.ones(3, 1), ONE), "2 x m"),
        (lambda: D.LowRankMultivariateNormal(ONE, ONE, ONE), "cov_factor must be at least two-dimensional"),
        (lambda: D.LowRankMultivariateNormal(ONE, tl.ones(2, 1), tl.ones(3)), r"shape \(2,\)"),
        (lambda: D.LowRankMultivariateNormal(tl.tensor(1.0), tl.ones(2, 1), ONE), "loc must be"),
        (
            lambda: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(ONE, 1.0)),
            "Categorical distribution, but got Normal",
        ),
        (lambda: D.MixtureSameFamily(D.Categorical(ONE), 3), "component_distribution must be a Distribution"),
        (lambda: D.MixtureSameFamily(D.Categorical(ONE), D.Normal(tl.zeros(3), 1.0)), "2 components"),
        (
            lambda: D.MixtureSameFamily(D.Categorical(tl.ones(4, 2)), D.Normal(tl.zeros(3, 2), 1.0)),
            "does not fit",
        ),
        (lambda: D.MultivariateNormal(ONE), "Exactly one of .* but got none"),
        (lambda: D.MultivariateNormal(ONE, EYE, EYE), "covariance_matrix and precision_matrix"),
        (lambda: D.MultivariateNormal(ONE, ONE), "covariance_matrix must be at least two-dimensional"),
        (lambda: D.MultivariateNormal(tl.tensor(1.0), EYE), "loc must be"),
        (lambda: D.Wishart(0.5, EYE), "expected to be greater than ndim - 1 = 1"),
        (lambda: D.Normal.set_default_validate_args(3), "must be True or False"),
        (lambda: D.utils.tril_matrix_to_vec(EYE, 2), "diag must be in"),
        (lambda: D.utils.vec_to_tril_matrix(ONE), "no square matrix has 2 elements"),
    ],
)
def test_other_wrong_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_values_outside_the_support_are_named():
    with pytest.raises(
        ValueError, match=r"support \(Boolean\(\)\) of the distribution Bernoulli.*invalid value 0.5"
    ):
        D.Bernoulli(tl.tensor([0.3])).log_prob(tl.tensor(0.5))
    with pytest.raises(
        ValueError, match=r"IntegerInterval\(lower_bound=0, upper_bound=1\).*value 2 at index \(1,\) \(1 of 2"
    ):
        D.Categorical(ONE).log_prob(tl.tensor([0, 2]))
    with pytest.raises(ValueError, match=r"not broadcastable .*torch.Size\(\[2\]\) vs torch.Size\(\[3\]\)"):
        D.Normal(tl.zeros(3), 1.0).log_prob(tl.zeros(2))
    with pytest.raises(ValueError, match="right-most size of value must match event_shape"):
        D.Dirichlet(ONE).log_prob(tl.ones(3) / 3)
    with pytest.raises(NotImplementedError, match="total_count must be an int"):
        D.Multinomial(ONE, ONE)


def test_validation_can_be_turned_off():
    assert D.Normal(0.0, -1.0, validate_args=False).scale == -1
    assert D.OneHotCategorical(BAD, validate_args=False).probs.shape == (2,)
    before = D.Distribution._validate_args
    try:
        D.Distribution.set_default_validate_args(False)
        assert D.Normal(0.0, -1.0).scale == -1
        with pytest.raises(ValueError, match="scale"):
            D.Normal(0.0, -1.0, validate_args=True)
    finally:
        D.Distribution.set_default_validate_args(before)


def test_a_distribution_without_constraints_warns():
    class Bare(D.Distribution):
        pass

    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        d = Bare()
    with pytest.warns(UserWarning, match="does not define `support`"):
        d._validate_sample(tl.tensor(0.0))


def test_few_degrees_of_freedom_warn():
    with pytest.warns(UserWarning, match="Low df values"):
        D.Wishart(tl.tensor(1.5), EYE)
