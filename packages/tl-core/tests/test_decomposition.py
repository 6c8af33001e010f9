"""Decompositions of matrices and what is solved with them, against numpy and scipy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tl_core as tl
from tl_core import linalg

np = pytest.importorskip("numpy", reason="the references are numpy's")
scipy_linalg = pytest.importorskip("scipy.linalg", reason="the references are scipy's")
FIELDS = [np.float32, np.float64, np.complex64, np.complex128]
SHAPES = [(1, 1), (3, 3), (5, 2), (2, 5), (40, 17), (2, 3, 4, 4), (0, 3), (3, 0), (0, 2, 2)]


def drawn(shape, field, seed=0):
    generator = np.random.default_rng(seed)
    real = generator.standard_normal(shape)
    if np.issubdtype(field, np.complexfloating):
        real = real + 1j * generator.standard_normal(shape)
    return np.asarray(real, field)


def close(ours, reference, factor=100):
    assert tuple(ours.shape) == reference.shape
    tolerance = factor * np.finfo(reference.dtype).eps * max(1.0, np.abs(reference).max(initial=0))
    assert np.allclose(ours.numpy(), reference, rtol=0, atol=tolerance)


def adjoint(x):
    return x.transpose(-2, -1).conj()


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_qr_is_a_product_of_orthonormal_columns_and_a_triangle(shape, field):
    a = drawn(shape, field)
    for mode in ("reduced", "complete"):
        q, r = linalg.qr(tl.from_numpy(a), mode)
        close(q @ r, a)
        close(
            adjoint(q) @ q,
            np.broadcast_to(np.eye(q.shape[-1], dtype=field), (*shape[:-2], *[q.shape[-1]] * 2)),
        )
        assert not r.tril(-1).any()


@pytest.mark.parametrize("field", FIELDS)
def test_qr_has_the_signs_of_lapack(field):
    a = drawn((6, 4), field)
    q, r = linalg.qr(tl.from_numpy(a))
    expected_q, expected_r = np.linalg.qr(a)
    close(q, expected_q)
    close(r, expected_r)
    alone = linalg.qr(tl.from_numpy(a), mode="r")
    assert alone.Q.shape == (0,)
    close(alone.R, expected_r)


@pytest.mark.parametrize("field", [np.float64, np.complex128])
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5)])
def test_geqrf_is_lapacks(shape, field):
    a = drawn(shape, field)
    result, tau = tl.geqrf(tl.from_numpy(a))
    (expected, expected_tau), _ = scipy_linalg.qr(a, mode="raw")
    close(result, np.ascontiguousarray(expected))
    close(tau, expected_tau)


def test_columns_that_need_no_reflection_have_the_factor_0():
    a, tau = tl.geqrf(tl.tensor([[2.0, 1.0], [0.0, 3.0]]))
    assert a.tolist() == [[2.0, 1.0], [0.0, 3.0]]
    assert tau.tolist() == [0.0, 0.0]


def test_qr_of_huge_and_tiny_numbers():
    for scale in (1e-300, 1e300):
        a = drawn((4, 3), np.float64) * scale
        q, r = linalg.qr(tl.from_numpy(a))
        assert np.allclose((q @ (r / scale)).numpy(), a / scale)


@pytest.mark.parametrize("field", FIELDS)
def test_householder_product_of_fewer_vectors(field):
    a = drawn((2, 7, 5), field)
    vectors, tau = tl.geqrf(tl.from_numpy(a))
    for k in (0, 1, 3, 5):
        result = linalg.householder_product(vectors, tau[..., :k].contiguous())
        for i in range(2):
            q = np.eye(7, dtype=field)
            for j in range(k):
                v = np.zeros(7, field)
                v[j], v[j + 1 :] = 1, vectors[i].numpy()[j + 1 :, j]
                q = q @ (np.eye(7, dtype=field) - tau[i, j].item() * np.outer(v, v.conj()))
            close(result[i], np.asarray(q[:, :5], field))
    assert tl.equal(tl.orgqr(vectors, tau), linalg.householder_product(vectors, tau))


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 3), (3, 2)),
        ((1, 1), (1, 1)),
        ((30, 30), (30, 4)),
        ((4, 3, 3), (3, 2)),
        ((3, 3), (4, 3, 2)),
        ((0, 0), (0, 2)),
        ((2, 1, 3, 3), (5, 3, 1)),
        ((0, 2, 2), (0, 2, 1)),
    ],
)
def test_solve(left, right, field):
    a, b = drawn(left, field), drawn(right, field, 1)
    x = linalg.solve(tl.from_numpy(a), tl.from_numpy(b))
    assert np.allclose(a @ x.numpy(), np.broadcast_to(b, x.shape), atol=1e4 * np.finfo(field).eps)


def test_solve_for_vectors_and_from_the_right():
    a, b = drawn((2, 3, 3), np.float64), drawn((2, 3), np.float64)
    close(linalg.solve(tl.from_numpy(a), tl.from_numpy(b)), np.linalg.solve(a, b[..., None])[..., 0])
    close(linalg.solve(tl.from_numpy(a[0]), tl.from_numpy(b[0])), np.linalg.solve(a[0], b[0]))
    c = drawn((2, 4, 3), np.float64)
    x = linalg.solve(tl.from_numpy(a), tl.from_numpy(c), left=False)
    assert np.allclose(x.numpy() @ a, c)


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_solve_needs_pivots(n, seed):
    rng = np.random.default_rng(seed)
    a = np.eye(n)[rng.permutation(n)]  # zeros on the diagonal
    b = rng.standard_normal((n, 2))
    assert np.array_equal(linalg.solve(tl.from_numpy(a), tl.from_numpy(b)).numpy(), a.T @ b)


def test_a_matrix_without_an_inverse_is_refused():
    good, bad = tl.eye(2), tl.ones(2, 2)
    with pytest.raises(linalg.LinAlgError, match="because the input matrix is singular"):
        linalg.solve(bad, good)
    with pytest.raises(RuntimeError, match=r"\(Batch element 1\)"):
        linalg.solve(tl.stack([good, bad, bad]), good)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0])
def test_matrix_exp(field, size):
    a = np.asarray(drawn((3, 5, 5), field) * size / 5, field)
    expected = scipy_linalg.expm(a.astype(np.complex128 if np.iscomplexobj(a) else np.float64)).astype(field)
    result = linalg.matrix_exp(tl.from_numpy(a)).numpy()
    for one, other in zip(result, expected, strict=True):
        assert (
            np.abs(one - other).max()
            <= (2000 if field in (np.float64, np.complex128) else 2)
            * np.finfo(field).eps
            * np.abs(other).max()
        )


def test_matrix_exp_scales_each_matrix_of_a_batch():
    small, large = np.full((2, 2), 1e-9), np.array([[0.0, 400.0], [-400.0, 0.0]])
    both = linalg.matrix_exp(tl.from_numpy(np.stack([small, large])))
    assert tl.equal(both[0], linalg.matrix_exp(tl.from_numpy(small)))
    assert np.allclose(both[1].numpy(), [[np.cos(400), np.sin(400)], [-np.sin(400), np.cos(400)]], atol=1e-10)


def test_matrix_exp_of_nothing_and_of_what_is_not_a_number():
    assert tl.matrix_exp(tl.empty(2, 0, 0)).shape == (2, 0, 0)
    assert tl.matrix_exp(tl.full((2, 2), float("nan"))).isnan().all()


def test_out_and_meta():
    a = tl.from_numpy(drawn((3, 3), np.float64))
    q, r = tl.empty(0, dtype=tl.float64), tl.empty(0, dtype=tl.float64)
    linalg.qr(a, out=(q, r))
    assert tl.equal(q, linalg.qr(a).Q)
    x = tl.empty(0, dtype=tl.float64)
    assert linalg.solve(a, a, out=x) is x
    shapes = [t.shape for t in linalg.qr(tl.empty(2, 4, 3, device="meta"), "complete")]
    assert shapes == [(2, 4, 4), (2, 4, 3)]
    assert linalg.solve(tl.empty(2, 2, device="meta"), tl.empty(5, 2, 1, device="meta")).shape == (5, 2, 1)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_number_of_threads_changes_nothing(threads):
    a = tl.from_numpy(drawn((64, 20, 20), np.float32))
    expected = linalg.qr(a).R, linalg.solve(a, a)
    before = tl.get_num_threads()
    tl.set_num_threads(threads)
    try:
        assert tl.equal(linalg.qr(a).R, expected[0])
        assert tl.equal(linalg.solve(a, a), expected[1])
    finally:
        tl.set_num_threads(before)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: linalg.qr(tl.ones(3)), RuntimeError, "must have at least 2 dimensions"),
        (lambda: linalg.qr(tl.ones(2, 2, dtype=tl.int64)), RuntimeError, "floating point or complex"),
        (lambda: linalg.qr(tl.ones(2, 2), "full"), RuntimeError, "unrecognized mode 'full'"),
        (lambda: linalg.solve(tl.ones(2, 3), tl.ones(2)), RuntimeError, "2 by 3 matrices"),
        (lambda: linalg.solve(tl.eye(2), tl.ones(3, 1)), RuntimeError, "Incompatible shapes"),
        (lambda: linalg.solve(tl.eye(2), tl.ones(2, 1).double()), RuntimeError, "same dtype"),
        (lambda: linalg.solve(tl.eye(2), tl.ones(2), left=False), RuntimeError, "left=False"),
        (lambda: linalg.matrix_exp(tl.ones(2, 3)), RuntimeError, "square"),
        (
            lambda: linalg.householder_product(tl.ones(2, 3), tl.ones(2)),
            RuntimeError,
            "greater than or equal",
        ),
        (
            lambda: linalg.householder_product(tl.ones(3, 2), tl.ones(3)),
            RuntimeError,
            "greater than or equal",
        ),
        (lambda: linalg.qr(tl.ones(2, 2, dtype=tl.float16)), NotImplementedError, "Half"),
    ],
)
def test_faults(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---- singular values
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_svd_is_a_product_of_orthonormal_factors(shape, field):
    a = drawn(shape, field)
    for full in (False, True):
        u, s, vh = linalg.svd(tl.from_numpy(a), full)
        expected = np.linalg.svd(a, full_matrices=full)
        assert (u.shape, vh.shape) == (expected[0].shape, expected[2].shape)
        close(s, expected[1])
        k = s.shape[-1]
        close((u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :], a)
        for square in (adjoint(u) @ u, vh @ adjoint(vh)):
            close(square, np.broadcast_to(np.eye(square.shape[-1], dtype=field), square.shape))
    close(linalg.svdvals(tl.from_numpy(a)), np.linalg.svd(a, compute_uv=False))


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("scale", [1e-30, 1, 1e30])
def test_svd_of_deficient_matrices_has_orthonormal_factors(field, scale):
    a = (drawn((6, 2), field) @ drawn((2, 5), field, 1)) * field(scale)
    for matrix in (a, np.zeros_like(a), np.ones_like(a)):
        u, s, vh = linalg.svd(tl.from_numpy(matrix))
        close(s, np.linalg.svd(matrix, compute_uv=False))
        close(adjoint(u) @ u, np.eye(6, dtype=field))
        close(adjoint(vh) @ vh, np.eye(5, dtype=field))


def test_small_singular_values_keep_their_digits():
    graded = np.diag(10.0 ** -np.arange(0, 60, 6)) @ (np.eye(10) + 0.1 * drawn((10, 10), np.float64))
    exact = linalg.svdvals(tl.from_numpy(graded * 1e150)) / 1e150
    assert np.allclose(linalg.svdvals(tl.from_numpy(graded)).numpy(), exact.numpy(), rtol=1e-13, atol=0)


def test_svd_refuses_nan_and_drivers():
    with pytest.raises(linalg.LinAlgError, match="non-finite"):
        linalg.svdvals(tl.tensor([[1.0, float("nan")], [2.0, 3.0]]))
    with pytest.raises(RuntimeError, match="driver"):
        linalg.svd(tl.eye(2), driver="gesvd")
    with pytest.raises(NotImplementedError, match="linalg_svd_cpu"):
        linalg.svdvals(tl.ones(2, 2, dtype=tl.float16))


def test_svd_by_its_older_name_returns_v():
    a = drawn((2, 5, 3), np.complex128)
    u, s, v = tl.svd(tl.from_numpy(a))
    close((u * s.unsqueeze(-2)) @ adjoint(v), a)
    u, _, v = tl.svd(tl.from_numpy(a), compute_uv=False)
    assert u.shape == (2, 5, 5) and v.shape == (2, 3, 3) and not u.any() and not v.any()


# ---- norms of matrices
ORDERS = ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("order", ORDERS)
def test_matrix_norms_are_those_of_numpy(order, field):
    a = drawn((3, 4, 5), field)
    t = tl.from_numpy(a)
    for dim in ((0, 2), (-1, 1), (1, 0)):
        for keepdim in (False, True):
            expected = np.linalg.norm(a, order, dim, keepdim)
            close(linalg.matrix_norm(t, order, dim, keepdim), expected)
            close(linalg.norm(t, order, dim, keepdim), expected)
    out = tl.empty(0, dtype=linalg.matrix_norm(t, order).dtype)
    assert linalg.matrix_norm(t, order, out=out) is out
    close(out, np.linalg.norm(a, order, (1, 2)))


def test_nuclear_norm_of_a_matrix_or_of_dimensions():
    a = drawn((3, 4, 5), np.float32)
    close(tl.norm(tl.from_numpy(a[0]), "nuc"), np.asarray(np.linalg.norm(a[0], "nuc")))
    close(tl.from_numpy(a).norm("nuc", (0, 2), True), np.linalg.norm(a, "nuc", (0, 2), True))
    assert tl.norm(tl.zeros(0, 3), "nuc") == 0
    with pytest.raises(RuntimeError, match="dim must be a 2-tuple"):
        tl.norm(tl.from_numpy(a), "nuc")


def test_matrix_norms_refuse():
    for order in (3, 0, "abc"):
        with pytest.raises(RuntimeError, match="not supported"):
            linalg.matrix_norm(tl.eye(2), order)
    with pytest.raises(RuntimeError, match="must be different"):
        linalg.matrix_norm(tl.eye(2), 2, (1, -1))
    with pytest.raises(RuntimeError, match="without narrowing"):
        linalg.matrix_norm(tl.eye(2), dtype=tl.float16)
    with pytest.raises(RuntimeError, match="Low precision"):
        linalg.matrix_norm(tl.eye(2).half(), 2)
    with pytest.raises(RuntimeError, match="1D or 2D"):
        linalg.norm(tl.ones(1, 2, 3), 2)


@pytest.mark.parametrize("order", [None, *ORDERS])
def test_condition_is_that_of_numpy(order):
    a = drawn((2, 3, 4, 4), np.float64)
    close(linalg.cond(tl.from_numpy(a), order), np.linalg.cond(a, order), 1000)


def test_condition_of_what_has_no_inverse():
    a = tl.stack([tl.eye(2), tl.zeros(2, 2)])
    assert linalg.cond(a, "fro").tolist() == [pytest.approx(2.0), float("inf")]
    assert linalg.cond(tl.zeros(3, 0, 0)).tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="square"):
        linalg.cond(tl.ones(2, 3), 1)


def test_rank_counts_singular_values_above_a_tolerance():
    a = tl.tensor([4.0, 2.0, 1.0]).diag()
    assert linalg.matrix_rank(a) == 3 and linalg.matrix_rank(tl.ones(4, 3)) == 1
    assert linalg.matrix_rank(a, 1.5) == 2 and linalg.matrix_rank(a, atol=1.5) == 2
    assert linalg.matrix_rank(a, rtol=0.6) == 1 and linalg.matrix_rank(a, atol=1.5, rtol=0.6) == 1
    assert linalg.matrix_rank(tl.stack([a, a]), tl.tensor([0.5, 3.0])).tolist() == [3, 1]
    assert linalg.matrix_rank(a.triu() + 9 * tl.ones(3, 3).triu(1), 1.5, hermitian=True) == 2
    assert linalg.matrix_rank(tl.zeros(2, 0, 3)).tolist() == [0, 0]
