"""Sparse tensors in place: items that are not set, sizes, copies, likenesses, and what has no strides."""

import pytest

import tl_core as tl

numpy = pytest.importorskip("numpy")

from test_sparse_compressed import ALL, LAYOUTS, blocksize, holed, indices, to  # noqa: E402

BLOCK = (2, 2)
DENSE = holed(6, 4, seed=3)


def make(layout, x=DENSE):
    return to(x, layout, BLOCK)


@pytest.mark.parametrize("layout", ALL)
@pytest.mark.parametrize("index", [(0, 0), 0, slice(None), ..., tl.tensor([0]), None])
def test_no_item_of_a_sparse_tensor_is_set(layout, index):
    x = make(layout)
    for value in (99.0, tl.ones(4, dtype=x.dtype)):
        with pytest.raises(TypeError, match="Cannot assign to a sparse tensor"):
            x[index] = value
    assert tl.equal(x.to_dense(), DENSE)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_compressed_tensors_have_no_strides(layout):
    x = make(layout)
    name = str(layout).rpartition("_")[2].upper()
    for call in (x.stride, lambda: x.stride(-1)):
        with pytest.raises(RuntimeError, match=f"Sparse {name} tensors do not have strides"):
            call()
    with pytest.raises(RuntimeError, match=f"Sparse {name} tensors do not have is_contiguous"):
        x.is_contiguous()
    with pytest.raises(NotImplementedError, match="Cannot access storage of SparseCsrTensorImpl"):
        x.untyped_storage()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rows", [0, 2, 6, 8])
@pytest.mark.parametrize("columns", [4, 6])
def test_lines_that_stay_and_lines_that_come(layout, rows, columns):
    by_rows = layout in (tl.sparse_csr, tl.sparse_bsr)
    dense = DENSE if by_rows else DENSE.t().contiguous()
    want = tl.zeros(rows, columns, dtype=DENSE.dtype)
    want[: min(rows, 6), :4] = DENSE[:rows]
    x = make(layout, dense)
    size = (rows, columns) if by_rows else (columns, rows)
    assert x.resize_(*size) is x
    assert x.shape == size and x.layout is layout
    assert tl.equal(x.to_dense(), want if by_rows else want.t())
    tl._validate_sparse_compressed_tensor_args(*indices(x), x.values(), x.shape, layout)


def test_resizing_that_is_refused():
    x = make(tl.sparse_csr)
    with pytest.raises(
        RuntimeError, match=r"original number of columns is 4 while the requested new .* is 3"
    ):
        x.resize_(6, 3)
    with pytest.raises(
        RuntimeError, match=r"Only batched sparse CSR matrices are supported, but got size \[24\]"
    ):
        x.resize_(24)
    with pytest.raises(RuntimeError, match="keeps its batch and dense dimensions"):
        x.resize_(2, 6, 4)
    with pytest.raises(RuntimeError, match="that blocks of 2 divide, got 5"):
        make(tl.sparse_bsr).resize_(5, 4)
    with pytest.raises(NotImplementedError, match="sparse_resize_"):
        make(tl.sparse_coo).resize_(6, 4)
    uneven = tl.tensor([[[1.0, 2], [0, 0]], [[0, 0], [3, 4]]]).to_sparse_csr()
    with pytest.raises(RuntimeError, match=r"the rows that stay have \[0, 2\]"):
        uneven.resize_(2, 1, 2)
    assert tl.equal(x.to_dense(), DENSE)


def test_batches_keep_their_rows():
    x = tl.tensor([[[1.0, 2], [0, 5]], [[6, 0], [3, 4]]])
    x[1, 0, 1] = 7
    x[1, 1, 0] = 0
    batch = x.to_sparse_csr()
    assert tl.equal(batch.resize_(2, 1, 3).to_dense(), tl.tensor([[[1.0, 2, 0]], [[6, 7, 0]]]))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_size_of_another(layout):
    x, other = make(layout), to(holed(8, 12, seed=4).float(), layout, (4, 3))
    assert x.resize_as_sparse_(other) is x
    assert (x.shape, x._nnz(), x.dtype) == (other.shape, other._nnz(), tl.float64)
    assert all(tl.equal(a, b) for a, b in zip(indices(x), indices(other), strict=True))
    assert not x.values().any()
    for pair in ((x, DENSE), (DENSE.clone(), x)):
        with pytest.raises(RuntimeError, match="expected sparse compressed tensor layout"):
            pair[0].resize_as_sparse_(pair[1])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_that_are_refused(layout):
    x = make(layout)
    another = next(other for other in LAYOUTS if other is not layout)
    for source in (DENSE, make(another)):
        with pytest.raises(
            RuntimeError, match="compressed tensors having different layouts is not supported"
        ):
            x.copy_(source)
    with pytest.raises(RuntimeError, match="with the same number of specified elements"):
        x.copy_(make(layout, tl.zeros(6, 4, dtype=tl.float64)))
    with pytest.raises(RuntimeError, match="to match along dimension 0"):
        make(layout, tl.eye(4)).copy_(make(layout, tl.cat([tl.eye(4), tl.zeros(2, 4)])))
    if blocksize(layout):
        ones = tl.ones(4, 4)
        with pytest.raises(RuntimeError, match="having different block sizes"):
            to(ones, layout, (1, 4)).copy_(to(ones, layout, (4, 1)))
    assert tl.equal(x.copy_(x.clone() * 2).to_dense(), DENSE * 2)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_likenesses_keep_their_layout(layout):
    x = make(layout)
    assert tl.empty_like(x).layout is layout
    for other in (*ALL, tl.strided):
        if other is not layout:
            with pytest.raises(
                RuntimeError, match="empty_like with different sparse layout is not supported"
            ):
                tl.empty_like(x, layout=other)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("index_dtype", [tl.int32, tl.int64])
