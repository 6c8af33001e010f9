"""Factorizations and solutions by LAPACK, against numpy and what they must multiply to."""

import itertools
import os
import subprocess
import sys

import pytest

import tl_core as tl
from tl_core import linalg

np = pytest.importorskip("numpy", reason="the references are numpy's")
FIELDS = [tl.float32, tl.float64, tl.complex64, tl.complex128]
BATCHES = [(), (2, 3)]
ORDERS = [1, 3, 40]
SQUARE = pytest.mark.parametrize(
    ("field", "batch", "n"), [(f, b, n) for f in FIELDS for b in BATCHES for n in ORDERS]
)


def drawn(*shape, dtype, seed=0):
    return tl.randn(*shape, dtype=dtype, generator=tl.Generator().manual_seed(seed))


def definite(*batch, n, dtype):
    a = drawn(*batch, n, n, dtype=dtype)
    return a @ a.mH + n * tl.eye(n, dtype=dtype)


def close(ours, expected, factor=200):
    """Equal up to the rounding of a backward stable algorithm."""
    ours, expected = (
        np.asarray(x.resolve_conj() if isinstance(x, tl.Tensor) else x) for x in (ours, expected)
    )
    assert ours.shape == expected.shape
    eps = max(np.finfo(x.dtype).eps for x in (ours, expected))
    size = max(1.0, np.abs(expected).max(initial=0))
    assert np.allclose(ours, expected, rtol=0, atol=factor * max(ours.shape[-1:] or (1,)) * eps * size)


@SQUARE
def test_cholesky(field, batch, n):
    a = definite(*batch, n=n, dtype=field)
    close(linalg.cholesky(a), np.linalg.cholesky(a.numpy()))
    upper = linalg.cholesky(a, upper=True)
    close(upper.mH @ upper, a)
    assert not tl.tril(upper, -1).any()
    b = drawn(*batch, n, 2, dtype=field)
    for factor, is_upper in ((upper.mH, False), (upper, True)):
        close(a @ tl.cholesky_solve(b, factor, is_upper), b)
        close(
            a @ tl.cholesky_inverse(factor, is_upper),
            np.broadcast_to(np.eye(n), a.shape).astype(a.numpy().dtype),
        )


@SQUARE
def test_lu(field, batch, n):
    for shape in ((n, n), (n + 2, n), (n, n + 2)):
        a = drawn(*batch, *shape, dtype=field)
        p, low, up = linalg.lu(a)
        close(p @ low @ up, a)
        assert not tl.triu(low, 1).any() and not tl.tril(up, -1).any()
        packed, pivots = linalg.lu_factor(a)
        assert pivots.dtype == tl.int32
        assert all(tl.equal(x, y) for x, y in zip(tl.lu_unpack(packed, pivots), (p, low, up)))


@SQUARE
def test_solutions(field, batch, n):
    a, b = drawn(*batch, n, n, dtype=field) + 2 * n * tl.eye(n, dtype=field), drawn(*batch, n, 2, dtype=field)
    close(a @ linalg.solve(a, b), b)
    factors = linalg.lu_factor(a)
    close(a @ linalg.lu_solve(*factors, b), b)
    close(a.mH @ linalg.lu_solve(*factors, b, adjoint=True), b)
    close(linalg.lu_solve(*factors, b.mT, left=False) @ a, b.mT)
    close(tl.lu_solve(b, *factors), linalg.lu_solve(*factors, b))
    close(a @ linalg.inv(a), np.broadcast_to(np.eye(n), a.shape).astype(a.numpy().dtype))
    for upper in (False, True):
        triangle = a.triu() if upper else a.tril()
        close(triangle @ linalg.solve_triangular(a, b, upper=upper), b)
        close(linalg.solve_triangular(a, b.mT, upper=upper, left=False) @ triangle, b.mT)
        close(triangle.mT @ tl.triangular_solve(b, a, upper=upper, transpose=True).solution, b)
    unit = a.tril(-1) + tl.eye(n, dtype=field)
    small = unit / n if n > 1 else unit
    close(
        (small.tril(-1) + tl.eye(n, dtype=field))
        @ linalg.solve_triangular(small, b, upper=False, unitriangular=True),
        b,
    )


