"""Products of sparse matrices against dense ones and scipy; what is refused; that results do not depend on threads."""

import pytest

import tl_core as tl
from tl_core.testing import assert_close

numpy = pytest.importorskip("numpy")

LAYOUTS = (tl.sparse_coo, tl.sparse_csr, tl.sparse_csc, tl.sparse_bsr, tl.sparse_bsc)
DTYPES = ("float32", "float64", "complex64", "complex128", "int64", "int32", "uint8")
ROUNDING = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "complex64": 1e-5}


def holed(*shape, seed=0, dtype="float64", density=0.3):
    rng = numpy.random.default_rng(seed)
    values = rng.standard_normal(shape) * 4
    if dtype.startswith("complex"):
        values = values + 1j * rng.standard_normal(shape)
    return tl.tensor(values * (rng.random(shape) < density)).to(getattr(tl, dtype))


def to(x, layout):
    return x.to_sparse(layout=layout, blocksize=(2, 3) if layout in (tl.sparse_bsr, tl.sparse_bsc) else None)


def close(made, wanted, dtype="float64"):
    made = made.to_dense() if made.layout is not tl.strided else made
    assert made.dtype is wanted.dtype and made.shape == wanted.shape
    assert_close(made, wanted, rtol=ROUNDING.get(dtype, 1e-12), atol=ROUNDING.get(dtype, 1e-12))


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_matrix_times_matrix(layout, dtype):
    a, b = holed(8, 9, dtype=dtype), holed(9, 5, seed=1, dtype=dtype, density=1)
    s = to(a, layout)
    for result in (s @ b, tl.mm(s, b), tl.sparse.mm(s, b), s.matmul(b)):
        close(result, a @ b, dtype)
    close(b.t() @ to(a.t().contiguous(), layout) if layout not in (tl.sparse_bsr, tl.sparse_bsc) else s @ b,
          b.t() @ a.t() if layout not in (tl.sparse_bsr, tl.sparse_bsc) else a @ b, dtype)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_half_floats_are_rounded_once(layout, dtype):
    a, b = holed(8, 9, dtype=dtype), holed(9, 5, seed=1, dtype=dtype, density=1)
    expected = (a.double() @ b.double()).to(a.dtype)
    result = to(a, layout) @ b
    assert result.dtype is a.dtype
    assert_close(result, expected, rtol=ROUNDING[dtype], atol=ROUNDING[dtype])


@pytest.mark.parametrize("width", [1, 2, 7, 16, 31, 64, 130])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_width(width, dtype):
    """Strips of vectors, the rest of a row, and a single column."""
    a, b = holed(40, 50, dtype=dtype), holed(50, width, seed=1, dtype=dtype, density=1)
    close(a.to_sparse_csr() @ b, a @ b, dtype)
    close(tl.eye(40, dtype=a.dtype).to_sparse_bsr((5, 4)) @ b[:40], b[:40], dtype)
    close(a[:, :48].to_sparse_bsr((5, 4)) @ b[:48], a[:, :48] @ b[:48], dtype)
    close(a.to_sparse_csr() @ b.t().contiguous().t(), a @ b, dtype)


