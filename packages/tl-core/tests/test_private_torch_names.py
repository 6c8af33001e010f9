"""Functions of the reference that begin with an underscore, and those that it has removed."""

import math

import pytest

import tl_core as tl
from tl_core.compat import attention
from tl_core.functions import private as functions
from tl_core.tensors import removed

np = pytest.importorskip("numpy")


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def expected_attention(x, w, b, heads, blind):
    q, k, v = np.split(x @ w.T + b, 3, axis=-1)
    by_head = [t.reshape(*t.shape[:2], heads, -1).transpose(0, 2, 1, 3) for t in (q, k, v)]
    scores = by_head[0] @ by_head[1].swapaxes(-1, -2) / np.sqrt(by_head[0].shape[-1])
    weights = softmax(np.where(blind[:, None, None, :], -np.inf, scores))
    return (weights @ by_head[2]).transpose(0, 2, 1, 3).reshape(x.shape), weights


@pytest.mark.parametrize("average", [True, False])
def test_attention_with_padding(average):
    generator = tl.Generator().manual_seed(3)
    x, w, b = (tl.randn(*n, dtype=tl.float64, generator=generator) for n in ((2, 5, 8), (24, 8), (24,)))
    identity, zeros = tl.eye(8, dtype=tl.float64), tl.zeros(8, dtype=tl.float64)
    blind = tl.arange(5) >= tl.tensor([[3], [5]])
    output, weights = attention._native_multi_head_attention(
        x, x, x, 8, 2, w, b, identity, zeros, blind, True, average, mask_type=1
    )
    expected, all_weights = expected_attention(x.numpy(), w.numpy(), b.numpy(), 2, blind.numpy())
    assert np.allclose(output.numpy(), expected)
    assert np.allclose(weights.numpy(), all_weights.mean(1) if average else all_weights)


def test_attention_of_nested_tensors_is_that_of_each():
    parts = [tl.randn(n, 4) for n in (3, 5)]
    w, b = tl.randn(12, 4), tl.randn(12)
    common = (4, 2, w, b, tl.eye(4), tl.zeros(4))
    nested = tl.nested.nested_tensor(parts)
    output, weights = attention._native_multi_head_attention(
        nested, nested, nested, *common, need_weights=False
    )
    assert weights is None
    _, padded = attention._native_multi_head_attention(nested, nested, nested, *common)
    assert padded.shape == (2, 5, 5)
    for i, (one, part) in enumerate(zip(output.unbind(), parts, strict=True)):
        n = len(part)
        alone, own = attention._native_multi_head_attention(part[None], part[None], part[None], *common)
        assert tl.allclose(one, alone[0], atol=1e-6)
        assert tl.allclose(padded[i, :n, :n], own[0], atol=1e-6) and not padded[i, :, n:].any()
    with pytest.raises(RuntimeError, match="mask_type"):
        attention._native_multi_head_attention(*[part[None]] * 3, *common, mask=tl.ones(1, 5))


def test_biases_and_scale_by_head():
    qkv, bias = tl.arange(12.0).view(1, 1, 12), tl.ones(12)
    q, k, v = attention._transform_bias_rescale_qkv(qkv, bias, 1)
    assert (q.flatten() * 2).tolist() == [1, 2, 3, 4]
    assert k.flatten().tolist() == [5, 6, 7, 8]
    assert v.shape == (1, 1, 1, 4)
    with pytest.raises(RuntimeError, match="multiple of"):
        attention._transform_bias_rescale_qkv(qkv, bias, 3)


def test_sums_weighted_by_rows():
    x = tl.randn(3, 2, 2, dtype=tl.float64)
    c = tl.randn(4, 3, dtype=tl.float64)
    assert np.allclose(
        functions._compute_linear_combination(x, c).numpy(), np.tensordot(c.numpy(), x.numpy(), axes=1)
    )


def test_metadata_is_compared():
    x = tl.zeros(2, 3)
    functions._assert_tensor_metadata(x, [2, 3], [3, 1], tl.float32, device=tl.device("cpu"))
    with pytest.raises(RuntimeError, match="dtype mismatch"):
        functions._assert_tensor_metadata(x, dtype=tl.int8)


@pytest.mark.parametrize("name", removed.__all__)
def test_removed_functions_name_what_to_call(name):
    with pytest.raises(RuntimeError, match=r"now removed. Call torch.linalg"):
        getattr(removed, name)(tl.eye(2))


def test_a_softmax_of_what_a_mask_leaves():
    x = tl.arange(2 * 1 * 2 * 3.0).view(2, 1, 2, 3)
    keys = tl.tensor([[False, True, False], [True, False, False]])
    result = functions._masked_softmax(x, keys, None, 1)
    value = np.where(keys.numpy()[:, None, None, :], 0.0, np.exp(x.numpy()))
    np.testing.assert_allclose(result.numpy(), value / value.sum(-1, keepdims=True), rtol=1e-5)
    full = keys[:, None, None, :].expand(2, 1, 2, 3)
    assert functions._masked_softmax(x, full, -1, 2).equal(result)
    queries = tl.tensor([[False, True, True], [False, False, True]])
    assert functions._masked_softmax(x, queries, 3, 0)[:, :, 0].tolist() == [[[1, 0, 0]], [[1, 0, 0]]]
    with pytest.raises(RuntimeError, match="should be a boolean tensor"):
        functions._masked_softmax(x, x, -1, 2)
    with pytest.raises(RuntimeError, match="Mask Type should be"):
        functions._masked_softmax(x, full, -1)


@pytest.mark.parametrize("use_gelu", [False, True])
def test_products_with_an_activation_go_where_out_says(use_gelu):
    a, out = tl.tensor([[1.0, -2.0], [0.5, 3.0]]), tl.empty(2, 2)
    result = functions._addmm_activation(tl.ones(2), a, a, use_gelu=use_gelu)
    assert functions._addmm_activation(tl.ones(2), a, a, use_gelu=use_gelu, out=out) is out and out.equal(
        result
    )
    sums = 1 + np.array([[1.0, -2.0], [0.5, 3.0]]) @ np.array([[1.0, -2.0], [0.5, 3.0]])
    erf = np.vectorize(math.erf)
    expected = sums * (1 + erf(sums / math.sqrt(2))) / 2 if use_gelu else np.maximum(sums, 0)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5, atol=1e-7)


def test_a_combination_of_no_tensors_is_refused():
    with pytest.raises(RuntimeError, match="input must have a dimension"):
        functions._compute_linear_combination(tl.tensor(1.0), tl.ones(2, 2))


def test_unique_elements_as_a_pair():
    x = tl.tensor([3, 1, 1])
    values, inverse = functions._unique(x, return_inverse=True)
    assert (values.tolist(), inverse.tolist()) == ([1, 3], [1, 0, 0])
    values, inverse = functions._unique(x)
    assert values.tolist() == [1, 3] and inverse.shape == (0,) and inverse.dtype == tl.int64
