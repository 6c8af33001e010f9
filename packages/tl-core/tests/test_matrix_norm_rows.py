"""Norms, condition numbers, ranks, finite differences and one-hot vectors as operators of the core."""

from __future__ import annotations

import math

import pytest

import tl_core as tl
from tl_core.operators.packets import aten

np = pytest.importorskip("numpy", reason="the references are numpy's")

A = np.random.default_rng(3).standard_normal((2, 3, 3))
ORDERS = [1, -1, 2, -2, math.inf, -math.inf, "fro", "nuc"]


def close(result, expected):
    assert np.allclose(result.numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("keepdim", [False, True])
def test_matrix_norms(order, keepdim):
    word = isinstance(order, str)
    row = aten.linalg_matrix_norm.str_ord if word else aten.linalg_matrix_norm.default
    result = row(tl.from_numpy(A), order, [-2, -1], keepdim)
    close(result, np.linalg.norm(A, order, (-2, -1), keepdim))
    swapped = row(tl.from_numpy(A.transpose(1, 2, 0).copy()), order, [0, 1], keepdim)
    close(swapped, np.linalg.norm(A.transpose(1, 2, 0), order, (0, 1), keepdim))
    norm = aten.linalg_norm.ord_str if word else aten.linalg_norm.default
    close(norm(tl.from_numpy(A[0]), order), np.linalg.norm(A[0], order))
    meta = row(tl.empty(2, 3, 3, device="meta"), order, [-2, -1], keepdim)
    assert meta.shape == result.shape and meta.is_meta


def test_norms_of_vectors():
    close(aten.linalg_norm.default(tl.from_numpy(A)), np.linalg.norm(A))
    close(aten.linalg_norm.default(tl.from_numpy(A), 3, [1]), np.linalg.norm(A, 3, 1))
    close(aten.frobenius_norm.dim(tl.from_numpy(A), [0, 1]), np.linalg.norm(A, axis=(0, 1)))
    close(aten.frobenius_norm.dim(tl.from_numpy(A), []), np.linalg.norm(A))
    close(aten.nuclear_norm.dim(tl.from_numpy(A), [1, 2], True), np.linalg.norm(A, "nuc", (1, 2), True))
    wide = aten.linalg_norm.default(tl.ones(4, dtype=tl.float32), 2, dtype=tl.float64)
    assert wide.dtype is tl.float64 and wide.item() == 2


@pytest.mark.parametrize("order", [None, *ORDERS])
def test_condition_numbers(order):
    result = tl.linalg.cond(tl.from_numpy(A), order)
    assert np.allclose(result.numpy(), np.linalg.cond(A, order), rtol=1e-9)
    singular = np.stack([A[0], np.ones((3, 3))])
    second = tl.linalg.cond(tl.from_numpy(singular), order)[1].item()
    assert second > 1e15 or (order == -2 and second < 1e-15)


def test_ranks():
    matrices = tl.from_numpy(np.stack([np.eye(3), np.ones((3, 3)), np.zeros((3, 3))]))
    assert tl.linalg.matrix_rank(matrices).tolist() == [3, 1, 0]
    assert aten.linalg_matrix_rank.default(matrices, 2.0).tolist() == [0, 1, 0]
    assert aten.linalg_matrix_rank.tol_tensor(matrices, tl.tensor([0.5, 4.0, 0.5])).tolist() == [3, 0, 0]
    assert aten.linalg_matrix_rank.atol_rtol_float(matrices, atol=0.5, rtol=None).tolist() == [3, 1, 0]
    assert aten.linalg_matrix_rank.atol_rtol_tensor(matrices, rtol=tl.tensor(1.0)).tolist() == [0, 0, 0]
    assert tl.linalg.matrix_rank(matrices, hermitian=True).tolist() == [3, 1, 0]
    assert tl.linalg.matrix_rank(tl.empty(2, 0, 3)).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: tl.linalg.matrix_norm(x[0, 0]), "A must have at least 2 dimensions"),
        (lambda x: tl.linalg.matrix_norm(x, 3), "Order 3.* not supported"),
        (lambda x: tl.linalg.matrix_norm(x, "max"), "Order max not supported"),
        (lambda x: tl.linalg.matrix_norm(x, ""), "Order '' not supported"),
        (lambda x: tl.linalg.matrix_norm(x, dim=(1, 1)), "dims must be different"),
        (lambda x: tl.linalg.matrix_norm(x, dim=1), "dim must be a 2-tuple"),
        (lambda x: tl.linalg.matrix_norm(x.long()), "Expected a floating point or complex tensor"),
        (lambda x: tl.linalg.matrix_norm(x, dtype=tl.float16), "without narrowing"),
        (lambda x: tl.linalg.matrix_norm(x, 1j), "non-complex scalar as the order"),
        (lambda x: tl.linalg.norm(x, 2), "the input must be 1D or 2D. Got 3D"),
        (lambda x: tl.linalg.norm(x, dim=(0, 1, 2)), "it must be of length 1 or 2"),
        (lambda x: tl.linalg.cond(x[0], 3), "got an invalid norm type: 3"),
        (lambda x: tl.linalg.cond(x[:, :2], 1), "batches of square matrices"),
        (lambda x: tl.linalg.matrix_rank(x[0, 0]), "must have at least 2 dimensions"),
        (lambda x: tl.linalg.matrix_rank(x, atol=tl.tensor(1j)), "atol tensor of complex type"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(tl.from_numpy(A))


@pytest.mark.parametrize("edge_order", [1, 2])
def test_finite_differences(edge_order):
    x = tl.from_numpy(A)
    xs = [np.array([0.0, 1.0, 4.0]), np.array([-1.0, 0.5, 2.0])]
    plain = np.gradient(A, edge_order=edge_order, axis=(1, 2))
    halves = np.gradient(A, 0.5, edge_order=edge_order, axis=(1, 2))
    uneven = np.gradient(A, *xs, edge_order=edge_order, axis=(1, 2))
    by = {"dim": [1, 2], "edge_order": edge_order}
    for results, expected in (
        (aten.gradient.array(x, **by), plain),
        (aten.gradient.scalararray(x, spacing=0.5, **by), halves),
        (aten.gradient.scalarrayarray(x, spacing=[0.5, 0.5], **by), halves),
        (aten.gradient.tensorarray(x, spacing=[tl.from_numpy(c) for c in xs], **by), uneven),
        (aten.gradient.scalarint(x, spacing=0.5, dim=-1, edge_order=edge_order), halves[1:]),
        (aten.gradient.scalarrayint(x, spacing=[0.5], dim=1, edge_order=edge_order), halves[:1]),
        (
            aten.gradient.tensorarrayint(x, spacing=[tl.from_numpy(xs[0])], dim=1, edge_order=edge_order),
            uneven[:1],
        ),
    ):
        assert len(results) == len(expected)
        for result, wanted in zip(results, expected, strict=True):
            close(result, wanted)


def test_refusals_of_finite_differences():
    x = tl.ones(3, 2)
    for call, error, message in (
        (
            lambda: tl.gradient(x, edge_order=3),
            RuntimeError,
            "only supports edge_order=1 and edge_order=2, got 3",
        ),
        (lambda: tl.gradient(x, edge_order=2), RuntimeError, "dimension 1 has size 2"),
        (lambda: tl.gradient(x, dim=(0, 0)), RuntimeError, "appears multiple times"),
        (lambda: tl.gradient(x, dim=2), IndexError, "Dimension out of range"),
        (lambda: tl.gradient(x, spacing=[1.0]), RuntimeError, "a list of length 2"),
        (lambda: tl.gradient(x, spacing=tl.ones(2)), TypeError, "argument 'spacing'"),
        (
            lambda: tl.gradient(x, spacing=[tl.ones(2)], dim=0),
            RuntimeError,
            "got 2 for dimension 0 of size 3",
        ),
        (lambda: tl.gradient(x, spacing=[tl.ones(3, 1)], dim=0), RuntimeError, "to have one dimension"),
    ):
        with pytest.raises(error, match=message):
            call()


def test_one_hot():
    classes = tl.tensor([[2, 0], [1, 2]])
    assert aten.one_hot(classes).tolist() == np.eye(3, dtype=int)[classes.numpy()].tolist()
    assert aten.one_hot(classes, 5).shape == (2, 2, 5)
    assert aten.one_hot(tl.empty(0, dtype=tl.int64), 4).shape == (0, 4)
    assert aten.one_hot(tl.empty(2, 2, dtype=tl.int64, device="meta"), 4).shape == (2, 2, 4)
    for wrong, message in (
        ((classes.int(),), "only applicable to index tensor of type LongTensor"),
        ((tl.empty(0, dtype=tl.int64),), "Can not infer total number of classes"),
        ((tl.tensor([-1]),), "must be non-negative, got -1"),
        ((classes, 2), "must be smaller than num_classes, got 2 and 2"),
        ((classes, 0), "num_classes should be positive, got 0"),
        ((tl.empty(2, dtype=tl.int64, device="meta"),), "Cannot copy out of meta tensor"),
    ):
        with pytest.raises(RuntimeError, match=message):
            aten.one_hot(*wrong)
