"""The parts of distributions: broadcasting, probabilities and log-odds, matrices, the base of transforms."""

import math
import pickle

import mpmath
import numpy as np
import pytest

import tl_core as tl
from tl_distributions import lowrank_multivariate_normal as lowrank
from tl_distributions import multivariate_normal as normal
from tl_distributions import utils
from tl_distributions.bernoulli import Bernoulli
from tl_distributions.categorical import Categorical
from tl_distributions.continuous_bernoulli import ContinuousBernoulli
from tl_distributions.parameterization import BinaryParameter, ClassParameter, EventParameter
from tl_distributions.transform import Transform
from tl_distributions.transforms import ExpTransform
from tl_distributions.wishart import Wishart


def test_values_get_one_shape_and_type():
    a, b, c = utils.broadcast_all(2, tl.zeros(3, 1, dtype=tl.float64), tl.ones(4, dtype=tl.float64))
    assert a.shape == b.shape == c.shape == (3, 4) and a.dtype is tl.float64 and a[2, 3] == 2
    (single,) = utils.broadcast_all(True)
    assert single.dtype is tl.float32 and single.shape == ()
    x, y = tl.zeros(2), tl.ones(2)
    assert all(one is two for one, two in zip(utils.broadcast_all(x, y), (x, y), strict=True))
    for wrong in ("text", None, [1.0]):
        with pytest.raises(ValueError, match="tensors or numbers"):
            utils.broadcast_all(1.0, wrong)


@pytest.mark.parametrize("dtype", [tl.float32, tl.float64])
def test_probabilities_and_log_odds(dtype):
    eps = np.finfo(str(dtype).rpartition(".")[2]).eps
    p = tl.tensor([0.0, 0.25, 1.0], dtype=dtype)
    np.testing.assert_allclose(utils.clamp_probs(p).numpy(), [eps, 0.25, 1 - eps])
    odds = utils.probs_to_logits(p, is_binary=True).numpy()
    np.testing.assert_allclose(odds[1], math.log(0.25 / 0.75), rtol=1e-6)
    np.testing.assert_allclose([odds[0], odds[2]], [math.log(eps), -math.log(eps)], rtol=1e-6)
    np.testing.assert_allclose(utils.probs_to_logits(p)[1].item(), math.log(0.25), rtol=1e-6)
    logits = np.array([[0.0, 1.0, -2.0]])
    classes = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(utils.logits_to_probs(tl.tensor(logits)).numpy(), classes)
    np.testing.assert_allclose(
        utils.logits_to_probs(tl.tensor(logits), True).numpy(), 1 / (1 + np.exp(-logits))
    )


def test_one_parameter_gives_the_other():
    for distribution, kind in (
        (Bernoulli(0.25), BinaryParameter),
        (Categorical(tl.tensor([1.0, 3.0])), ClassParameter),
    ):
        assert isinstance(distribution, kind) and isinstance(distribution, EventParameter)
        again = pickle.loads(pickle.dumps(distribution))
        assert tl.equal(again.logits, distribution.logits) and "logits" in distribution.__dict__
    np.testing.assert_allclose(Bernoulli(0.25).logits.item(), math.log(1 / 3), rtol=1e-6)
    np.testing.assert_allclose(Categorical(tl.tensor([1.0, 3.0])).probs.numpy(), [0.25, 0.75])
    np.testing.assert_allclose(
        Categorical(logits=tl.tensor([0.0, 0.0])).logits.numpy(), [math.log(0.5)] * 2, rtol=1e-6
    )
    assert Bernoulli(logits=tl.zeros(2)).param_shape == (2,)
    for arguments in ({}, {"probs": 0.5, "logits": 0.0}):
        with pytest.raises(ValueError, match="but not both"):
            Bernoulli(**arguments)
    with pytest.raises(ValueError, match="one-dimensional"):
        Categorical(tl.tensor(1.0))


COVARIANCE = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 1.5]])


def test_factors_of_matrices():
    factor = np.linalg.cholesky(COVARIANCE)
    matrices = {
        "scale_tril": factor,
        "covariance_matrix": COVARIANCE,
        "precision_matrix": np.linalg.inv(COVARIANCE),
    }
    for name, matrix in matrices.items():
        np.testing.assert_allclose(
            normal.scale_tril_of(name, tl.tensor(matrix)).numpy(), factor, rtol=1e-10, atol=1e-12
        )
        values = [
            tl.tensor(matrix) if name == n else None
            for n in ("covariance_matrix", "precision_matrix", "scale_tril")
        ]
        assert normal.chosen_matrix(*values)[0] == name
    with pytest.raises(ValueError, match="but got none"):
        normal.chosen_matrix(None, None, None)
    with pytest.raises(ValueError, match="covariance_matrix and scale_tril"):
        normal.chosen_matrix(tl.eye(2), None, tl.eye(2))
    with pytest.raises(ValueError, match="at least two-dimensional"):
        normal.chosen_matrix(tl.ones(2), None, None)


