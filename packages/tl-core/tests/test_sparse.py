"""Tensors of the layout sparse_coo: their parts, what operators make of them, and what is refused."""

import copy
import pickle

import pytest

import tl_core as tl

numpy = pytest.importorskip("numpy")

INDICES = [[0, 1, 1, 0], [2, 0, 0, 2]]
VALUES = [3.0, 4.0, 5.0, -1.0]
DENSE = [[0.0, 0.0, 2.0], [9.0, 0.0, 0.0]]


def some(dtype=tl.float32):
    return tl.sparse_coo_tensor(INDICES, VALUES, (2, 3), dtype=dtype)


def scattered(shape, indices, values):
    """The same in numpy."""
    out = numpy.zeros(shape, dtype=numpy.asarray(values).dtype)
    numpy.add.at(out, tuple(numpy.asarray(indices)), numpy.asarray(values))
    return out


def lines(*texts):
    return "\n       ".join(texts)


def test_its_parts():
    s = some()
    assert s.layout is tl.sparse_coo and s.is_sparse and not tl.zeros(2).is_sparse
    assert s.shape == (2, 3) and s.dtype == tl.float32 and s.device == tl.device("cpu")
    assert (s.dim(), s.numel(), s.size(1), s.sparse_dim(), s.dense_dim(), s._nnz()) == (2, 6, 3, 2, 0, 4)
    assert s._indices().tolist() == INDICES and s._values().tolist() == VALUES
    assert not s.is_coalesced()
    assert (tl.zeros(2, 3).sparse_dim(), tl.zeros(2, 3).dense_dim()) == (0, 2)


def test_dense_dimensions():
    s = tl.sparse_coo_tensor([[1, 1]], tl.arange(6.0).reshape(2, 3), (4, 3))
    assert (s.sparse_dim(), s.dense_dim()) == (1, 1)
    assert s.to_dense().tolist() == [[0, 0, 0], [3, 5, 7], [0, 0, 0], [0, 0, 0]]


def test_coalescing_orders_the_indices_and_adds():
    c = some().coalesce()
    assert c.is_coalesced() and c.coalesce() is c
    assert c.indices().tolist() == [[0, 1], [2, 0]] and c.values().tolist() == [2.0, 9.0]


@pytest.mark.parametrize("seed", range(4))
def test_a_coalesced_tensor_is_the_sum_of_the_elements(seed):
    rng = numpy.random.default_rng(seed)
    shape, n = (3, 4, 2), 40
    indices, values = numpy.stack([rng.integers(0, m, n) for m in shape]), rng.standard_normal((n, 2))
    s = tl.sparse_coo_tensor(tl.tensor(indices), tl.tensor(values), (*shape, 2))
    expected = scattered((*shape, 2), indices, values)
    numpy.testing.assert_allclose(s.to_dense().numpy(), expected, atol=1e-12)
    numpy.testing.assert_allclose(s.coalesce().to_dense().numpy(), expected, atol=1e-12)
    columns = s.coalesce().indices().t().tolist()
    assert columns == sorted(columns) and len({tuple(c) for c in columns}) == len(columns)


def test_bool_is_true_where_any_element_is():
    s = tl.sparse_coo_tensor([[0, 0, 1]], [True, True, False], (3,))
    assert s.to_dense().tolist() == [True, False, False]
    assert s.coalesce().values().tolist() == [True, False]


def test_without_elements_or_dimensions():
    empty = tl.sparse_coo_tensor((2, 3))
    assert empty._nnz() == 0 and empty.is_coalesced() and empty.to_dense().tolist() == [[0.0] * 3] * 2
    assert tl.sparse_coo_tensor(size=(2,), dtype=tl.int64).dtype is tl.int64
    assert tl.sparse_coo_tensor(tl.zeros(2, 0), tl.zeros(0)).shape == (0, 0)
    number = tl.tensor(3.0).to_sparse()
    assert number.shape == () and number._nnz() == 1 and number.to_dense().item() == 3.0


def test_the_smallest_shape_holds_all_indices():
    assert tl.sparse_coo_tensor([[0, 4], [1, 2]], [1, 2]).shape == (5, 3)


def test_from_dense():
    dense = tl.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [2.0, 0.0, 3.0]])
    s = dense.to_sparse()
    assert s.indices().tolist() == [[0, 2, 2], [2, 0, 2]] and s.values().tolist() == [1.0, 2.0, 3.0]
    rows = dense.to_sparse(1)
    assert rows.indices().tolist() == [[0, 2]] and rows.values().tolist() == [
        [0.0, 0.0, 1.0],
        [2.0, 0.0, 3.0],
    ]
    assert tl.equal(s.to_dense(), dense) and tl.equal(rows.to_dense(), dense)
    assert s.to_sparse() is s and dense.to_dense() is dense
    with pytest.raises(RuntimeError, match="range, but 3 is given"):
        dense.to_sparse(3)
    with pytest.raises(RuntimeError, match="sparse_dim argument"):
        s.to_sparse(1)


