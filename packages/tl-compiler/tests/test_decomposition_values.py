"""Decompositions as functions, against numpy and closed forms."""

import math

import numpy as np
import pytest

import tl_core as tl
from tl_compiler.decompositions import activations, arithmetic, reductions, registry, shapes

X = np.array([[0.5, -1.0, 2.0], [0.0, 3.0, -0.25]])
BOOLEANS = np.array([[True, False, True], [True, True, True]])


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def close(result, expected):
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12, atol=1e-14)


def test_derivatives_of_softmax():
    grad, out = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]]), softmax(X)
    jacobian = [np.diag(row) - np.outer(row, row) for row in out]
    expected = np.stack([j @ g for j, g in zip(jacobian, grad, strict=True)])
    close(activations.softmax_backward(tl.tensor(grad), tl.tensor(out), 1, tl.float64), expected)
    log_jacobian = [np.eye(3) - np.outer(np.ones(3), row) for row in out]
    expected = np.stack([j.T @ g for j, g in zip(log_jacobian, grad, strict=True)])
    result = activations.log_softmax_backward(tl.tensor(grad), tl.tensor(np.log(out)), 1, tl.float64)
    close(result, expected)
    half = activations.softmax_backward(tl.tensor(grad), tl.tensor(out), 1, tl.float16)
    assert half.dtype is tl.float16


def test_functions_of_elements():
    close(
        activations.prelu_kernel(tl.tensor(X), tl.tensor(0.1, dtype=tl.float64)), np.where(X > 0, X, 0.1 * X)
    )
    positive = np.array([0.0, 0.5, 1.0, 4.0, -1.0, math.nan])
    entropy = [0.0, -0.5 * math.log(0.5), 0.0, -4 * math.log(4), -math.inf, math.nan]
    close(arithmetic.entr(tl.tensor(positive)), entropy)
    a, b = np.array([0.0, 2.0, 0.0, 1.0]), np.array([-1.0, 0.5, math.nan, -0.5])
    expected = [0.0, 2 * math.log1p(0.5), math.nan, math.log1p(-0.5)]
    close(arithmetic.xlog1py(tl.tensor(a), tl.tensor(b)), expected)


def test_reductions():
    x, booleans = tl.tensor(X), tl.tensor(BOOLEANS)
    close(reductions.sum_(x), X.sum())
    close(reductions.max_(x), X.max())
    close(reductions.min_(x), X.min())
    assert reductions.sum_(x, dtype=tl.float32).dtype is tl.float32
    assert reductions.all_(booleans).item() is False and reductions.all_(booleans[1]).item() is True
    assert reductions.all_dim(booleans, 1).tolist() == [False, True]
    assert reductions.all_dim(booleans, 0, True).tolist() == [[True, False, True]]
    assert reductions.all_dims(booleans, [0, 1]).item() is False
    assert reductions.all_dims(booleans, [1], True).shape == (2, 1)
    assert reductions.all_(tl.tensor([1, 2], dtype=tl.uint8)).dtype is tl.uint8


@pytest.mark.parametrize("order", [math.inf, -math.inf, 0, 1, 2, 3, 0.5])
@pytest.mark.parametrize(("dim", "axis"), [(None, None), (1, 1), ([0], 0)])
def test_norms_of_vectors(order, dim, axis):
    result = reductions.vector_norm(tl.tensor(X), order, dim)
    flat = X.reshape(-1) if axis is None else X
    close(result, np.linalg.norm(flat, order, axis=axis))
    value = reductions.vector_norm(tl.tensor(X), order, dim, True)
    assert value.ndim == 2
    assert reductions.vector_norm(tl.tensor(X), order, dim, dtype=tl.float32) is NotImplemented


def test_tensors_of_a_shape():
    assert shapes.arange_start(2, 5).tolist() == [2, 3, 4]
    for rows, columns in ((2, 3), (3, 2), (0, 2)):
        assert (
            shapes.eye_m(rows, columns, dtype=tl.int64).tolist() == np.eye(rows, columns).astype(int).tolist()
        )
    assert shapes.eye_m(1, 1).dtype is tl.float32


def test_half_precision_is_computed_in_float32():
    dtypes = []

    @registry.in_float32
    def third(x, y):
        dtypes.append((x.dtype, y))
        return x / 3

    result = third(tl.tensor([1.0], dtype=tl.bfloat16), 2)
    assert result.dtype is tl.bfloat16 and dtypes == [(tl.float32, 2)]
    assert third(tl.tensor([1.0], dtype=tl.float64), 2).dtype is tl.float64 and dtypes[1][0] is tl.float64


def test_a_decomposition_is_entered_by_name(monkeypatch):
    for name in ("a.default", "b.default"):
        monkeypatch.setitem(registry.FUNCTIONS, name, None)
    assert registry.decomposes("a.default", "b.default")(abs) is abs
    assert registry.FUNCTIONS["a.default"] is registry.FUNCTIONS["b.default"] is abs