@SQUARE
def test_determinants(field, batch, n):
    a = drawn(*batch, n, n, dtype=field) / n**0.5
    close(linalg.det(a), np.linalg.det(a.numpy()), 1000)
    sign, log = linalg.slogdet(a)
    close(sign, np.linalg.slogdet(a.numpy())[0], 1000)
    close(log, np.linalg.slogdet(a.numpy())[1], 1000)
    close(
        tl.logdet(definite(*batch, n=n, dtype=field)).real,
        np.linalg.slogdet(definite(*batch, n=n, dtype=field))[1],
    )


@SQUARE
def test_eigenvalues(field, batch, n):
    a, h = drawn(*batch, n, n, dtype=field), definite(*batch, n=n, dtype=field)
    for uplo in "LU":
        values, vectors = linalg.eigh(h, uplo)
        close(values, np.linalg.eigvalsh(h.numpy()))
        close(linalg.eigvalsh(h, uplo), np.linalg.eigvalsh(h.numpy()))
        close((vectors * values.unsqueeze(-2)) @ vectors.mH, h)
    values, vectors = linalg.eig(a)
    close(a.to(vectors.dtype) @ vectors, vectors * values.unsqueeze(-2), 1000)
    close(tl.linalg.vector_norm(vectors, dim=-2), np.ones(values.shape, h.real.numpy().dtype))
    close(linalg.eigvals(a).sum(-1), a.diagonal(dim1=-2, dim2=-1).sum(-1).to(vectors.dtype), 1000)


@SQUARE
def test_least_squares(field, batch, n):
    a, b = drawn(*batch, n + 3, n, dtype=field), drawn(*batch, n + 3, 2, dtype=field)
    expected = np.linalg.pinv(a.numpy()) @ b.numpy()
    for driver in ("gels", "gelsy", "gelsd", "gelss"):
        result = linalg.lstsq(a, b, driver=driver)
        close(result.solution, expected, 2000)
        if driver != "gelsy":
            close(result.residuals, (np.abs(a.numpy() @ expected - b.numpy()) ** 2).sum(-2), 2000)
        if driver != "gels":
            assert result.rank.dtype == tl.int64 and (result.rank == n).all()
        if driver in ("gelsd", "gelss"):
            close(result.singular_values, np.linalg.svd(a.numpy(), compute_uv=False))
    close(linalg.pinv(a), np.linalg.pinv(a.numpy()), 2000)
    close(
        linalg.pinv(definite(*batch, n=n, dtype=field), hermitian=True),
        linalg.inv(definite(*batch, n=n, dtype=field)),
    )


@SQUARE
def test_symmetric_indefinite(field, batch, n):
    a, b = drawn(*batch, n, n, dtype=field), drawn(*batch, n, 2, dtype=field)
    for hermitian, h in ((True, a + a.mH), (False, a + a.mT)):
        factors = linalg.ldl_factor(h, hermitian=hermitian)
        close(h @ linalg.ldl_solve(*factors, b, hermitian=hermitian), b, 5000)


def test_reflectors_multiply():
    a, c = drawn(6, 3, dtype=tl.float64), drawn(6, 2, dtype=tl.float64)
    packed, tau = tl.geqrf(a)
    q = tl.ormqr(packed, tau, tl.eye(6, dtype=tl.float64))
    close(q @ q.mT, np.eye(6))
    close(tl.ormqr(packed, tau, c, transpose=True), q.mT @ c)
    close(tl.ormqr(packed, tau, c.mT, left=False), c.mT @ q)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((3,), (3,), (3, 3)), "input.* must have at least 2 dimensions"),
        (((3, 3), (3,), (4, 3)), r"other.shape\[-2\] must be equal to input.shape\[-2\]"),
        (((3, 3), (2,), (3, 3)), r"tau.shape\[-1\] must be equal to min"),
        (((2, 3, 3), (3,), (2, 3, 3)), "tau to have one dimension less than input"),
        (((3, 3), (3,), (2, 3, 3)), "other to have the same number of dimensions as input"),
        (((2, 3, 3), (1, 3), (2, 3, 3)), "Expected batch dimensions of tau and other"),
    ],
)
def test_what_reflectors_do_not_fit(shapes, message):
    with pytest.raises(RuntimeError, match=message):
        tl.ormqr(*(tl.ones(s) for s in shapes))


@pytest.mark.parametrize("batch", [(2,), (2, 4)])
def test_solutions_of_a_batch_of_vectors_lie_as_a_matrix(batch):
    x = tl.linalg.solve(tl.eye(3).expand(*batch, 3, 3), tl.ones(*batch, 3))
    assert x.shape == (*batch, 3) and x.mT.is_contiguous()