def test_a_dense_tensor_has_no_parts():
    for name in ("indices", "values", "_nnz", "is_coalesced", "coalesce", "crow_indices", "row_indices"):
        with pytest.raises(RuntimeError, match=f"{name} expected sparse .*tensor layout but got Strided"):
            getattr(tl.zeros(2), name)()


def test_parts_are_for_coalesced_tensors():
    for name in ("indices", "values"):
        with pytest.raises(
            RuntimeError, match=f"Cannot get {name} on an uncoalesced tensor, please call .coalesce"
        ):
            getattr(some(), name)()


@pytest.mark.parametrize(
    ("indices", "values", "size", "message"),
    [
        ([0, 1], [1.0, 2.0], (2,), "indices must be sparse_dim x nnz, but got"),
        ([[0, 1]], [1.0], (2,), "same nnz, but got nnz from indices: 2, nnz from values: 1"),
        ([[0, 1]], [1.0, 2.0], (2, 3), r"len\(size\) = 2, sparse_dim = 1, dense_dim = 0"),
        ([[0]], [[1.0, 2.0]], (2, 3), "values has incorrect size"),
        ([[-1]], [1.0], None, "found negative index -1 for dim 0"),
        ([[0]], [1.0], (-1,), "negative dimension"),
    ],
)
def test_parts_that_do_not_fit(indices, values, size, message):
    with pytest.raises(RuntimeError, match=message):
        tl.sparse_coo_tensor(indices, values, size)


def test_indices_are_looked_at_on_demand():
    outside = ([[0, 5]], [1.0, 2.0], (3,))
    with pytest.raises(RuntimeError, match="for dim 0, size is 3 but found index 5"):
        tl.sparse_coo_tensor(*outside, check_invariants=True)
    with pytest.raises(RuntimeError, match="correspond to uncoalesced COO tensor"):
        tl.sparse_coo_tensor([[1, 0]], [1.0, 2.0], (3,), check_invariants=True, is_coalesced=True)
    with tl.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError, match="found index 5"):
        tl.sparse_coo_tensor(*outside)
    unseen = tl.sparse_coo_tensor(*outside)
    with pytest.raises((RuntimeError, IndexError)):
        unseen.to_dense()
    with pytest.raises((RuntimeError, IndexError)):
        tl.zeros(3).add_(unseen)


def test_printing():
    assert repr(some()) == lines(
        "tensor(indices=tensor([[0, 1, 1, 0],", "                [2, 0, 0, 2]]),",
        "values=tensor([ 3.,  4.,  5., -1.]),", "size=(2, 3), nnz=4, layout=torch.sparse_coo)",
    )  # fmt: skip
    assert repr(tl.sparse_coo_tensor((2, 3), dtype=tl.int32)) == lines(
        "tensor(indices=tensor([], size=(2, 0)),", "values=tensor([], size=(0,)),",
        "size=(2, 3), nnz=0, dtype=torch.int32, layout=torch.sparse_coo)",
    )  # fmt: skip


def test_sums_of_sparse_tensors():
    a, b = some(), tl.sparse_coo_tensor([[1, 0], [1, 2]], [10.0, 20.0], (2, 3))
    expected = numpy.array(DENSE) + scattered((2, 3), [[1, 0], [1, 2]], [10.0, 20.0])
    assert (a + b).to_dense().tolist() == expected.tolist() and (a + b).is_sparse
    assert (a - b).to_dense().tolist() == (2 * numpy.array(DENSE) - expected).tolist()
    assert tl.add(a.coalesce(), b.coalesce(), alpha=2).is_coalesced()
    assert a.add_(b) is a and a.to_dense().tolist() == expected.tolist() and a._version == 1
    assert (some() + some(tl.float64)).dtype is tl.float64
    with pytest.raises(RuntimeError, match=r"to match, but \[2, 3\] != \[2, 4\]"):
        a + tl.sparse_coo_tensor((2, 4))


def test_sums_of_dense_and_sparse():
    for s in (some(), some().coalesce()):
        assert (tl.ones(2, 3) + s).tolist() == (1 + numpy.array(DENSE)).tolist()
        assert tl.ones(2, 3).sub(s, alpha=3).tolist() == (1 - 3 * numpy.array(DENSE)).tolist()
    turned = tl.ones(3, 2).t()
    assert turned.add_(some(), alpha=2).tolist() == (1 + 2 * numpy.array(DENSE)).tolist()
    assert turned._version > 0
    for add in (lambda: some() + tl.ones(2, 3), lambda: some() + 1, lambda: some().add_(tl.ones(2, 3))):
        with pytest.raises(RuntimeError, match=r"Use add\(dense, sparse\) instead"):
            add()
    with pytest.raises(RuntimeError, match="does not currently support broadcasting"):
        tl.ones(3) + some()
    with pytest.raises(RuntimeError, match="can't be cast"):
        tl.ones(2, 3, dtype=tl.int64).add_(some())


