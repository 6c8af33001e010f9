"""Products of vectors, matrices and batches, and sums named by subscripts, against numpy."""

import sys
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402
from tl_core.operators import packets as ops  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
import row_cases as r  # noqa: E402

DTYPES = ("int32", "int64", *r.HALVES, *r.FLOATS, *r.COMPLEX)
TOLERANCE = {"bfloat16": 0.05, "float16": 1e-2, "float32": 1e-4, "complex64": 1e-4}


def make(dtype, *shapes, seed=1):
    rng = np.random.default_rng(seed)
    return [r.values(rng, shape, dtype) for shape in shapes]


def close(got, want, dtype):
    tolerance = TOLERANCE.get(dtype, 1e-9)
    want = np.asarray(want)
    scale = max(1.0, float(np.abs(want).max())) if want.size else 1.0
    np.testing.assert_allclose(r.to_numpy(got), want, rtol=0, atol=tolerance * scale)


def arrays(*tensors):
    return [r.to_numpy(t) for t in tensors]


def layouts(m, n, dtype, rng):
    """A matrix of that shape in every layout."""
    yield r.values(rng, (m, n), dtype)
    yield r.values(rng, (n, m), dtype).t()
    yield r.values(rng, (2 * m, 3 * n), dtype)[::2, ::3]
    yield r.values(rng, (1, n), dtype).expand(m, n)
    yield r.values(rng, (m, n + 3), dtype)[:, 1 : n + 1]
    yield r.values(rng, (m + n,), dtype).as_strided((m, n), (1, 1))


