"""Operators of aten that graphs and files of other tools name: core ATen whole, numbers, second names.

core_operators.txt lists the operators that PyTorch 2.13 tags as core, a packet and its overloads a line.
"""

import pickle
from pathlib import Path

import pytest

import tl_core as tl
from tl_core.operators.packets import OpOverload, aten
from tl_core.schemas.tags import Tag
from tl_core.testing import assert_close

CORE = [
    (packet, overload)
    for line in (Path(__file__).parent / "core_operators.txt").read_text().splitlines()
    for packet, *overloads in [line.split()]
    for overload in overloads
]


def test_all_core_operators_are_there():
    assert len(CORE) == 193
    absent = [f"{p}.{o}" for p, o in CORE if not isinstance(getattr(getattr(aten, p), o), OpOverload)]
    assert not absent


@pytest.mark.parametrize(("packet", "overload"), CORE)
def test_a_core_operator_says_its_schema(packet, overload):
    op = getattr(getattr(aten, packet), overload)
    assert op._schema.arguments or packet in ("scalar_tensor",)
    assert str(op) == f"aten.{packet}.{overload}"
    assert pickle.loads(pickle.dumps(op)) is op


def test_operators_that_are_functions_have_tags():
    assert Tag.core in aten.add.Scalar.tags and Tag.core in aten._cdist_forward.default.tags
    assert Tag.core not in aten._trilinear.default.tags


SECOND = {
    "clip": "clamp", "subtract": "sub", "multiply": "mul", "divide": "div", "greater": "gt", "greater_equal": "ge",
    "less": "lt", "less_equal": "le", "not_equal": "ne", "concat": "cat", "concatenate": "cat", "absolute": "abs",
    "negative": "neg", "fix": "trunc", "ger": "outer", "moveaxis": "movedim", "row_stack": "vstack",
    "arcsin": "asin", "arctan2": "atan2", "clip_": "clamp_", "subtract_": "sub_", "swapaxes_": "transpose_",
}  # fmt: skip


@pytest.mark.parametrize("name", SECOND)
def test_a_second_name_has_the_overloads_of_the_first(name):
    packet, first = getattr(aten, name), getattr(aten, SECOND[name])
    assert packet.overloads() and set(packet.overloads()) <= set(first.overloads())
    overload = packet.overloads()[0]
    op = getattr(packet, overload)
    assert op.name() == f"aten::{name}" + ("" if overload == "default" else f".{overload}")
    assert op._schema.name == f"aten::{name}"
    assert str(op._schema).partition("(")[2] == str(getattr(first, overload)._schema).partition("(")[2]
    assert pickle.loads(pickle.dumps(op)) is op


def test_second_names_compute():
    x = tl.tensor([-2.0, 0.5, 3.0])
    assert aten.clip.default(x, -1, 1).tolist() == aten.clip(x, -1, 1).tolist() == [-1.0, 0.5, 1.0]
    assert aten.greater.Scalar(x, 0).tolist() == [False, True, True]
    assert aten.subtract.Scalar(x, 1, 2).tolist() == [-4.0, -1.5, 1.0]
    assert aten.concat.default([x, x]).shape == (6,)
    y = x.clone()
    assert aten.clip_.default(y, 0, 1) is y and y.tolist() == [0.0, 0.5, 1.0]
    with pytest.raises(AttributeError, match="no overload name 'nothing'"):
        aten.clip.nothing  # noqa: B018