def test_products_with_numbers():
    twice = (2 * numpy.array(DENSE)).tolist()
    for result in (
        some() * 2,
        2 * some(),
        some() * tl.tensor(2.0),
        some() / 0.5,
        some().mul_(2),
        some().div_(0.5),
    ):
        assert result.is_sparse and result.to_dense().tolist() == twice
    assert (-some()).to_dense().tolist() == (-numpy.array(DENSE)).tolist()
    assert (some(tl.int64) * 1.5).dtype is tl.float32
    with pytest.raises(RuntimeError, match="can't be cast"):
        some(tl.int64).mul_(1.5)
    with pytest.raises(RuntimeError, match="sparse dividend"):
        1 / some()


def test_products_of_matrices():
    s, dense = some(tl.float64), tl.arange(6.0, dtype=tl.float64).reshape(3, 2)
    expected = (numpy.array(DENSE) @ dense.numpy()).tolist()
    assert tl.mm(s, dense).tolist() == (s @ dense).tolist() == tl.sparse.mm(s, dense).tolist() == expected
    assert (dense.t() @ s.t()).tolist() == numpy.array(expected).T.tolist()
    assert (s @ dense[:, 1]).tolist() == [row[1] for row in expected]
    assert s.t().shape == (3, 2) and s.t().to_dense().tolist() == numpy.array(DENSE).T.tolist()
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        tl.mm(s, s.to_dense())


def test_sums_along_dimensions():
    s = tl.sparse_coo_tensor([[0, 1], [2, 0]], tl.arange(8.0).reshape(2, 4), (2, 3, 4))
    dense = s.to_dense().numpy()
    assert s.sum().item() == tl.sparse.sum(s).item() == dense.sum()
    for dim in (0, 1, -1, [0, 1], [0, 2], [1, 2]):
        result = tl.sparse.sum(s, dim)
        assert result.to_dense().tolist() == dense.sum(tuple(dim) if isinstance(dim, list) else dim).tolist()
    assert not tl.sparse.sum(s, [0, 1]).is_sparse and tl.sparse.sum(s, 0).is_sparse
    assert tl.sparse.sum(s, 0, dtype=tl.float64).dtype is tl.float64


def test_norm():
    numpy.testing.assert_allclose(some().norm().item(), numpy.linalg.norm(DENSE), rtol=1e-6)
    assert some().norm(1).item() == 11.0


def test_masks():
    dense = tl.arange(6.0).reshape(2, 3)
    masked = dense.sparse_mask(some().coalesce())
    assert masked.indices().tolist() == [[0, 1], [2, 0]] and masked.values().tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError, match="incompatible sizes"):
        tl.ones(3, 2).sparse_mask(some())


@pytest.mark.filterwarnings("ignore:To copy construct")
def test_conversions_and_copies():
    s = some()
    assert s.to(tl.float64).dtype is s.double().dtype is tl.float64 and s.to(tl.float32) is s
    assert s.long().dtype is tl.int64
    for result in (s.clone(), copy.deepcopy(s), pickle.loads(pickle.dumps(s)), tl.tensor(s)):
        assert result.is_sparse and result._values().data_ptr() != s._values().data_ptr()
        assert repr(result) == repr(s)
    assert s.detach()._values().data_ptr() == s._values().data_ptr()
    assert pickle.loads(pickle.dumps(s.coalesce())).is_coalesced()
    assert tl.zeros(2, 3).to_sparse().copy_(s).to_dense().tolist() == DENSE
    with pytest.raises(RuntimeError, match="between dense and sparse Tensors is not implemented"):
        tl.zeros(2, 3).copy_(s)


def test_a_damaged_pickle_is_noticed():
    rebuild, (layout, (indices, values, size, coalesced)) = some().__reduce_ex__(2)
    with pytest.raises(RuntimeError, match="found index"):
        rebuild(layout, (indices + 100, values, size, coalesced))


def test_zeros():
    s = some()
    other = s.detach()
    assert s.zero_() is s and s._nnz() == 0 and s.is_coalesced() and other._nnz() == 4
    assert tl.zeros_like(some())._nnz() == 0 and tl.zeros_like(some()).is_sparse
    assert not tl.zeros_like(some(), layout=tl.strided).is_sparse