def test_rows_of_any_length():
    """From empty rows to longer ones than several vectors."""
    x = tl.zeros(70, 300)
    for i in range(70):
        x[i, : i * 4] = tl.arange(1.0, 1.0 + i * 4)
    v = tl.linspace(-1, 1, 300)
    assert_close(x.to_sparse_csr() @ v, (x.double() @ v.double()).float(), rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_matrix_times_vector(layout):
    a, v = holed(8, 9), holed(9, seed=3, density=1)
    for result in (to(a, layout) @ v, to(a, layout).mv(v)):
        close(result, a @ v)
    close(tl.addmv(tl.ones(8, dtype=tl.float64), to(a, layout), v, beta=2, alpha=3), 2 + 3 * (a @ v))


def test_against_scipy():
    scipy = pytest.importorskip("scipy.sparse")
    a, b = holed(30, 20, density=0.1), holed(20, 25, seed=1, density=0.1)
    expected = (scipy.csr_matrix(a.numpy()) @ scipy.csr_matrix(b.numpy())).toarray()
    for layout in (tl.sparse_coo, tl.sparse_csr, tl.sparse_csc):
        result = to(a, layout) @ to(b, layout)
        assert result.layout is layout
        numpy.testing.assert_allclose(result.to_dense().numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS[:3], ids=str)
def test_sums_with_products(layout):
    a, b, c = holed(8, 9), holed(9, 5, seed=1, density=1), holed(8, 5, seed=2, density=1)
    s = to(a, layout)
    close(tl.addmm(c, s, b), c + a @ b)
    close(tl.addmm(c, s, b, beta=2, alpha=-0.5), 2 * c - 0.5 * (a @ b))
    close(tl.addmm(c[0], s, b), c[0] + a @ b)
    close(tl.sparse.addmm(c, s, b, beta=0), a @ b)
    with_nan = tl.full_like(c, float("nan"))
    close(tl.addmm(with_nan, s, b, beta=0), a @ b)
    out = tl.empty(0, dtype=tl.float64)
    assert tl.mm(s, b, out=out) is out
    close(out, a @ b)
    target = c.clone()
    close(target.addmm_(s, b), c + a @ b)


def test_the_older_products():
    a, b, c = holed(8, 9), holed(9, 5, seed=1, density=1), holed(8, 5, seed=2)
    s = a.to_sparse()
    for result in (tl.smm(s, b), tl.hspmm(s, b), tl.hsmm(s, b)):
        assert result.is_sparse
        close(result, a @ b)
    assert tl.hspmm(s, b).sparse_dim() == 1
    for f in (tl.sspaddmm, tl.saddmm):
        result = f(c.to_sparse(), s, b, beta=2, alpha=3)
        assert result.is_sparse
        close(result, 2 * c + 3 * (a @ b))
    for f in (tl.spmm, tl.dsmm):
        close(f(s, b), a @ b)


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_reduced_products(reduce):
    a, b = holed(6, 5), holed(5, 4, seed=1, density=1)
    result = tl.sparse.mm(a.to_sparse_csr(), b, reduce)
    value = a.numpy() != 0
    terms = a.numpy()[:, :, None] * b.numpy()[None]
    for i in range(6):
        rows = terms[i][value[i]]
        expected = getattr(numpy, reduce)(rows, 0) if len(rows) else numpy.zeros(4)
        numpy.testing.assert_allclose(result[i].numpy(), expected, rtol=1e-12)
    with pytest.raises(RuntimeError, match="reduce must be"):
        tl.sparse.mm(a.to_sparse_csr(), b, "prod")


def test_batches():
    a, b = holed(3, 4, 5), holed(3, 5, 2, seed=1, density=1)
    close(tl.bmm(a.to_sparse(), b), tl.bmm(a, b))
    close(a.to_sparse() @ b, a @ b)
    with pytest.raises(RuntimeError, match="bmm: expected batches"):
        tl.bmm(a.to_sparse(), b[:2])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "float16"])
@pytest.mark.parametrize("inner", [1, 3, 16, 70])
def test_sampled_products(dtype, inner):
    mask = holed(7, 9, dtype=dtype)
    x, y = holed(7, inner, seed=1, dtype=dtype, density=1), holed(inner, 9, seed=2, dtype=dtype, density=1)
    s = mask.to_sparse_csr()
    wide = tl.complex128 if mask.is_complex() else tl.float64
    expected = ((x.to(wide) @ y.to(wide)) * (mask != 0)).to(mask.dtype)
    result = tl.sparse.sampled_addmm(s, x, y, beta=0)
    assert_close(result.to_dense(), expected, rtol=5e-3 if dtype == "float16" else 1e-4, atol=1e-2)
    both = tl.sparse.sampled_addmm(s, x, y, beta=2, alpha=3)
    assert_close(both.to_dense(), 2 * mask + 3 * expected, rtol=5e-3, atol=5e-2)
    assert tl.equal(result.crow_indices(), s.crow_indices())


