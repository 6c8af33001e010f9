"""Gradients of sparse tensors, and sparse gradients of dense ones."""

import pytest

import tl_autograd
import tl_core as tl

INDICES = [[0, 1, 1], [2, 0, 0]]


def rows(table, index, padding=-1, sparse=True):
    return tl.embedding(table, tl.tensor(index), padding, False, sparse)


def weights(shape):
    return tl.arange(1.0, 1.0 + tl.zeros(shape).numel()).reshape(shape)


def table():
    return tl.ones(5, 3).requires_grad_()


def test_an_embedding_has_the_rows_of_the_dense_gradient():
    index = [[1, 2], [1, 4]]
    sparse, dense = table(), table()
    (rows(sparse, index) * weights((2, 2, 3))).sum().backward()
    (rows(dense, index, sparse=False) * weights((2, 2, 3))).sum().backward()
    grad = sparse.grad
    assert grad.is_sparse and (grad.sparse_dim(), grad.dense_dim()) == (1, 1) and not grad.is_coalesced()
    assert grad._indices().tolist() == [[1, 2, 1, 4]] and grad._values().tolist() == weights((4, 3)).tolist()
    assert grad.to_dense().tolist() == dense.grad.tolist()


def test_padding_is_left_out():
    t = table()
    rows(t, [1, 2, 1], padding=1).sum().backward()
    assert t.grad._indices().tolist() == [[2]]
    rows(t, [1], padding=1).sum().backward()
    assert t.grad._nnz() == 1


def test_frequencies_are_refused():
    result = tl.embedding(table(), tl.tensor([1]), -1, True, True)
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse gradients"):
        result.sum().backward()


@pytest.mark.parametrize("order", ["ss", "sd", "ds", "dd"])
def test_gradients_add_up(order):
    t = table()
    for kind in order:
        rows(t, [1, 3], sparse=kind == "s").sum().backward()
    assert t.grad.is_sparse == (order == "ss")
    assert t.grad.to_dense().tolist() == [[0.0] * 3, [2.0] * 3, [0.0] * 3, [2.0] * 3, [0.0] * 3]


@pytest.mark.parametrize("first", [True, False])
def test_gradients_add_up_within_one_backward(first):
    t = table()
    (rows(t, [1, 3], sparse=first).sum() + rows(t, [1, 0], sparse=not first).sum()).backward()
    assert not t.grad.is_sparse and t.grad[:, 0].tolist() == [1.0, 2.0, 0.0, 1.0, 0.0]
    t.grad = None
    (rows(t, [1, 3]).sum() + rows(t, [4, 1]).sum()).backward()
    assert t.grad.is_sparse and t.grad.to_dense()[:, 0].tolist() == [0.0, 2.0, 0.0, 1.0, 1.0]


def test_what_is_added_in_place_stays_one_object():
    t = table()
    rows(t, [1]).sum().backward()
    grad = t.grad
    rows(t, [2]).sum().backward()
    assert t.grad is grad and grad.to_dense()[:, 0].tolist() == [0.0, 1.0, 1.0, 0.0, 0.0]


def test_a_gradient_is_nobody_elses():
    t = table()
    out = rows(t, [1])
    out.retain_grad()
    out.sum().backward()
    t.grad.mul_(7)
    assert out.grad.tolist() == [[1.0, 1.0, 1.0]] and t.grad._values().tolist() == [[7.0] * 3]


