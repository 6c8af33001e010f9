"""Factorizations of small matrices, a matrix a lane, against numpy, and without LAPACK."""

import os
import subprocess
import sys

import pytest

import tl_core as tl
from tl_core import linalg

np = pytest.importorskip("numpy", reason="the references are numpy's")
ORDERS = [*range(1, 18), 33]  # 16 is the last small one
COUNTS = [1, 15, 16, 17, 70]
REAL = pytest.mark.parametrize("dtype", [tl.float32, tl.float64], ids=str)


def drawn(*shape, dtype):
    return tl.randn(*shape, dtype=dtype, generator=tl.Generator().manual_seed(sum(shape)))


def close(ours, expected, dtype):
    eps = np.finfo(np.float32 if dtype is tl.float32 else np.float64).eps
    expected = np.asarray(expected)
    assert np.allclose(
        ours.numpy(), expected, rtol=0, atol=2000 * eps * max(1, np.abs(expected).max(initial=0))
    )


@REAL
@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("count", COUNTS)
def test_every_matrix_of_a_batch(n, count, dtype):
    a = drawn(count, n, n, dtype=dtype) / n + tl.eye(n, dtype=dtype)
    for layout in (a, a.mT.contiguous().mT):  # row-major and column-major matrices
        close(linalg.inv(layout), np.linalg.inv(a.double().numpy()), dtype)
        close(linalg.det(layout), np.linalg.det(a.double().numpy()), dtype)
        definite = layout @ layout.mT
        close(linalg.cholesky(definite), np.linalg.cholesky(definite.double().numpy()), dtype)
        close(linalg.cholesky(definite, upper=True).mT, np.linalg.cholesky(definite.double().numpy()), dtype)
        for columns in (1, 3, 40):
            b = drawn(count, n, columns, dtype=dtype)
            close(linalg.solve(layout, b), np.linalg.solve(a.double().numpy(), b.double().numpy()), dtype)


@REAL
@pytest.mark.parametrize("n", [2, 5, 16])
def test_rows_are_exchanged(n, dtype):
    a = drawn(21, n, n, dtype=dtype)
    a[:, 0, 0] = 0  # the first pivot lies elsewhere
    P, L, U = linalg.lu(a)
    close(P @ L @ U, a.numpy(), dtype)
    assert L.abs().max() <= 1
    LU, pivots = linalg.lu_factor(a)
    assert pivots.shape == (21, n)
    assert ((pivots >= tl.arange(1, n + 1)) & (pivots <= n)).all()
    x = drawn(21, n, 2, dtype=dtype)
    close(linalg.lu_solve(LU, pivots, a @ x), x.numpy(), dtype)


FUNCTIONS = {
    "lu_factor": lambda a: linalg.lu_factor(a)[0],
    "inv": linalg.inv,
    "solve": lambda a: linalg.solve(a, tl.ones(*a.shape[:-1], 2, dtype=a.dtype)),
    "cholesky": lambda a: linalg.cholesky(a @ a.mT + tl.eye(a.shape[-1], dtype=a.dtype)),
}


@REAL
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_matrix_gives_the_same_bits_in_every_batch_that_fills_the_lanes(name, dtype):
    """Up to order 4 a matrix alone is such a batch; beyond, one of eight matrices is the least."""
    function = FUNCTIONS[name]
    for n in range(1, 17):
        a = drawn(37, n, n, dtype=dtype)
        every = function(a)
        for few in (1, 2, 8, 9, 30) if n <= 4 else (8, 9, 30):
            for i in range(0, 38 - few, 5):
                assert function(a[i : i + few]).equal(every[i : i + few]), (n, few)


@REAL
@pytest.mark.parametrize("n", [5, 12, 16])
def test_few_matrices_beyond_the_order_that_is_served_alone(n, dtype):
    a = drawn(8, n, n, dtype=dtype)
    for count in (1, 2, 7):
        close(linalg.inv(a[:count]), np.linalg.inv(a[:count].double().numpy()), dtype)
        close(linalg.det(a[:count]), np.linalg.det(a[:count].double().numpy()), dtype)


def test_which_matrix_fails_and_where():
    a = tl.eye(4).repeat(20, 1, 1)
    a[13, 2, 2] = 0
    assert linalg.inv_ex(a).info.tolist() == [0] * 13 + [3] + [0] * 6
    assert linalg.lu_factor_ex(a).info[13] == 3
    a[13, 2, 2] = -1
    assert linalg.cholesky_ex(a).info.tolist() == [0] * 13 + [3] + [0] * 6
    a[13, 2, 2] = float("nan")
    assert linalg.cholesky_ex(a).info[13] == 3
    with pytest.raises(linalg.LinAlgError, match=r"Batch element 13.*order 3"):
        linalg.cholesky(a)
    a[13, 2, 2] = 0
    with pytest.raises(linalg.LinAlgError, match=r"Batch element 13.*singular"):
        linalg.solve(a, tl.ones(20, 4, 1))
    assert linalg.det(a)[13] == 0


def test_only_one_triangle_is_read():
    a = tl.tensor([[4.0, float("nan")], [2.0, 5.0]])
    assert linalg.cholesky(a).tolist() == [[2.0, 0.0], [1.0, 2.0]]
    assert linalg.cholesky(a.mT, upper=True).tolist() == [[2.0, 1.0], [0.0, 2.0]]


def test_small_matrices_need_no_lapack():
    program = (
        "import tl_core as tl; from tl_core import linalg\n"
        "a = tl.tensor([[4.0, 2.0], [2.0, 5.0]])\n"
        "print(linalg.det(a).item(), linalg.cholesky(a).tolist(), linalg.inv(a).shape)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TL_LAPACK": "/nonexistent"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stdout.split("[")[0].strip() == "16.0", answer.stderr