@pytest.mark.parametrize("density", [0.01, 0.2])
@pytest.mark.parametrize("is_sorted", [True, False])
def test_sampled_products_of_many_columns(density, is_sorted):
    """The second matrix is read tile by tile; each place is computed once, whatever the order of the columns is."""
    mask = holed(300, 700, dtype="float32", density=density)
    s = mask.to_sparse_csr()
    crow, col = s.crow_indices(), s.col_indices()
    if not is_sorted:
        col = tl.cat([part.flip(0) for part in col.split((crow[1:] - crow[:-1]).tolist())])
        s = tl.sparse_csr_tensor(crow, col, tl.ones(len(col)), mask.shape, check_invariants=False)
    x, y = (
        holed(300, 64, seed=1, dtype="float32", density=1),
        holed(64, 700, seed=2, dtype="float32", density=1),
    )
    values = tl.sparse.sampled_addmm(s, x, y, beta=0).values()
    rows = tl.repeat_interleave(crow[1:] - crow[:-1])
    assert_close(values, (x.double() @ y.double())[rows, col].float(), rtol=1e-4, atol=1e-4)


def test_shapes_and_types_that_do_not_fit():
    s = holed(4, 6).to_sparse_csr()
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(4x6 and 5x2\)"):
        s @ tl.ones(5, 2, dtype=tl.float64)
    with pytest.raises(RuntimeError, match="same dtype"):
        s @ tl.ones(6, 2)
    with pytest.raises(RuntimeError, match="size mismatch"):
        s @ tl.ones(5, dtype=tl.float64)
    with pytest.raises(RuntimeError, match="Expected self to have sparse csr layout"):
        tl.sparse.sampled_addmm(holed(4, 6).to_sparse(), tl.ones(4, 2), tl.ones(2, 6))
    with pytest.raises(RuntimeError, match="Expected mat1 and self to have the same dtype"):
        tl.sparse.sampled_addmm(s, tl.ones(4, 2), tl.ones(2, 6))
    with pytest.raises(RuntimeError, match="does not expand"):
        tl.addmm(tl.ones(3, 3, dtype=tl.float64), s, tl.ones(6, 2, dtype=tl.float64))


def test_without_elements():
    for rows, inner, width in ((0, 3, 2), (3, 0, 2), (3, 3, 0), (0, 0, 0)):
        result = tl.zeros(rows, inner, layout=tl.sparse_csr) @ tl.ones(inner, width)
        assert result.shape == (rows, width) and not result.any()


@pytest.mark.parametrize("per_row", [2, 40], ids=["few", "many"])
@pytest.mark.parametrize("column", [-1, 50])
def test_a_column_out_of_range_in_any_row(per_row, column):
    """Rows are computed eight at a time, so each place in a group of rows checks its columns."""
    for row in (0, 7, 8, 20):
        columns = tl.arange(per_row).repeat(21)
        columns[row * per_row + per_row - 1] = column
        with pytest.raises(RuntimeError, match="out of range"):
            s = tl.sparse_csr_tensor(
                tl.arange(22) * per_row, columns, tl.ones(21 * per_row), (21, 50), check_invariants=False
            )
            s @ tl.ones(50)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_row_gives_the_same_bits_alone(dtype):
    """The order of a row's sum depends on its number of terms, not on its neighbours."""
    a, v = holed(37, 300, dtype=dtype, density=0.3), holed(300, seed=1, dtype=dtype, density=1)
    a[5, 3:], a[6] = 0, 0
    product = a.to_sparse_csr() @ v
    for row in range(37):
        assert tl.equal(a[row : row + 1].to_sparse_csr() @ v, product[row : row + 1])


def test_threads_change_nothing():
    a, b = holed(600, 500, dtype="float32", density=0.2), holed(500, 70, seed=1, dtype="float32", density=1)
    s, threads = a.to_sparse_csr(), tl.get_num_threads()

    def results():
        return [s @ b, s @ b[:, 0], tl.sparse.sampled_addmm(s, b[:1].expand(600, 70), b.t(), beta=0).values(),
                a.to_sparse_bsr((4, 4)) @ b]  # fmt: skip

    try:
        tl.set_num_threads(1)
        expected = results()
        tl.set_num_threads(4)
        for result, one in zip(results(), expected, strict=True):
            assert tl.equal(result, one)
    finally:
        tl.set_num_threads(threads)


