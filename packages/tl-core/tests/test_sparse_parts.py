"""The parts of sparse tensors and the rules on them, with the dense matrix as reference."""

import pytest

import tl_core as tl
from tl_core.sparse_layouts import conversion, invariants, parts
from tl_core.sparse_layouts.rules import binary, creation, products, reductions, structure, unary
from tl_core.testing import assert_close

ROWS = [[0.0, 2.0, 0.0, 0.0], [3.0, 0.0, 0.0, -1.5], [0.0, 0.0, 0.0, 0.0], [0.25, 0.0, 4.0, 0.0]]


def coo():
    return tl.tensor(ROWS).to_sparse()


def csr():
    return tl.tensor(ROWS).to_sparse_csr()


def blocks():
    return tl.tensor(ROWS).to_sparse_bsr((2, 2))


def test_indices():
    offsets, columns = parts.indices_of(csr())
    assert offsets.tolist() == [0, 1, 3, 3, 5] and columns.tolist() == [1, 0, 3, 0, 2]
    assert parts.lines_of(offsets.view(1, -1), 5).tolist() == [[0, 1, 1, 3, 3]]
    number, row, column = parts.coordinates_of(tl.tensor(ROWS).to_sparse_csc())
    assert number.tolist() == [0] * 5
    assert row.tolist() == [1, 3, 0, 3, 1] and column.tolist() == [0, 0, 1, 2, 3]
    assert parts.keys_of(coo().indices(), (4, 4)).tolist() == [1, 4, 7, 12, 14]
    with pytest.raises(RuntimeError, match="rise from 0"):
        parts.lines_of(tl.tensor([[0, 2, 1]]), 1)
    with pytest.raises(RuntimeError, match="too many coordinates"):
        parts.keys_of(tl.zeros(2, 1, dtype=tl.int64), (1 << 40, 1 << 40))


def test_sizes():
    batch = tl.tensor([ROWS, ROWS]).to_sparse_csr()
    assert [parts.batch_dims(x) for x in (batch, csr(), coo())] == [1, 0, 0]
    assert [parts.blocksize_of(x) for x in (blocks(), csr())] == [(2, 2), (1, 1)]
    assert parts.sparse_sizes(tl.ones(2, 3, 4).to_sparse(2)) == (2, 3)
    assert [parts.layout_name(x) for x in (csr(), blocks())] == ["SparseCsr", "SparseBsr"]
    assert parts.broadcast_shape((3, 1), (2, 1, 4)) == (2, 3, 4)
    with pytest.raises(RuntimeError, match="do not broadcast"):
        parts.broadcast_shape((3,), (2,))


def test_index_ranges():
    parts.check_within(tl.tensor([0, 3]), 4, "row")
    parts.check_within(tl.empty(0, dtype=tl.int64), 0, "row")
    for index in ([0, 4], [-1, 2]):
        with pytest.raises(RuntimeError, match=r"row indices must be in \[0, 4\)"):
            parts.check_within(tl.tensor(index), 4, "row")
    invariants.check_not_negative(tl.tensor([[0, 1]]))
    with pytest.raises(RuntimeError, match="negative index -2 for dim 1"):
        invariants.check_not_negative(tl.tensor([[0, 1], [-2, 0]]))


def test_order():
    assert invariants.in_order(tl.tensor([[0, 0, 1], [1, 2, 0]]))
    assert not invariants.in_order(tl.tensor([[0, 0, 1], [2, 1, 0]]))
    assert not invariants.in_order(tl.tensor([[0, 0], [1, 1]]))


def test_invariants_of_coordinates():
    indices, values = tl.tensor([[0, 2], [1, 0]]), tl.ones(2)
    invariants.check_coo(indices, values, (3, 2), True)
    with pytest.raises(RuntimeError, match="for dim 0, size is 2 but found index 2"):
        invariants.check_coo(indices, values, (2, 2))
    with pytest.raises(RuntimeError, match="is not satisfied"):
        invariants.check_coo(indices, values, (3, 2, 1))
    with pytest.raises(RuntimeError, match="uncoalesced"):
        invariants.check_coo(indices.flip(1), values, (3, 2), True)
    with pytest.raises(RuntimeError, match="integer tensor"):
        invariants.check_coo(indices.double(), values, (3, 2))