X, NUMBERS, MASK = tl.tensor([1.0, 4.0]), tl.tensor([5, 6]), tl.tensor([True, False])
OF_NUMBERS = {
    "add.Scalar": ((X, 2, 3), [7.0, 10.0]),
    "sub.Scalar": ((X, 2), [-1.0, 2.0]),
    "rsub.Scalar": ((X, 2, 3), [-1.0, -10.0]),
    "mul.Scalar": ((X, 2), [2.0, 8.0]),
    "div.Scalar": ((X, 2), [0.5, 2.0]),
    "true_divide.Scalar": ((X, 2), [0.5, 2.0]),
    "floor_divide.Scalar": ((X, 3), [0.0, 1.0]),
    "pow.Tensor_Scalar": ((X, 2), [1.0, 16.0]),
    "pow.Scalar": ((2, X), [2.0, 16.0]),
    "copysign.Scalar": ((X, -1), [-1.0, -4.0]),
    "lerp.Scalar": ((X, X + 2, 0.5), [2.0, 5.0]),
    "clamp_max.Tensor": ((X, tl.tensor([3.0, 3.0])), [1.0, 3.0]),
    "clamp_min.Tensor": ((X, tl.tensor([3.0, 3.0])), [3.0, 4.0]),
    "where.Scalar": ((MASK, 1, 2), [1, 2]),
    "where.ScalarOther": ((MASK, X, 2), [1.0, 2.0]),
    "where.ScalarSelf": ((MASK, 9.0, X), [9.0, 4.0]),
    "bitwise_and.Scalar_Tensor": ((4, NUMBERS), [4, 4]),
    "bitwise_left_shift.Tensor_Scalar": ((NUMBERS, 1), [10, 12]),
    "xlogy.Scalar_Other": ((X, 1), [0.0, 0.0]),
    "special_legendre_polynomial_p.n_scalar": ((X, 1), [1.0, 4.0]),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_overloads_for_numbers(name):
    packet, overload = name.split(".")
    arguments, expected = OF_NUMBERS[name]
    op = getattr(getattr(aten, packet), overload)
    assert "Scalar" in str(op._schema) or packet.startswith("clamp")
    result = op(*arguments)
    assert result.tolist() == expected
    assert getattr(getattr(aten, packet), overload) is op


@pytest.mark.parametrize("name", ["add_", "sub_", "mul_", "div_", "copysign_", "floor_divide_"])
def test_overloads_for_numbers_in_place(name):
    x = tl.tensor([8.0])
    assert getattr(aten, name).Scalar(x, 2) is x
    assert (
        x.item() == {"add_": 10, "sub_": 6, "mul_": 16, "div_": 4, "copysign_": 8, "floor_divide_": 4}[name]
    )


def test_powers_in_place():
    x = tl.tensor([2.0])
    assert aten.pow_.Scalar(x, 3).item() == 8 and aten.pow_.Tensor(x, tl.tensor([2.0])).item() == 64
    assert aten.float_power_.Scalar(tl.tensor([2.0], dtype=tl.float64), 2).item() == 4


def test_a_conversion_names_its_layout():
    x = tl.ones(2)
    assert aten.to.dtype_layout(x, dtype=tl.float64, layout=tl.strided, pin_memory=False).dtype == tl.float64
    assert "Layout? layout=None" in str(aten.to.dtype_layout._schema)
    with pytest.raises(RuntimeError, match="different layout"):
        aten.to.dtype_layout(x, layout=tl.sparse_coo)


# ---- statistics
def norm_inputs():
    x = tl.tensor([[[1.0, 3.0], [0.0, 4.0]], [[5.0, 7.0], [2.0, 2.0]]])
    return x, tl.tensor([1.0, 2.0]), tl.tensor([0.5, 0.0]), tl.tensor([0.0, 1.0]), tl.tensor([1.0, 2.0])


def test_batch_norms_of_graphs():
    x, w, b, mean, var = norm_inputs()
    expected = aten.native_batch_norm(x, w, b, mean.clone(), var.clone(), True, 0.1, 1e-5)
    updated = mean.clone(), var.clone()
    result = aten._native_batch_norm_legit.default(x, w, b, *updated, True, 0.1, 1e-5)
    for a, e in zip(result, expected, strict=True):
        assert_close(a, e)
    pure = aten._native_batch_norm_legit_functional.default(x, w, b, mean, var, True, 0.1, 1e-5)
    with_update = aten._batch_norm_with_update_functional.default(x, w, b, mean, var, 0.1, 1e-5)
    for other in (pure, with_update):
        assert_close(other[0], expected[0])
        assert_close(other[-2:], updated)
    assert mean.tolist() == [0.0, 1.0]  # not written
    alone = aten._native_batch_norm_legit.no_stats(x, w, b, True, 0.1, 1e-5)
    assert_close(alone[0], expected[0])
    assert aten._batch_norm_with_update.default(x, w, b, mean.clone(), var.clone(), 0.1, 1e-5)[3].shape == (
        0,
    )


def test_batch_norms_of_running_statistics():
    x, w, b, mean, var = norm_inputs()
    expected = (x - mean[:, None]) * (var[:, None] + 1e-5).rsqrt() * w[:, None] + b[:, None]
    result = aten._native_batch_norm_legit_no_training.default(x, w, b, mean, var, 0.1, 1e-5)
    assert_close(result[0], expected)
    assert_close(aten._batch_norm_no_update.default(x, w, b, mean, var, 0.1, 1e-5)[0], expected)


# ---- distances, indices, segments
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_distances_and_their_gradients(p):
    x, y = tl.arange(6.0).reshape(2, 3), tl.tensor([[0.5, -1.0, 2.0], [3.0, 3.0, 1.0]])
    result = aten._cdist_forward.default(x, y, p, None)
    expected = (x[:, None] - y).abs().pow(p).sum(-1).pow(1 / p)
    assert_close(result, expected)
    rows = tl.cat([x, y])
    pairs = aten._pdist_forward.default(rows, p)
    assert_close(pairs, tl.pdist(rows, p))
    step = 1e-3
    moved = x.clone()
    moved[0, 1] += step
    quotient = (aten._cdist_forward.default(moved, y, p, 2).sum() - result.sum()) / step
    gradient = aten._cdist_backward.default(tl.ones(2, 2), x, y, p, result)
    assert_close(gradient[0, 1], quotient, rtol=1e-2, atol=1e-2)
    moved = rows.clone()
    moved[2, 0] += step
    quotient = (tl.pdist(moved, p).sum() - pairs.sum()) / step
    assert_close(
        aten._pdist_backward.default(tl.ones(6), rows, p, pairs)[2, 0], quotient, rtol=1e-2, atol=1e-2
    )


def test_masked_indices():
    x = tl.arange(6.0).reshape(2, 3)
    outside, mask = tl.tensor([0, 7]), tl.tensor([True, False])
    assert aten._unsafe_masked_index.default(x, mask[:, None], [outside], -1).tolist() == [
        [0.0, 1.0, 2.0],
        [-1.0] * 3,
    ]
    assert aten._unsafe_masked_index.default(x[:, :0], mask, [None, outside], 5).tolist() == [5.0, 5.0]
    for kind in (tl.int64, tl.float32):  # what isn't zero counts
        assert aten._unsafe_masked_index.default(x, mask.to(kind)[:, None], [outside], -1).equal(
            aten._unsafe_masked_index.default(x, mask[:, None], [outside], -1)
        )
    put = aten._unsafe_masked_index_put_accumulate.default(x, mask, [outside, tl.tensor([1, 1])], tl.ones(2))
    assert put.tolist() == [[0.0, 2.0, 2.0], [3.0, 4.0, 5.0]]


def test_chunks_of_several():
    result = aten._chunk_cat.default([tl.arange(3.0), tl.tensor([10.0, 11.0, 12.0, 13.0])], 0, 2)
    assert result.tolist() == [[0.0, 1.0, 10.0, 11.0], [2.0, 0.0, 12.0, 13.0]]
    with pytest.raises(RuntimeError, match="positive num_chunks, got 0"):
        aten._chunk_cat.default([tl.ones(2)], 0, 0)
    with pytest.raises(RuntimeError, match="non-empty"):
        aten._chunk_cat.default([], 0, 2)
    with pytest.raises(RuntimeError, match="same dtype"):
        aten._chunk_cat.default([tl.ones(2), tl.ones(2, dtype=tl.float64)], 0, 2)


DATA = tl.tensor([1.0, 2.0, 0.0, 4.0, 4.0])
REDUCED = {
    "sum": ([3.0, 0.0, 8.0], [1.0, 1.0, 1.0, 1.0, 1.0]),
    "mean": ([1.5, float("nan"), 8 / 3], [0.5, 0.5, 1 / 3, 1 / 3, 1 / 3]),
    "max": ([2.0, -float("inf"), 4.0], [0.0, 1.0, 0.0, 0.5, 0.5]),
    "min": ([1.0, float("inf"), 0.0], [1.0, 0.0, 1.0, 0.0, 0.0]),
    "prod": ([2.0, 1.0, 0.0], [2.0, 1.0, 16.0, 0.0, 0.0]),
}


@pytest.mark.parametrize("reduce", REDUCED)
@pytest.mark.parametrize("how", [{"lengths": tl.tensor([2, 0, 3])}, {"offsets": tl.tensor([0, 2, 2, 5])}])
def test_segments(reduce, how):
    expected, gradient = REDUCED[reduce]
    result = aten.segment_reduce.default(DATA, reduce, **how)
    assert_close(result, tl.tensor(expected), equal_nan=True)
    back = aten._segment_reduce_backward.default(tl.ones(3), result, DATA, reduce, **how)
    assert_close(back, tl.tensor(gradient))


def test_segments_of_rows_and_what_they_begin_with():
    rows = tl.stack([DATA, DATA + 1])
    lengths = tl.tensor([[2, 3], [4, 1]])
    result = aten.segment_reduce.default(rows, "max", lengths=lengths, axis=1)
    assert result.tolist() == [[2.0, 4.0], [5.0, 5.0]]
    assert aten.segment_reduce.default(DATA[:0], "sum", lengths=tl.tensor([0]), initial=3).tolist() == [3.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reduce": "sum"}, "Either lengths or offsets"),
        ({"reduce": "sum", "lengths": tl.tensor([2])}, "to sum to data.size"),
        ({"reduce": "sum", "lengths": tl.tensor([6, -1])}, "negative"),
        ({"reduce": "other", "lengths": tl.tensor([5])}, "got 'other'"),
        ({"reduce": "sum", "indices": tl.tensor([0])}, "indices"),
    ],
)
def test_segments_that_do_not_fit(arguments, message):
    with pytest.raises(RuntimeError, match=message):
        aten.segment_reduce.default(DATA, **arguments)