def test_what_has_no_inverse_is_named():
    singular = tl.tensor([[1.0, 2.0], [2.0, 4.0]])
    with pytest.raises(linalg.LinAlgError, match=r"linalg.inv: The diagonal element 2 is zero"):
        linalg.inv(singular)
    with pytest.raises(
        linalg.LinAlgError, match=r"linalg.inv: \(Batch element 1\): The diagonal element 2 is zero"
    ):
        linalg.inv(tl.stack([tl.eye(2), singular]))
    with pytest.raises(linalg.LinAlgError, match="leading minor of order 2 is not positive-definite"):
        linalg.cholesky(tl.tensor([[1.0, 2.0], [2.0, 1.0]]))
    assert linalg.inv_ex(singular).info.item() == 2
    assert linalg.cholesky_ex(-tl.eye(2)).info.item() == 1
    assert linalg.det(singular).item() == 0
    with pytest.raises(linalg.LinAlgError, match=r"U\[2,2\] is zero"):
        linalg.lu_factor(singular)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: linalg.inv(tl.ones(2, 3)), RuntimeError, "A must be batches of square matrices"),
        (lambda: linalg.inv(tl.ones(2)), RuntimeError, "must have at least 2 dimensions"),
        (
            lambda: linalg.det(tl.ones(2, 2, dtype=tl.int64)),
            RuntimeError,
            "Expected a floating point or complex",
        ),
        (lambda: linalg.eigh(tl.eye(2), "X"), RuntimeError, "UPLO argument to be 'L' or 'U'"),
        (lambda: linalg.eig(tl.full((2, 2), float("nan"))), RuntimeError, "should not contain infs or NaNs"),
        (lambda: linalg.lstsq(tl.ones(2, 2), tl.ones(2, 2), driver="x"), RuntimeError, "parameter `driver`"),
        (lambda: linalg.lu_factor(tl.eye(2), pivot=False), RuntimeError, "without pivoting"),
        (lambda: linalg.cholesky(tl.eye(2, dtype=tl.float16)), NotImplementedError, "Half"),
        (
            lambda: tl.lu_unpack(tl.eye(2), tl.tensor([5, 1], dtype=tl.int32)),
            RuntimeError,
            "greater or equal to 1",
        ),
        (
            lambda: linalg.ldl_solve(tl.eye(2), tl.tensor([7, 1], dtype=tl.int32), tl.eye(2)),
            RuntimeError,
            "row numbers from 1 to 2",
        ),
    ],
)
def test_wrong_arguments_are_named(call, error, said):
    with pytest.raises(error, match=said):
        call()


@pytest.mark.parametrize("shape", [(0, 0), (0, 2, 2), (3, 0, 0)])
def test_empty_matrices(shape):
    a = tl.ones(shape)
    assert linalg.inv(a).shape == shape
    assert linalg.cholesky(a).shape == shape
    assert linalg.eigh(a).eigenvalues.shape == shape[:-1]
    assert (linalg.det(a) == 1).all()
    assert linalg.slogdet(a).logabsdet.shape == shape[:-2]


def test_results_go_where_out_says():
    a = definite(n=3, dtype=tl.float64)
    out = tl.empty(0, dtype=tl.float64)
    assert linalg.inv(a, out=out) is out
    close(out, np.linalg.inv(a.numpy()))
    values, vectors = tl.empty(0, dtype=tl.float64), tl.empty(0, dtype=tl.float64)
    linalg.eigh(a, out=(values, vectors))
    close(values, np.linalg.eigvalsh(a.numpy()))
    assert linalg.inv(a.to("meta")).shape == (3, 3)


# In a fresh process, where no library is loaded yet.
ABSENT = """
import tl_core as tl
from tl_core.functions import lapack
lapack.candidates = lambda: iter(())
assert lapack.library() is None
print(tl.linalg.solve(tl.eye(30), tl.ones(30)).sum().item(), tl.linalg.svdvals(tl.eye(30)).sum().item())
try:
    tl.linalg.eigh(tl.eye(2))
except RuntimeError as error:
    print(error)
"""


def without_name():
    return {name: value for name, value in os.environ.items() if name != "TL_LAPACK"}


def run(code, env):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)


def test_without_lapack_an_error_says_what_to_install():
    process = subprocess.run(
        [sys.executable, "-c", ABSENT], capture_output=True, text=True, check=True, env=without_name()
    )
    assert process.stdout.startswith(
        "30.0 30.0\nlinalg.eigh: needs LAPACK, and none was found; install it with"
    )