def test_invariants_of_compressed_indices():
    offsets, columns, values = tl.tensor([0, 1, 2]), tl.tensor([1, 0]), tl.ones(2)
    invariants.check_compressed(offsets, columns, values, (2, 2), tl.sparse_csr)
    for wrong in (
        (tl.tensor([0, 2, 1]), columns, values),
        (offsets, tl.tensor([1, 2]), values),
        (offsets, columns, tl.ones(3)),
    ):
        with pytest.raises(RuntimeError):
            invariants.check_compressed(*wrong, (2, 2), tl.sparse_csr)


@pytest.mark.parametrize("sparse", [csr, blocks], ids=["csr", "bsr"])
def test_conversions(sparse):
    coordinates = conversion.compressed_to_coo(sparse())
    assert coordinates.layout is tl.sparse_coo and coordinates.to_dense().tolist() == ROWS
    assert conversion.compressed_to_dense(sparse()).tolist() == ROWS


def test_elements_at_a_mask():
    dense = tl.arange(16.0).view(4, 4)
    assert conversion.dense_at(dense, csr()).tolist() == [1, 4, 7, 12, 14]
    other = tl.tensor([[0, 5.0, 6.0, 0], [0, 0, 0, 7.0], [8.0, 0, 0, 0], [0, 0, 0, 0]])
    for source in (other.to_sparse(), other.to_sparse_csr()):
        assert conversion.sparse_at(source, csr()).tolist() == [5, 0, 7, 0, 0]
        assert creation.values_at(source, coo()).tolist() == [5, 0, 7, 0, 0]
    assert conversion.values_at_keys(coo(), tl.tensor([0, 7, 1, 15])).tolist() == [0, -1.5, 2, 0]
    assert creation.values_at(dense, csr()).tolist() == [1, 4, 7, 12, 14]
    masked = creation.sparse_like(dense, csr(), True)
    assert masked.layout is tl.sparse_csr and masked.values().tolist() == [1, 4, 7, 12, 14]
    full = creation.sparse_like(dense, csr(), False)
    assert full.layout is tl.sparse_csr and full.to_dense().tolist() == dense.tolist()


def test_values():
    doubled = parts.with_values(csr(), csr().values() * 2)
    assert doubled.to_dense().tolist() == [[2 * x for x in row] for row in ROWS]
    x = tl.sparse_coo_tensor([[1, 1, 0]], [1.0, 2.0, 4.0], (2,))
    same, values = structure.values_of(x)
    assert same is x and values.tolist() == [1, 2, 4]
    assert structure.values_of(x.coalesce())[1].tolist() == [4, 3]


def test_broadcast():
    row = tl.tensor([[0.0, 2.0, 0.0]]).to_sparse()
    assert structure.sparse_broadcast_to(row, (2, 2, 3)).to_dense().tolist() == [[[0, 2, 0]] * 2] * 2
    with pytest.raises(RuntimeError, match="does not broadcast"):
        structure.sparse_broadcast_to(row, (2, 4))


@pytest.mark.parametrize("layout", [tl.sparse_coo, tl.sparse_csr, tl.sparse_csc])
def test_empty_tensors(layout):
    x = creation.empty_of((2, 3), tl.float64, layout, None)
    assert (x.layout, x.shape, x.dtype, x._nnz()) == (layout, (2, 3), tl.float64, 0)
    with pytest.raises(RuntimeError, match="negative dimension -1"):
        creation.empty_of((-1, 3), None, layout, None)


@pytest.mark.parametrize("sparse", [coo, csr, blocks], ids=["coo", "csr", "bsr"])
def test_products(sparse):
    a, b = tl.tensor(ROWS), tl.arange(8.0).view(4, 2)
    assert products.sparse_mm(sparse(), b).tolist() == [[4, 6], [-9, -7.5], [0, 0], [16, 20.25]]
    square = products.sparse_sparse_mm(sparse(), sparse())
    assert_close(square.to_dense(), a @ a)