@pytest.mark.parametrize("shape", [(3,), (4, 3), (5, 4, 3)])
def test_lengths_and_determinants(shape):
    x = np.random.default_rng(0).normal(size=shape)
    factor = tl.tensor(np.linalg.cholesky(COVARIANCE))
    expected = np.einsum("...i,ij,...j->...", x, np.linalg.inv(COVARIANCE), x)
    np.testing.assert_allclose(normal.mahalanobis(factor, tl.tensor(x)).numpy(), expected, rtol=1e-10)
    half = 0.5 * np.log(np.linalg.det(COVARIANCE))
    np.testing.assert_allclose(normal.half_log_det(factor).item(), half, rtol=1e-10)
    w, d = np.array([[1.0], [0.5], [-2.0]]), np.array([0.5, 2.0, 1.0])
    dense = w @ w.T + np.diag(d)
    capacitance = tl.tensor(np.linalg.cholesky(np.eye(1) + w.T @ np.diag(1 / d) @ w))
    expected = np.einsum("...i,ij,...j->...", x, np.linalg.inv(dense), x)
    result = lowrank.lowrank_mahalanobis(tl.tensor(w), tl.tensor(d), tl.tensor(x), capacitance)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-9)
    result = lowrank.lowrank_half_log_det(tl.tensor(d), capacitance)
    np.testing.assert_allclose(result.item(), 0.5 * np.log(np.linalg.det(dense)), rtol=1e-10)


@pytest.mark.parametrize("n", range(1, 6))
def test_vectors_of_elements_below_a_diagonal(n):
    for diag in range(-n, n):
        matrix = np.arange(1.0, 2 * n * n + 1).reshape(2, n, n)
        rows, columns = np.tril_indices(n, diag)
        vector = utils.tril_matrix_to_vec(tl.from_numpy(matrix), diag)
        np.testing.assert_array_equal(vector.numpy(), matrix[:, rows, columns])
        if rows.size:  # an empty vector is of any small matrix
            np.testing.assert_array_equal(
                utils.vec_to_tril_matrix(vector, diag).numpy(), np.tril(matrix, diag)
            )


def test_products_with_batches_of_vectors():
    rng = np.random.default_rng(0)
    matrix, vector = rng.normal(size=(3, 1, 4, 2)), rng.normal(size=(5, 2))
    actual = normal._batch_mv(tl.from_numpy(matrix), tl.from_numpy(vector))
    np.testing.assert_allclose(actual.numpy(), np.einsum("abij,bj->abi", matrix.repeat(5, 1), vector))


def test_the_base_of_transforms():
    class Double(Transform):
        domain = codomain = ExpTransform.domain
        bijective, sign = True, 1

        def _call(self, x):
            return 2 * x

        def _inverse(self, y):
            return y / 2

    double = Double(cache_size=1)
    x = tl.tensor([1.0, 3.0])
    y = double(x)
    assert (
        y.tolist() == [2.0, 6.0] and double.inv(y) is x and double.inv.inv is double and double.inv.sign == 1
    )
    assert Double().inv(tl.tensor([4.0])).tolist() == [2.0]
    assert double.with_cache(0)._cache_size == 0 and double.with_cache(1) is double
    with pytest.raises(ValueError, match="cache_size"):
        Double(cache_size=2)
    with pytest.raises(NotImplementedError):
        double.log_abs_det_jacobian(x, y)
    assert double.forward_shape((2, 3)) == double.inverse_shape((2, 3)) == (2, 3)


@pytest.mark.parametrize("eta", [-60.0, -3.0, 3.0, 29.0, 31.0, 60.0])
def test_quantiles_of_the_continuous_bernoulli_with_any_log_odds(eta):
    u = np.array([1e-26, 1e-12, 0.3, 0.999])
    with mpmath.workdps(60):
        expected = [float(mpmath.log1p(mpmath.mpf(v) * mpmath.expm1(eta)) / eta) for v in u]
    result = ContinuousBernoulli(logits=tl.tensor(eta, dtype=tl.float64)).icdf(tl.tensor(u))
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-9, atol=1e-15)


def test_singular_samples_are_drawn_again(monkeypatch):
    wishart = Wishart(tl.tensor(3.0), tl.eye(2))
    good, singular = tl.tensor([[2.0, 0.5], [0.5, 1.0]]), tl.tensor([[1.0, 1.0], [1.0, 1.0]])
    shapes = []

    def bartlett(shape):
        shapes.append(shape)
        return tl.stack([good if len(shapes) > 2 else singular, good * len(shapes)])

    monkeypatch.setattr(wishart, "_bartlett_sampling", bartlett)
    with pytest.warns(UserWarning, match="Singular sample"):
        sample = wishart.rsample((2,))
    assert tl.equal(sample, tl.stack([good, good])) and len(shapes) == 3
    shapes.clear()
    with pytest.warns(UserWarning, match="Singular sample"):
        sample = wishart.rsample((2,), max_try_correction=1)
    assert tl.equal(sample[0], singular) and len(shapes) == 2
    shapes[:] = [(), (), ()]
    wishart.rsample((2,))
    assert len(shapes) == 4