def test_there_is_no_memory_to_look_at():
    s = some()
    assert s.stride() == (0, 0) and s.storage_offset() == 0 and not s.is_contiguous()
    with pytest.raises(NotImplementedError, match="Cannot access storage of SparseTensorImpl"):
        s.untyped_storage()
    with pytest.raises(NotImplementedError, match="Cannot access storage"):
        tl.zeros(2).set_(s)
    with pytest.raises(
        TypeError, match=r"can't convert Sparse layout tensor to numpy. Use Tensor.to_dense\(\)"
    ):
        s.numpy()
    with pytest.raises(BufferError, match=r"layout other than torch\.strided"):
        s.__dlpack__()
    for read in (s.data_ptr, s.tolist, lambda: s.nbytes):
        with pytest.raises(RuntimeError, match=r"data pointer|nbytes is not defined"):
            read()
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        tl.zeros(2, 3).data = s
    with pytest.raises(NotImplementedError):
        tl.tensor([s, s])


@pytest.mark.parametrize(
    "call",
    [tl.exp, tl.cos, tl.sort, lambda s: s.view(6), lambda s: s.fill_(1), tl.cumsum,
     lambda s: tl.where(tl.ones(2, 3) > 0, s, s), lambda s: s.resize_(3), lambda s: s > 0],
)  # fmt: skip
def test_other_operators_refuse(call):
    with pytest.raises((NotImplementedError, TypeError), match=r"[Ss]parse|cumsum"):
        call(some())


def test_data_is_another_tensor_of_the_same_parts():
    s = some()
    assert s.data.is_sparse and s.data._values().data_ptr() == s._values().data_ptr()
    s.data = some() * 2
    assert s.to_dense().tolist() == (2 * numpy.array(DENSE)).tolist()


@pytest.mark.parametrize(("gradient", "rows"), [(tl.tensor(1.0), 3), (tl.ones(2, 4), 3), (tl.ones(1, 4), -1)])
def test_gradients_that_are_none_of_a_lookup(gradient, rows):
    with pytest.raises((RuntimeError, TypeError), match="_embedding_sparse_backward"):
        tl._C._call_operator(("_embedding_sparse_backward",), gradient, tl.tensor([1]), rows, -1, False)


@pytest.mark.parametrize("layout", [tl.jagged, tl._C._mkldnn])
def test_a_layout_that_operators_do_not_make(layout):
    with pytest.raises(NotImplementedError, match="isn't made by this operator"):
        tl.zeros(2, 3, layout=layout)
    with pytest.raises(RuntimeError, match="layout of out"):
        tl.zeros(2, out=tl.ones(2), layout=layout)
    with pytest.raises(RuntimeError, match="no tensor is converted to the layout"):
        tl.ones(2, 3).to_sparse(layout=layout)


@pytest.mark.parametrize(
    "dtypes", [("int8", "uint8"), ("uint8", "int8"), ("int64", "uint8"), ("float32", "uint16")]
)
@pytest.mark.parametrize("alpha", [1, -1, 3])
@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
def test_unsigned_numbers_are_subtracted_in_the_common_type(dtypes, alpha, layout):
    a, b = numpy.array([[0, 7, 3]], dtypes[0]), numpy.array([[2, 0, 1]], dtypes[1])
    x, y = tl.from_numpy(a), tl.from_numpy(b)
    expected = a.astype("int64") - alpha * b.astype("int64")
    difference = tl.sub(getattr(x, layout)(), getattr(y, layout)(), alpha=alpha)
    assert difference.dtype == tl.result_type(x, y)
    assert difference.to_dense().tolist() == expected.tolist()
    if layout == "to_sparse":
        assert tl.sub(x, y.to_sparse(), alpha=alpha).tolist() == expected.tolist()


def test_masks_are_not_subtracted():
    mask, numbers = tl.tensor([True, False]).to_sparse(), tl.tensor([1, 2]).to_sparse()
    for pair in ((mask, numbers), (numbers, mask), (mask, mask)):
        with pytest.raises(RuntimeError, match="bool tensor"):
            tl.sub(*pair)


@pytest.mark.parametrize("dtypes", [("uint8", "int64"), ("float32", "float64"), ("float64", "complex64")])
def test_sparse_numbers_have_the_type_of_numbers(dtypes):
    """Two tensors without dimensions widen each other, though the values of the sparse one are a vector."""
    x, factor = (tl.tensor(3, dtype=getattr(tl, name)) for name in dtypes)
    dtype = numpy.result_type(*(numpy.zeros(1, name) for name in dtypes)).name
    for product in (x.to_sparse() * factor, factor * x.to_sparse(), x.to_sparse() * factor.to_sparse()):
        assert str(product.dtype) == f"torch.{dtype}" and product.to_dense().item() == 9
    quotient = tl.floor_divide(x.to_sparse(), factor) if dtype == "int64" else x.to_sparse() / factor
    assert str(quotient.dtype) == f"torch.{dtype}" and quotient.to_dense().item() == 1
    row = x.reshape(1).to_sparse() * factor
    assert row.dtype == (x.reshape(1) * factor).dtype
