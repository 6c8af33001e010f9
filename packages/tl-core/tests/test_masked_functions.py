"""Private functions of `torch.masked`, and attention with its weights. The references are NumPy's."""

import math

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402
from tl_core.compat.attention import _scaled_dot_product_attention_math  # noqa: E402
from tl_core.masked.private_functions import _canonical_dim, _reduction_identity, _where  # noqa: E402


@pytest.mark.parametrize(
    ("dim", "ndim", "expected"),
    [(None, 3, (0, 1, 2)), ((), 2, (0, 1)), (-1, 3, (2,)), ((2, 0), 3, (0, 2)), (0, 0, (0,))],
)
def test_dimensions_in_order(dim, ndim, expected):
    assert _canonical_dim(dim, ndim) == expected


def test_dimensions_that_are_refused():
    with pytest.raises(IndexError, match="Dimension out of range"):
        _canonical_dim(3, 3)
    with pytest.raises(RuntimeError, match="multiple times"):
        _canonical_dim((1, 1), 3)


@pytest.mark.parametrize(
    ("name", "dtype", "args", "expected"),
    [
        ("torch.sum", tl.int8, (), 0),
        ("cumprod", tl.float32, (), 1),
        ("amax", tl.float32, (), -math.inf),
        ("argmin", tl.uint8, (), 255),
        ("amax", tl.int8, (), -128),
        ("norm", tl.float32, (-math.inf,), math.inf),
        ("norm", tl.float32, (2,), 0),
        ("logsumexp", tl.complex64, (), -math.inf),
    ],
)
def test_identities(name, dtype, args, expected):
    result = _reduction_identity(name, tl.zeros(2, dtype=dtype), *args)
    assert result.dtype is dtype and result.item() == expected


def test_reductions_without_identity():
    assert (
        _reduction_identity("mean", tl.zeros(2)) is None and _reduction_identity("std", tl.zeros(2)) is None
    )
    assert _reduction_identity("median", tl.zeros(2, dtype=tl.int64)).isnan()
    for name, dtype in (("amax", tl.complex64), ("unknown", tl.float32)):
        with pytest.raises(NotImplementedError):
            _reduction_identity(name, tl.zeros(2, dtype=dtype))


def filled(result, fill):
    """The dense array of a sparse tensor whose other elements are `fill`."""
    array = np.full(tuple(result.shape), fill, dtype=np.float32)
    array[tuple(result.indices().numpy())] = result.values().numpy()
    return array


@pytest.mark.parametrize("sparse_dim", [1, 2])
@pytest.mark.parametrize("stored", [True, False])
def test_where_of_coo(sparse_dim, stored):
    rng = np.random.default_rng(3)
    mask = rng.random((5, 6)) < 0.5
    values = rng.integers(-2, 3, (5, 6)).astype(np.float32) * stored
    result = _where(
        tl.tensor(mask).to_sparse(sparse_dim), tl.tensor(values).to_sparse(sparse_dim), tl.tensor(7.0)
    )
    assert result.is_coalesced() and (filled(result, 7) == np.where(mask, values, 7)).all()


def test_where_of_other_layouts():
    mask, x = tl.tensor([[True, False], [False, True]]), tl.tensor([[1.0, 2.0], [3.0, 0.0]])
    result = _where(mask.to_sparse_csr(), x.to_sparse_csr(), tl.tensor(7.0))
    assert result.layout is tl.sparse_csr and result.crow_indices().tolist() == [0, 1, 2]
    assert result.values().tolist() == [1, 0] and result.col_indices().tolist() == [0, 1]
    assert _where(mask, x, tl.tensor(7.0)).tolist() == [[1, 7], [7, 0]]
    with pytest.raises(ValueError, match="expects strided or sparse COO or sparse CSR"):
        _where(mask.to_sparse_csc(), x.to_sparse_csc(), tl.tensor(7.0))
    with pytest.raises(AssertionError, match="layout"):
        _where(mask.to_sparse(), x, tl.tensor(7.0))
    with pytest.raises(AssertionError, match="sizes"):
        _where(mask.to_sparse(), tl.ones(2, 3).to_sparse(), tl.tensor(7.0))


def reference(q, k, v, bias=0.0, scale=None):
    scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale) + bias
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return weights @ v, weights


def near(results, expected):
    return all(np.allclose(a.numpy(), b, atol=1e-6) for a, b in zip(results, expected, strict=True))


def test_attention_with_weights():
    q, k, v = (np.random.default_rng(i).normal(size=(2, 4, 3, 8)) for i in range(3))
    tensors = [tl.tensor(x) for x in (q, k, v)]
    attend, bias = _scaled_dot_product_attention_math, np.array([[1.0, 0, 2], [0, 0, 0], [3, 1, -np.inf]])
    assert near(attend(*tensors), reference(q, k, v))
    assert near(attend(*tensors, tl.tensor(bias), scale=0.3), reference(q, k, v, bias, 0.3))
    causal = np.triu(np.full((3, 3), -np.inf), 1)
    assert near(attend(*tensors, is_causal=True), reference(q, k, v, causal))
    shared = [q, *(np.repeat(x[:, :2], 2, axis=1) for x in (k, v))]
    assert near(attend(tensors[0], tensors[1][:, :2], tensors[2][:, :2], enable_gqa=True), reference(*shared))
    left = np.arange(72).reshape(2, 4, 3, 3) % 3 != 0
    weights = reference(q, k, v)[1] * left
    assert near(attend(*tensors, None, 0.5, False, tl.tensor(left)), (weights @ v * 2, weights))
    dropped = attend(*tensors, None, 0.5)[1].numpy() / reference(q, k, v)[1]
    assert set(dropped.round(5).flatten()) == {0.0, 2.0}
    with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set when is_causal=True"):
        attend(*tensors, tl.tensor(bias), is_causal=True)


def test_attention_with_weights_is_an_operator():
    x = tl.ones(1, 1, 2, 4)
    output, weights = tl.ops.aten._scaled_dot_product_attention_math.default(x, x, 3 * x)
    assert weights.tolist() == [[[[0.5, 0.5]] * 2]] and output.tolist() == [[[[3.0] * 4] * 2]]