@pytest.mark.parametrize(("batch", "dense"), [((), ()), ((2,), (3,)), ((2, 0), ())])
def test_tensors_of_their_dimensions(layout, index_dtype, batch, dense):
    blocks = BLOCK if blocksize(layout) else ()
    size = (*batch, 6, 4, *dense)
    make_zeros = tl.ops.aten._sparse_compressed_tensor_with_dims
    for count in (0, 1, 6):
        x = make_zeros(count, len(dense), size, blocks, index_dtype, dtype=tl.int16, layout=layout)
        assert (x.shape, x.dtype, x.layout, x.dense_dim()) == (size, tl.int16, layout, len(dense))
        assert x.values().shape == (*batch, count, *blocks, *dense)
        assert {i.dtype for i in indices(x)} == {index_dtype}
        tl._validate_sparse_compressed_tensor_args(*indices(x), x.values(), x.shape, layout)
    with pytest.raises(RuntimeError, match=r"expected nnz in \[0, "):
        make_zeros(25, len(dense), size, blocks, index_dtype, layout=layout)
    with pytest.raises(RuntimeError, match="blocksize must be"):
        make_zeros(1, len(dense), size, () if blocks else BLOCK, index_dtype, layout=layout)


@pytest.mark.parametrize("is_crow", [True, False])
def test_indices_are_checked_by_themselves(is_crow):
    flat = "col_indices" if is_crow else "row_indices"

    def check(offsets, plain, lines=2, length=3):
        tl._validate_compressed_sparse_indices(
            is_crow, tl.tensor(offsets), tl.tensor(plain, dtype=tl.int64), lines, length, len(plain)
        )

    check([0, 2, 3], [0, 2, 1])
    check([0, 0], [], 1, 1)
    for offsets, plain in (
        ([1, 2, 3], [0, 2, 1]),
        ([0, 2, 2], [0, 2, 1]),
        ([0, 3, 2], [0, 2]),
        ([0, 3], [0, 1, 2]),
    ):
        with pytest.raises(RuntimeError):
            check(offsets, plain)
    for plain in ([0, 3, 1], [2, 0, 1], [1, 1, 1]):
        with pytest.raises(RuntimeError, match=flat):
            check([0, 2, 3], plain)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_with_dense_tensors_in_either_order(layout):
    x, y = make(layout), tl.arange(24.0, dtype=tl.float64).reshape(4, 6).t()
    assert tl.equal(tl.add(x, y, alpha=3), DENSE + 3 * y)
    assert tl.equal(tl.add(y, x, alpha=3), y + 3 * DENSE)
    with pytest.raises(RuntimeError, match="Expected input tensors to have the same shape"):
        x + make(layout, tl.ones(2, 2, dtype=tl.float64))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangular_systems(layout, upper, transpose, unit):
    a = holed(4, 4, seed=5) + tl.eye(4) * 9
    b = holed(4, 3, seed=6, density=1)
    solution, coefficient = tl.triangular_solve(b, make(layout, a), upper, transpose, unit)
    triangle = numpy.triu(a.numpy()) if upper else numpy.tril(a.numpy())
    if unit:
        numpy.fill_diagonal(triangle, 1)
    want = numpy.linalg.solve(triangle.T if transpose else triangle, b.numpy())
    numpy.testing.assert_allclose(solution.numpy(), want, rtol=1e-12)
    assert coefficient.numel() == 0
    assert tl.triangular_solve(b, make(layout, a * 0)).solution.isnan().all()


def test_one_matrix_samples_a_batch():
    mask = tl.tensor([[1.0, 0], [2, 3]]).to_sparse_csr()
    a, b = tl.arange(12.0).reshape(2, 2, 3), tl.arange(12.0).reshape(2, 3, 2)
    result = tl.sparse.sampled_addmm(mask, a, b, beta=2.0, alpha=0.5)
    want = (mask.to_dense() != 0) * 0.5 * (a @ b) + 2 * mask.to_dense()
    assert result.shape == (2, 2, 2) and tl.equal(result.to_dense(), want)
    with pytest.raises(RuntimeError, match="Expected mat1 and mat2 to have the same batch size"):
        tl.sparse.sampled_addmm(mask, a, b[0])