def test_a_path_that_the_user_sets_comes_first():
    code = "import tl_core as tl; tl.linalg.eigh(tl.eye(2))"
    process = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=without_name() | {"TL_LAPACK": "/nowhere.so"},
    )
    assert process.returncode and "LAPACK cannot be loaded: /nowhere.so" in process.stderr


def test_low_rank_is_found():
    a = drawn(30, 4, dtype=tl.float64) @ drawn(4, 20, dtype=tl.float64, seed=1)
    for matrix in (a, a.mT, a.expand(2, 30, 20)):
        u, s, v = tl.svd_lowrank(matrix, q=6)
        close((u * s.unsqueeze(-2)) @ v.mT, matrix, 1000)
    u, s, v = tl.pca_lowrank(a, q=5)
    close((u * s) @ v.mT, a - a.mean(0), 1000)
    shift = drawn(30, 20, dtype=tl.float64, seed=2)
    u, s, v = tl.svd_lowrank(a + shift, q=6, M=shift)
    close((u * s) @ v.mT, a, 1000)
    with pytest.raises(ValueError, match="not greater than min"):
        tl.svd_lowrank(a, q=21)


def test_functions_made_of_products():
    a = drawn(2, 3, 3, dtype=tl.float64)
    for n in (-2, -1, 0, 1, 2, 5):
        close(linalg.matrix_power(a, n), np.linalg.matrix_power(a.numpy(), n), 5000)
    x = drawn(2, 4, dtype=tl.complex128)
    close(linalg.vecdot(x, x).real, (np.abs(x.numpy()) ** 2).sum(-1))
    two = tl.tensor(2.0)
    assert linalg.vecdot(two, tl.tensor(3.0)).item() == linalg.vecdot(two, tl.ones(3), dim=0).item() == 6
    assert linalg.vecdot(tl.ones(2, 3), two, dim=0).tolist() == [4, 4, 4]
    assert linalg.vecdot(two, tl.ones(3, 0)).tolist() == [0, 0, 0]
    with pytest.raises(IndexError, match="got 1"):
        linalg.vecdot(two, two, dim=1)
    close(linalg.vander(x[0]), np.vander(x[0].numpy(), increasing=True))
    t = drawn(2, 3, 6, dtype=tl.float64)
    close(linalg.tensorinv(t), np.linalg.tensorinv(t.numpy()))
    b = drawn(2, 3, dtype=tl.float64, seed=1)
    close(linalg.tensorsolve(t, b), np.linalg.tensorsolve(t.numpy(), b.numpy()))
    close(linalg.tensorsolve(t.permute(2, 0, 1), b, dims=(0,)), np.linalg.tensorsolve(t.numpy(), b.numpy()))
    result = linalg.solve_ex(a, drawn(2, 3, 2, dtype=tl.float64))
    close(a @ result.result, drawn(2, 3, 2, dtype=tl.float64))
    assert linalg.solve_ex(tl.zeros(2, 2), tl.ones(2)).info.item() == 1


def test_old_names():
    a = definite(n=3, dtype=tl.float64)
    factors, _ = tl.lu(a)
    assert tl.equal(factors, linalg.lu_factor(a).LU) and len(a.lu(get_infos=True)) == 3
    close(a.pinverse(), linalg.inv(a))
    assert tl.equal(a.qr().R, linalg.qr(a).R) and tl.equal(a.inverse(), linalg.inv(a))
    assert a.matrix_power(2).shape == (3, 3) and tl.equal(a.det(), linalg.det(a))


# Orders and right-hand sides above the sizes of blocks and strips.
@pytest.mark.parametrize("dtype", [tl.float32, tl.float64])
@pytest.mark.parametrize("n, columns", [(33, 1), (70, 3), (131, 300), (257, 60)])
def test_large_triangles(n, columns, dtype):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((2, n, n)) / n + 2 * np.eye(n)
    b = rng.standard_normal((2, n, columns))
    typed = tl.tensor(a, dtype=dtype)
    layouts = [typed, typed.mT.contiguous().mT]
    tolerance = 1e-5 if dtype == tl.float32 else 1e-13
    for upper, unit, left, matrices in itertools.product(
        [False, True], [False, True], [False, True], layouts
    ):
        triangle = np.triu(a) if upper else np.tril(a)
        if unit:
            triangle = triangle * (1 - np.eye(n)) + np.eye(n)
        sides = tl.tensor(b if left else b.swapaxes(-2, -1), dtype=dtype)
        x = linalg.solve_triangular(matrices, sides, upper=upper, left=left, unitriangular=unit).numpy()
        product = triangle @ x if left else x @ triangle
        assert np.abs(product - sides.numpy()).max() < 40 * tolerance