SIZES = [
    (1, 1, 1),
    (1, 300, 5),
    (5, 300, 1),
    (3, 7, 33),
    (20, 40, 17),
    (65, 70, 66),
    (100, 520, 31),
    (15, 0, 4),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m, k, n", SIZES)
def test_matmul_layouts(m, k, n, dtype):
    rng = np.random.default_rng(2)
    for a in layouts(m, k, dtype, rng):
        for b in layouts(k, n, dtype, rng):
            close(a @ b, np.matmul(*arrays(a, b)), dtype)


@pytest.mark.parametrize("dtype", ("uint8", "int8", "int16", "int32", "int64"))
def test_integers_wrap_around(dtype):
    rng = np.random.default_rng(4)
    info = np.iinfo(dtype)
    a, b, x = (
        rng.integers(info.min, info.max, shape, dtype, True) for shape in ((37, 90), (90, 130), (37, 130))
    )
    with np.errstate(over="ignore"):
        product = np.matmul(a.astype("uint64"), b.astype("uint64"))
        added = np.uint64(3) * x.astype("uint64") + np.uint64(2) * product
    ta, tb, tx = map(tl.from_numpy, (a, b, x))
    np.testing.assert_array_equal((ta @ tb).numpy(), product.astype(dtype))
    np.testing.assert_array_equal(tl.addmm(tx, ta, tb, beta=3, alpha=2).numpy(), added.astype(dtype))


@pytest.mark.parametrize("m, k, n", [*SIZES, (33, 130, 40), (16, 64, 16), (70, 1100, 33), (16, 4200, 16)])
def test_int8_in_int32(m, k, n):
    rng = np.random.default_rng(3)
    for a in layouts(m, k, "int8", rng):
        for b in layouts(k, n, "int8", rng):
            a, b = ((t * 13).to(tl.int8) for t in (a, b))
            result, want = tl._int_mm(a, b), np.matmul(*(x.astype("int32") for x in arrays(a, b)))
            assert result.dtype == tl.int32
            np.testing.assert_array_equal(result.numpy(), want)
    low = tl.full((m, k), -128, dtype=tl.int8)
    out = tl.empty(m, m, dtype=tl.int32)
    assert tl._int_mm(low, low.t(), out=out) is out
    assert (out == k * 2**14).all()


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda a: tl._int_mm(a[0], a), "Expected self to be of dimension 2 but got 1"),
        (lambda a: tl._int_mm(a, a), r"self.size\(1\) needs to match mat2.size\(0\) but got 4 and 3"),
        (lambda a: tl._int_mm(a, a.t().float()), "Expected mat2 dtype to be of type int8 but got Float"),
        (lambda a: tl._int_mm(a, a.t(), out=tl.ones(3, 3)), "Expected result dtype to be of type kInt"),
        (lambda a: tl._int_mm(a, a.t(), out=tl.ones(2, 3).int()), r"Expected result.size\(0\) to be 3 but"),
    ],
)
def test_int8_refusals(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(tl.ones(3, 4, dtype=tl.int8))


@pytest.mark.parametrize("dtype", ("complex64", "complex128"))
def test_complex_factors(dtype):
    x, a, b = make(dtype, (33, 9), (33, 20), (20, 9))
    xx, aa, bb = arrays(x, a, b)
    for beta, alpha in ((2 - 1j, 3j), (0, 1 + 2j), (1j, 1), (3, 2)):
        want = beta * xx + alpha * (aa @ bb)
        close(tl.addmm(x, a, b, beta=beta, alpha=alpha), want, dtype)
        out = tl.empty(9, 33, dtype=x.dtype).t()
        close(tl.addmm(x, a, b, beta=beta, alpha=alpha, out=out), want, dtype)


@pytest.mark.parametrize("m, k, n", [(40, 4096, 70), (33, 5000, 40), (9, 300, 2100)])
def test_long_and_wide_halves(m, k, n):
    a, b, c = make("bfloat16", (m, k), (k, n), (n,))
    aa, bb, cc = arrays(a, b, c)
    close(a @ b, aa @ bb, "bfloat16")
    close(tl.addmm(c, a, b, beta=3, alpha=0.5), 3 * cc + 0.5 * (aa @ bb), "bfloat16")
    close(tl.mm(a, b, out=tl.empty(n, m, dtype=a.dtype).t()), aa @ bb, "bfloat16")


@pytest.mark.parametrize("dtype", ("bfloat16", "float32", "float64"))
def test_rows_do_not_depend_on_their_number(dtype):
    a, b = make(dtype, (90, 700), (700, 50))
    full = a @ b
    for rows in (1, 2, 9, 30):
        if dtype != "bfloat16":  # few rows are multiplied without pairs
            assert r.same(a[:rows] @ b, full[:rows])
    transposed = b.t().contiguous().t()
    assert dtype == "bfloat16" or r.same(a[:1] @ transposed, (a @ transposed)[:1])


@pytest.mark.parametrize("dtype", (*r.HALVES, *r.FLOATS))
@pytest.mark.parametrize("k, n", [(700, 1101), (61, 800), (530, 21)])
@pytest.mark.parametrize("turned", (False, True))
def test_skinny_products(dtype, k, n, turned):
    a, wide, x = make(dtype, (40, k), (k, n + 9), (40, n))
    b = wide.t().contiguous().t()[:, 4 : n + 4] if turned else wide[:, 4 : n + 4]
    aa, bb, xx = arrays(a, b, x)
    full, added = a @ b, tl.addmm(x, a, b, beta=3, alpha=0.5)
    close(full, aa @ bb, dtype)
    for rows in (1, 2, 3, 4, 5, 11, 16):
        for some in (a[:rows], a.t().contiguous().t()[:rows]):
            result, sums = some @ b, tl.addmm(x[:rows], some, b, beta=3, alpha=0.5)
            close(result, aa[:rows] @ bb, dtype)
            close(sums, 3 * xx[:rows] + 0.5 * (aa[:rows] @ bb), dtype)
            if dtype in r.FLOATS:  # as in test_rows_do_not_depend_on_their_number
                assert r.same(result, full[:rows]) and r.same(sums, added[:rows])
        out = tl.empty(n, rows, dtype=a.dtype).t()
        close(tl.mm(a[:rows], b, out=out), aa[:rows] @ bb, dtype)


@pytest.mark.parametrize(
    "shape",
    [
        (300, 300, 300),
        (1, 70000, 1),
        (2000, 300, 1),
        (40, 3000, 40),
        (90, 700, 1100),
        (1100, 700, 90),
        (3, 700, 1300),
    ],
)
@pytest.mark.parametrize("dtype", ("bfloat16", "float32"))
def test_threads_change_nothing(shape, dtype):
    m, k, n = shape
    a, b = tl.randn(m, k).to(getattr(tl, dtype)), tl.randn(k, n).to(getattr(tl, dtype))
    before, results = tl.get_num_threads(), []
    for threads in (1, 2, 3, 4, 8):
        tl.set_num_threads(threads)
        results.append(a @ b)
    tl.set_num_threads(before)
    assert all(r.same(results[0], other) for other in results[1:])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta, alpha", [(1, 1), (2, 3), (0, 2)])
def test_added(dtype, beta, alpha):
    x, a, b, v = make(dtype, (2, 3, 5), (2, 3, 4), (2, 4, 5), (4,))
    xx, aa, bb, vv = arrays(x, a, b, v)
    how = {"beta": beta, "alpha": alpha}
    close(tl.baddbmm(x, a, b, **how), beta * xx + alpha * (aa @ bb), dtype)
    close(x.clone().baddbmm_(a, b, **how), beta * xx + alpha * (aa @ bb), dtype)
    close(tl.addbmm(x[0], a, b, **how), beta * xx[0] + alpha * (aa @ bb).sum(0), dtype)
    close(tl.addmv(x[0, :, 0], a[0], v, **how), beta * xx[0, :, 0] + alpha * (aa[0] @ vv), dtype)
    close(
        tl.addr(x[0, :, :4], a[0, :, 1], v, **how),
        beta * xx[0, :, :4] + alpha * np.outer(aa[0, :, 1], vv),
        dtype,
    )


@pytest.mark.parametrize("call", [
    lambda x, a: tl.baddbmm(x, a, a, beta=0), lambda x, a: tl.addbmm(x[0], a, a, beta=0),
    lambda x, a: tl.addmv(x[0, 0], a[0], a[0, 0], beta=0), lambda x, a: tl.addr(x[0], a[0, 0], a[0, 0], beta=0),
])  # fmt: skip
def test_beta_zero_reads_nothing(call):
    x, a = tl.full((2, 3, 3), float("nan")), tl.ones(2, 3, 3)
    assert not np.isnan(call(x, a).numpy()).any()


def test_addr_of_bools():
    x, a = tl.tensor([[True, False], [False, False]]), tl.tensor([True, False])
    assert tl.addr(x, a, ~a, beta=True, alpha=True).tolist() == [[True, True], [False, False]]
    assert tl.addr(x, a, ~a, beta=False, alpha=True).tolist() == [[False, True], [False, False]]


@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors(dtype):
    a, b, m = make(dtype, (5,), (5,), (3, 4, 5))
    aa, bb, mm = arrays(a, b, m)
    close(tl.vdot(a, b), np.vdot(aa, bb), dtype)
    close(tl.outer(a, b), np.outer(aa, bb), dtype)
    close(a.ger(b), np.outer(aa, bb), dtype)
    close(tl.inner(m, a), np.inner(mm, aa), dtype)
    close(tl.inner(m, m), np.inner(mm, mm), dtype)
    close(tl.inner(m, a[0]), mm * aa[0], dtype)
    out = tl.empty(0, dtype=a.dtype)
    assert tl.outer(a, b, out=out) is out and out.shape == (5, 5)


@pytest.mark.parametrize("dtype", ("int64", "float64", "complex128"))
def test_tensordot(dtype):
    a, b = make(dtype, (2, 3, 4), (4, 3, 5))
    aa, bb = arrays(a, b)
    close(tl.tensordot(a, b, dims=([1, 2], [1, 0])), np.tensordot(aa, bb, ([1, 2], [1, 0])), dtype)
    close(tl.tensordot(a, b, dims=1), np.tensordot(aa, bb, 1), dtype)
    close(tl.tensordot(a, b, dims=0), np.tensordot(aa, bb, 0), dtype)
    close(tl.tensordot(a, b, dims=tl.tensor([[1, 2], [1, 0]])), np.tensordot(aa, bb, ([1, 2], [1, 0])), dtype)
    with pytest.raises(IndexError, match="Dimension specified as -1 but tensor has no dimensions"):
        tl.tensordot(a.sum(), a.sum(), dims=([-1], [-1]))
    close(tl.tensordot(a, b, dims=((-1,), (0,))), np.tensordot(aa, bb, 1), dtype)


EQUATIONS = [
    ("i", (3,)), ("i->", (3,)), ("ij->ji", (2, 3)), ("ii", (3, 3)), ("ii->i", (3, 3)), ("iij->ji", (3, 3, 2)),
    ("i,i->", (3,), (3,)), ("i,j->ij", (3,), (4,)), ("ij,jk", (2, 3), (3, 4)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("bij,bkj->bik", (2, 3, 4), (2, 5, 4)), ("...ij,...jk->...ik", (2, 3, 4), (5, 1, 4, 2)),
    ("...a,...b", (2, 3), (2, 4)),
    ("i...->...", (3, 2, 4)), ("...ii->...i", (2, 3, 3)), ("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5)),
    ("a,b,c->", (2,), (3,), (4,)), ("bn,anm,bm->ba", (2, 3), (4, 3, 5), (2, 5)), ("ij,ij->ij", (2, 3), (1, 3)),
    ("ij,kj->ik", (2, 3), (4, 1)), ("B i,i B->B", (2, 3), (3, 2)),
    ("ab,cb,db,eb->acde", (2, 3), (3, 3), (2, 3), (4, 3)),
    (",i->i", (), (3,)), ("abc,cd->", (2, 3, 4), (4, 2)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ("int64", "float32", "complex128"))
@pytest.mark.parametrize("equation, shapes", [(e, s) for e, *s in EQUATIONS])
def test_einsum(equation, shapes, dtype):
    tensors = make(dtype, *shapes)
    want = np.einsum(equation.replace(" ", ""), *arrays(*tensors))
    close(tl.einsum(equation, *tensors), want, dtype)
    close(tl.einsum(equation, tensors), want, dtype)


def test_einsum_of_lists():
    a, b = make("float64", (2, 3, 4), (2, 4, 5))
    want = np.einsum("bij,bjk->bik", *arrays(a, b))
    close(tl.einsum(a, [0, 1, 2], b, [0, 2, 3], [0, 1, 3]), want, "float64")
    close(tl.einsum(a, [..., 1, 2], b, [..., 2, 30]), want, "float64")


@pytest.mark.parametrize("path", [[0, 1, 0, 1], [1, 2, 0, 1], [0, 2, 0, 1]])
def test_einsum_path(path):
    tensors = make("float64", (2, 3), (3, 4), (4, 5))
    result = ops.aten.einsum("ab,bc,cd->da", tensors, path=path)
    close(result, np.einsum("ab,bc,cd->da", *arrays(*tensors)), "float64")


WRONG = [
    (
        ("ij", tl.ones(3)),
        r"number of subscripts in the equation \(2\) does not match the number of dimensions \(1\)",
    ),
    (("i,i", tl.ones(3), tl.ones(4)), "does not broadcast with previously seen size 3"),
    (("i->j", tl.ones(3)), "output subscript j does not appear"),
    (("i->ii", tl.ones(3)), "output subscript i appears more than once"),
    (("i,j", tl.ones(3)), "fewer operands were provided"),
    (("i", tl.ones(3), tl.ones(3)), "more operands were provided"),
    (("i.j", tl.ones(3, 3)), "not part of any ellipsis"),
    (("i1", tl.ones(3, 3)), "invalid subscript given at index 1"),
    (("ii", tl.ones(2, 3)), "repeated for one operand but the sizes don't match"),
]


@pytest.mark.parametrize("arguments, message", WRONG)
def test_einsum_errors(arguments, message):
    with pytest.raises(RuntimeError, match=message):
        tl.einsum(*arguments)


def test_chains():
    matrices = make("float64", (3, 40), (40, 2), (2, 50), (50, 4))
    want = np.linalg.multi_dot(arrays(*matrices))
    close(tl.chain_matmul(*matrices), want, "float64")
    close(ops.aten.linalg_multi_dot(matrices), want, "float64")
    vectors = [matrices[0][0], *matrices[1:3], matrices[3][:, 0]]
    close(ops.aten.linalg_multi_dot(vectors), np.linalg.multi_dot(arrays(*vectors)), "float64")
    close(tl.chain_matmul(matrices[0]), arrays(matrices[0])[0], "float64")


def test_einsum_hands_the_operands_of_a_list_to_a_handler_one_by_one():
    records = []

    class Seen(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            records.append((func, len(args)))
            return super().__torch_function__(func, types, args, kwargs or {})

    x = tl.ones(2, 2).as_subclass(Seen)
    for operands in ((x, x), ([x, x],), ((x, x),)):
        assert tl.einsum("ij,jk->ik", *operands).tolist() == [[2.0, 2.0]] * 2
    assert [(func, n) for func, n in records if func is tl.einsum] == [(tl.einsum, 3)] * 3
    with pytest.raises(ValueError, match="at least one operand"):
        tl.einsum("ij", [])