def test_values_that_repeat_in_memory_are_copied_for_the_leaf():
    class Rows(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1

        @staticmethod
        def backward(ctx, _):
            indices = tl.ones(1, 1, dtype=tl.int64).expand(1, 4)
            return tl.sparse_coo_tensor(indices, tl.ones(1, 3).expand(4, 3), (5, 3))

    x = tl.zeros(5, 3, requires_grad=True)
    Rows.apply(x).sum().backward()
    x.grad._values().mul_(2)
    assert x.grad._values().stride() == (3, 1)
    assert x.grad.to_dense().tolist() == [[0] * 3, [8] * 3, [0] * 3, [0] * 3, [0] * 3]


def test_hooks_and_assignment():
    t, records = table(), []
    t.register_hook(lambda grad: records.append(grad.is_sparse) or grad * 2)
    t.register_post_accumulate_grad_hook(lambda leaf: records.append(leaf.grad.is_sparse))
    rows(t, [1]).sum().backward()
    assert records == [True, True] and t.grad._values().tolist() == [[2.0] * 3]
    t.grad = tl.sparse_coo_tensor([[0]], tl.ones(1, 3), (5, 3))
    assert t.grad.is_sparse
    (grad,) = tl_autograd.grad(rows(t, [2]).sum(), t)
    assert grad.is_sparse and grad._indices().tolist() == [[2]]


def test_gradients_of_gradients():
    t = table()
    (grad,) = tl_autograd.grad((rows(t, [1, 2]) ** 3).sum(), t, create_graph=True)
    assert grad.is_sparse
    grad.to_dense().sum().backward()
    assert t.grad.to_dense()[:, 0].tolist() == [0.0, 6.0, 6.0, 0.0, 0.0]


def test_through_a_sparse_tensor():
    values = tl.tensor([3.0, 4.0, 5.0], requires_grad=True)
    s = tl.sparse_coo_tensor(INDICES, values, (2, 3))
    assert s.requires_grad and not s.is_leaf
    (s.to_dense() * tl.arange(6.0).reshape(2, 3)).sum().backward()
    assert values.grad.tolist() == [2.0, 3.0, 3.0]
    values.grad = None
    (
        tl.sparse_coo_tensor(INDICES, values, (2, 3)).coalesce().values() * tl.tensor([1.0, 10.0])
    ).sum().backward()
    assert values.grad.tolist() == [1.0, 10.0, 10.0]


def test_from_dense_and_masked():
    dense = tl.tensor([[0.0, 2.0], [3.0, 0.0]], requires_grad=True)
    (dense.to_sparse().to_dense() * tl.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert dense.grad.tolist() == [[0.0, 2.0], [3.0, 0.0]]
    dense.grad = None
    mask = tl.tensor([[1.0, 0.0], [1.0, 0.0]]).to_sparse()
    (dense.sparse_mask(mask) * 5).to_dense().sum().backward()
    assert dense.grad.tolist() == [[5.0, 0.0], [5.0, 0.0]]


def test_a_sparse_leaf():
    leaf = tl.sparse_coo_tensor(INDICES, [1.0, 2.0, 3.0], (2, 3), requires_grad=True)
    for times in (1.0, 2.0):
        leaf.to_dense().sum().backward()
        assert leaf.grad.is_sparse and leaf.grad.indices().tolist() == [[0, 1], [2, 0]]
        assert leaf.grad.values().tolist() == [times, times]
    leaf.grad = None
    tl.sparse.sum(leaf).backward()
    assert leaf.grad.to_dense().tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    leaf.grad = None
    leaf.sum().backward()
    assert leaf.grad.tolist() == [[1.0] * 3] * 2


def test_products_of_matrices():
    s = tl.sparse_coo_tensor(INDICES, [1.0, 2.0, 3.0], (2, 3), requires_grad=True)
    dense = tl.arange(6.0).reshape(3, 2).requires_grad_()
    (tl.sparse.mm(s, dense) * tl.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    g = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert dense.grad.tolist() == (s.detach().to_dense().t() @ g).tolist()
    assert s.grad.is_sparse
    expected = (g @ dense.detach().t()).sparse_mask(s.detach().coalesce()).to_dense()
    assert s.grad.to_dense().tolist() == expected.tolist()


def test_anomalies_are_found_in_what_is_stored():
    t = table()
    with pytest.warns(UserWarning, match="Anomaly"), tl_autograd.detect_anomaly():
        rows(t, [1]).sum().backward()
    with tl.numerics(nan="raise"), pytest.raises(RuntimeError, match="nan"):
        tl.sparse_coo_tensor([[0]], [1.0], (2,)) * float("inf") * 0.0
    assert t.grad._nnz() == 1


def test_an_error_names_the_operator_also_in_a_graph():
    leaf = tl.sparse_coo_tensor(INDICES, [1.0, 2.0, 3.0], (2, 3), requires_grad=True)
    with pytest.raises(
        NotImplementedError, match=r"Could not run 'aten::exp' with arguments from the 'SparseCPU' backend"
    ):
        leaf.exp()