@pytest.mark.parametrize("dtype", [tl.float32, tl.float64])
@pytest.mark.parametrize("n", [20, 129, 300])
def test_large_systems_from_factors(n, dtype):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((2, n, n)) + np.sqrt(n) * np.eye(n)
    a[1] = a[1][::-1]  # rows that are exchanged
    definite = a @ a.swapaxes(-2, -1) / n + np.eye(n)
    b = rng.standard_normal((2, n, 5))
    tolerance = {tl.float32: 2e-3, tl.float64: 1e-9}[dtype]
    A, D, B = (tl.tensor(t, dtype=dtype) for t in (a, definite, b))

    def close(got, wanted):
        assert np.abs(got.numpy() - wanted).max() < tolerance * max(1, np.abs(wanted).max())

    factors = linalg.lu_factor(A)
    close(linalg.lu_solve(*factors, B), np.linalg.solve(a, b))
    close(linalg.lu_solve(*factors, B, adjoint=True), np.linalg.solve(a.swapaxes(-2, -1), b))
    close(
        linalg.lu_solve(*factors, B.mT, left=False), np.linalg.solve(a.swapaxes(-2, -1), b).swapaxes(-2, -1)
    )
    close(linalg.solve(A, B), np.linalg.solve(a, b))
    assert tl.equal(linalg.solve_ex(A, B).result, linalg.solve(A, B))
    close(linalg.inv(A), np.linalg.inv(a))
    for upper in (False, True):
        factor = linalg.cholesky(D, upper=upper)
        close(tl.cholesky_solve(B, factor, upper=upper), np.linalg.solve(definite, b))
        inverse = tl.cholesky_inverse(factor, upper=upper)
        close(inverse, np.linalg.inv(definite))
        assert tl.equal(inverse, inverse.mT)


def test_solutions_do_not_depend_on_threads():
    a, b = tl.rand(3, 200, 200) + 9 * tl.eye(200), tl.rand(3, 200, 600)
    threads = tl.get_num_threads()
    results = []
    try:
        for n in (1, 3):
            tl.set_num_threads(n)
            results.append((linalg.solve(a, b), linalg.inv(a), linalg.solve_triangular(a, b, upper=True)))
    finally:
        tl.set_num_threads(threads)
    assert all(tl.equal(one, other) for one, other in zip(*results))
    assert tl.equal(linalg.solve(a[1:2], b[1:2])[0], results[0][0][1])


@pytest.mark.parametrize("dtype", [tl.int64, tl.float16, tl.complex64])
def test_the_zeroth_power_of_matrices(dtype):
    for shape in ((3, 3), (0, 0), (2, 0, 3, 3)):
        a = tl.ones(shape, dtype=dtype)
        unit = tl.eye(shape[-1], dtype=dtype).expand(shape)
        assert tl.equal(linalg.matrix_power(a, 0), unit) and linalg.matrix_power(a, 0).dtype == dtype
        assert tl.equal(linalg.matrix_power(a.mT, 0, out=tl.empty(0, dtype=dtype)), unit)


@pytest.mark.parametrize("driver", ["gels", "gelsd", "gelss"])
def test_equations_without_unknowns_leave_the_right_side(driver):
    b = tl.from_numpy(np.random.default_rng(0).normal(size=(2, 5, 3)))
    solved = tl.linalg.lstsq(tl.zeros(2, 5, 0, dtype=tl.float64), b, driver=driver)
    np.testing.assert_allclose(solved.residuals.numpy(), (b.numpy() ** 2).sum(1))
    assert tl.linalg.lstsq(tl.zeros(2, 5, 0), tl.zeros(2, 5, 0), driver=driver).residuals.shape == (2, 0)


def test_errors_name_orders_and_types():
    with pytest.raises(RuntimeError, match=r"Order 0 not supported\."):
        tl.linalg.matrix_norm(tl.ones(3, 3), 0)
    with pytest.raises(RuntimeError, match=r"Order 1\.5 not supported\."):
        tl.linalg.matrix_norm(tl.ones(3, 3), 1.5)
    with pytest.raises(RuntimeError, match="tensor 0 is Float and tensor 1 Double"):
        tl.linalg.multi_dot([tl.ones(2, 2), tl.ones(2, 2, dtype=tl.float64)])