def test_solutions_with_their_factors():
    pytest.importorskip("numpy", reason="solving needs LAPACK, which NumPy brings")
    a = tl.tensor([[2.0, 1.0], [0.0, 4.0]])
    solved, lu, pivots, info = aten._linalg_solve_ex.default(a, tl.tensor([4.0, 8.0]))
    assert (
        solved.tolist() == [1.0, 2.0] and lu.shape == (2, 2) and pivots.tolist() == [1, 2] and not info.item()
    )


def test_lists_and_gradients():
    x = [tl.ones(2), tl.ones(3)]
    assert [t.sum().item() for t in aten._foreach_zero.default(x)] == [0, 0]
    copies = aten._foreach_copy.default(x, [tl.full((2,), 4.0), tl.full((3,), 5.0)])
    assert [t[0].item() for t in copies] == [4, 5] and x[0][0].item() == 1
    g, w = aten._prelu_kernel_backward.default(tl.ones(2), tl.tensor([-2.0, 3.0]), tl.tensor(0.5))
    assert g.tolist() == [0.5, 1.0] and w.tolist() == [-2.0, 0.0]
    assert aten.trace_backward.default(tl.tensor(2.0), [2, 3]).tolist() == [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0]]
    result = aten._trilinear.default(tl.ones(2, 3), tl.ones(3), tl.ones(2), [], [0], [1], [1])
    assert result.tolist() == [3.0, 3.0]
    assert aten.sym_is_contiguous.default(tl.ones(2, 3)) and not aten.sym_is_contiguous.default(
        tl.ones(2, 3).t()
    )