def test_solving():
    a = holed(6, 6, density=0.5) + 5 * tl.eye(6, dtype=tl.float64)
    b = holed(6, seed=1, density=1)
    close(a @ tl.sparse.spsolve(a.to_sparse_csr(), b), b)
    with pytest.raises(RuntimeError, match="square"):
        tl.sparse.spsolve(holed(3, 4).to_sparse_csr(), b)


def test_diagonals():
    result = tl.sparse.spdiags(tl.arange(9).reshape(3, 3), tl.tensor([0, -1, 2]), (3, 3))
    assert result.to_dense().tolist() == [[0, 0, 8], [3, 1, 0], [0, 4, 2]]
    assert tl.sparse.spdiags(tl.ones(2), tl.tensor([0]), (2, 2), tl.sparse_csc).layout is tl.sparse_csc
    with pytest.raises(RuntimeError, match="duplicate"):
        tl.sparse.spdiags(tl.ones(2, 2), tl.tensor([0, 0]), (2, 2))
    with pytest.raises(RuntimeError, match="Long"):
        tl.sparse.spdiags(tl.ones(2), tl.tensor([0], dtype=tl.int32), (2, 2))


# ---- two zeros of four ----------------------------------------------------------------------------------------
def two_of_four(rows, columns, dtype):
    rng = numpy.random.default_rng(0)
    group = rng.permuted(numpy.tile([1, 1, 0, 0], (rows * columns // 4, 1)), axis=1)
    return tl.tensor(rng.integers(1, 4, (rows, columns)) * group.reshape(rows, columns)).to(dtype)


@pytest.mark.parametrize("dtype", [tl.float16, tl.bfloat16, tl.int8])
def test_semi_structured_matrices(dtype):
    n = 128 if dtype is tl.int8 else 64
    a = two_of_four(n, 2 * n, dtype)
    b = two_of_four(2 * n, n, dtype)
    s = tl.sparse.to_sparse_semi_structured(a)
    assert s.shape == a.shape and s.dtype is a.dtype and s.values().shape == (n, n)
    assert tl.equal(s.to_dense(), a) and tl.equal(s.t().to_dense(), a.t())
    expected = (a.long() @ b.long()).to(dtype)
    assert tl.equal(tl.mm(s, b), expected) and tl.equal(s @ b, expected)
    assert tl.equal(b.t() @ s.t(), expected.t())
    assert tl.equal(tl.addmm(expected, s, b), expected + expected)
    if dtype is not tl.int8:
        x = two_of_four(3, 2 * n, dtype)
        assert tl.equal(x @ s.t(), (x.long() @ a.t().long()).to(dtype))


def test_float32_keeps_one_of_two():
    a = tl.tensor([[0.0, 2.0] * 16, [3.0, 0.0] * 16] * 16)
    s = tl.sparse.to_sparse_semi_structured(a)
    assert tl.equal(s.to_dense(), a) and tl.equal(s @ tl.ones(32, 2), a @ tl.ones(32, 2))


def test_semi_structured_matrices_that_are_refused():
    with pytest.raises(RuntimeError, match="more than 2 of 4 neighbours"):
        tl.sparse.to_sparse_semi_structured(tl.ones(64, 64).half())
    with pytest.raises(RuntimeError, match="multiple of"):
        tl.sparse.to_sparse_semi_structured(tl.zeros(60, 64).half())
    with pytest.raises(RuntimeError, match="not a supported dtype"):
        tl.sparse.to_sparse_semi_structured(tl.zeros(64, 64).double())
    with pytest.raises(NotImplementedError, match="supports a specific set of operations"):
        tl.exp(tl.sparse.to_sparse_semi_structured(tl.zeros(64, 64).half()))