@pytest.mark.parametrize("layout", [tl.sparse_coo, tl.sparse_csr, tl.sparse_csc])
def test_compressed_rows(layout):
    offsets, columns, values = products.rows_of(tl.tensor(ROWS).to_sparse(layout=layout))
    assert offsets.tolist() == [0, 1, 3, 3, 5] and columns.tolist() == [1, 0, 3, 0, 2]
    assert values.tolist() == [2, 3, -1.5, 0.25, 4]


def test_truth():
    full = tl.ones(2, 2).to_sparse()
    assert [bool(reductions.all_of(x)) for x in (full, coo())] == [True, False]
    assert [bool(reductions.any_of(x)) for x in (coo(), tl.zeros(2, 2).to_sparse())] == [True, False]


def test_sums():
    for x in (coo(), csr()):
        assert reductions.sum_along(x, [0]).to_dense().tolist() == [3.25, 2, 4, -1.5]
        assert reductions.sum_along(x, [1]).to_dense().tolist() == [2, 1.5, 0, 4.25]
        assert reductions.sum_along(x, None).item() == 7.75
    rest = reductions.sum_dims(coo(), [0], True, tl.float64)
    assert rest.to_dense().tolist() == [[3.25, 2, 4, -1.5]] and rest.dtype is tl.float64


def test_softmax_of_stored_elements():
    x = tl.tensor([[0.0, 1.0, 1.0], [2.0, 0.0, 0.0]]).to_sparse()
    assert reductions.softmax_along(x, 1, None, False).to_dense().tolist() == [[0, 0.5, 0.5], [1, 0, 0]]
    assert reductions.private_softmax(x, 1, False).to_dense().tolist() == [[0, 0.5, 0.5], [1, 0, 0]]
    logarithms = reductions.private_log_softmax(x, 1, False)
    assert_close(logarithms.values(), tl.tensor([0.5, 0.5, 1.0]).log())
    with pytest.raises(RuntimeError, match="floating-point"):
        reductions.softmax_along(x.long(), 1, None, False)


def test_elementwise():
    x = tl.tensor([[0.0, 7.0], [-7.0, 0.0]]).to_sparse()
    assert binary.div_mode(x, 2.0, "floor").to_dense().tolist() == [[0, 3], [-4, 0]]
    assert binary.div_mode(x, 2.0, "trunc").to_dense().tolist() == [[0, 3], [-3, 0]]
    assert_close(unary.round_decimals((x / 9), 1).values(), tl.tensor([0.8, -0.8]))
    assert unary.unmarked(x) is x


def test_writes_reach_shared_values():
    dense = tl.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, 4.0]])
    for convert in (tl.Tensor.to_sparse_csr, tl.Tensor.to_sparse_csc, lambda x: x.to_sparse_bsr((1, 1))):
        x = convert(dense)
        turned, values = x.t(), x.values()
        turned.mul_(2)
        assert (
            x.to_dense().tolist() == (dense * 2).tolist()
            and turned.to_dense().tolist() == (dense.t() * 2).tolist()
        )
        x.neg_()
        assert values.sum().item() == -20 and turned.to_dense().sum().item() == -20
        x.values().add_(1)
        assert turned.to_dense().sum().item() == -16
    x = dense.to_sparse()
    x.mul_(3)
    turned = x.t()
    turned.mul_(2)
    x.transpose(0, 1)._values().zero_()
    assert x._values().tolist() == [3, 6, 9, 12] and turned._values().tolist() == [6, 12, 18, 24]
    x.t_()
    assert x.to_dense().tolist() == (dense.t() * 3).tolist()
    x.add_(tl.eye(3, 2).to_sparse())
    assert x.to_dense().tolist() == (dense.t() * 3 + tl.eye(3, 2)).tolist()