# ---- sparse tensors
ROWS = tl.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]])
COO, CSR = ROWS.to_sparse(), ROWS.to_sparse_csr()
SPARSE = {
    "_sparse_coo_tensor_unsafe": lambda op: (op(COO.indices(), COO.values(), [2, 3]), ROWS),
    "_sparse_coo_tensor_with_dims_and_tensors": lambda op: (
        op(2, 0, [2, 3], COO.indices(), COO.values(), dtype=tl.float64, layout=tl.sparse_coo), ROWS.double()
    ),
    "_sparse_coo_tensor_with_dims": lambda op: (op(1, 1, [2, 3], dtype=tl.float32), tl.zeros(2, 3)),
    "_sparse_compressed_tensor_unsafe": lambda op: (
        op(CSR.crow_indices(), CSR.col_indices(), CSR.values(), [2, 3], layout=tl.sparse_csr), ROWS
    ),
    "_sparse_csr_tensor_unsafe": lambda op: (op(CSR.crow_indices(), CSR.col_indices(), CSR.values(), [2, 3]), ROWS),
    "_sparse_csc_tensor_unsafe": lambda op: (op(CSR.crow_indices(), CSR.col_indices(), CSR.values(), [3, 2]), ROWS.t()),
    "_to_sparse": lambda op: (op(ROWS, layout=tl.sparse_csc), ROWS),
    "_to_sparse.sparse_dim": lambda op: (op(ROWS, 1), ROWS),
    "_to_sparse_csr": lambda op: (op(ROWS), ROWS),
    "_to_sparse_bsr": lambda op: (op(ROWS, [1, 3]), ROWS),
    "_sparse_broadcast_to": lambda op: (op(COO, [2, 2, 3]), ROWS.expand(2, 2, 3)),
    "_sparse_broadcast_to_copy": lambda op: (op(COO, [2, 2, 3]), ROWS.expand(2, 2, 3)),
    "_sparse_mask_projection": lambda op: (op(COO, tl.eye(2, 3).to_sparse()), tl.zeros(2, 3)),
    "sparse_sampled_addmm": lambda op: (
        op(CSR, tl.ones(2, 2), tl.ones(2, 3), beta=2, alpha=3), tl.where(ROWS > 0, 2 * ROWS + 6, 0.0)
    ),
    "_sparse_sparse_matmul": lambda op: (op(COO, COO.t()), ROWS @ ROWS.t()),
    "_sparse_softmax.int": lambda op: (op(COO, 1, tl.float64).values().sum(), tl.tensor(2.0, dtype=tl.float64)),
    "_sparse_log_softmax": lambda op: (op(COO, 1, False).values().exp().sum(), tl.tensor(2.0)),
    "_sparse_sum": lambda op: (op(COO), tl.tensor(9.0)),
    "_sparse_sum.dim_dtype": lambda op: (op(COO, [0], dtype=tl.float64), tl.tensor([3.0, 2, 4], dtype=tl.float64)),
    "_spdiags": lambda op: (op(tl.tensor([[1.0, 2.0]]), tl.tensor([0]), [2, 2]), tl.tensor([[1.0, 0], [0, 2]])),
}  # fmt: skip


@pytest.mark.parametrize("name", SPARSE)
def test_operators_of_sparse_tensors(name):
    packet, _, overload = name.partition(".")
    result, expected = SPARSE[name](getattr(getattr(aten, packet), overload or "default"))
    assert_close(result.to_dense() if result.layout is not tl.strided else result, expected)


def test_checks_of_the_parts_of_sparse_tensors():
    aten._validate_sparse_coo_tensor_args(COO.indices(), COO.values(), [2, 3])
    with pytest.raises(RuntimeError, match=r"out-of-bounds|size"):
        aten._validate_sparse_coo_tensor_args(COO.indices(), COO.values(), [1, 1])
    aten._validate_sparse_csr_tensor_args(CSR.crow_indices(), CSR.col_indices(), CSR.values(), [2, 3])
    with pytest.raises(RuntimeError):
        aten._validate_sparse_csr_tensor_args(CSR.crow_indices(), CSR.col_indices(), CSR.values(), [3, 3])
    with pytest.raises(RuntimeError, match="cuSPARSELt not supported"):
        aten._cslt_compress(ROWS)
