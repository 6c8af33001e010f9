"""Operators whose kernels PyTorch has for other devices: attention, norms, convolutions, weights of four bits."""

import pytest

import tl_core as tl
from tl_core.operators.packets import aten


def numbers(*shape, seed=0):
    tl.manual_seed(seed)
    return tl.randn(*shape, dtype=tl.float64)


Q, K, V, GRAD = (numbers(1, 2, 4, 8, seed=i) for i in range(4))
BIAS = numbers(1, 2, 4, 4, seed=5)
CAUSAL = tl.ones(4, 4, dtype=tl.bool).triu(1)
SCALE = 8**-0.5


def weights_of(bias=None, causal=False):
    scores = Q @ K.mT * SCALE
    scores = scores if bias is None else scores + bias
    return (scores.masked_fill(CAUSAL, -float("inf")) if causal else scores).softmax(-1)


def gradients(weights):
    """The gradients of attention by query, key, value and bias, by hand."""
    by_weights = GRAD @ V.mT
    by_scores = weights * (by_weights - (weights * by_weights).sum(-1, keepdim=True))
    return by_scores @ K * SCALE, by_scores.mT @ Q * SCALE, weights.mT @ GRAD, by_scores


def close(results, expected):
    assert all(tl.allclose(r, e, atol=1e-9) for r, e in zip(results, expected, strict=True))


@pytest.mark.parametrize("causal", [False, True])
def test_flash_attention(causal):
    weights = weights_of(causal=causal)
    out, sums, *lengths, seed, offset, mask = aten._scaled_dot_product_flash_attention(Q, K, V, 0.0, causal)
    close([out], [weights @ V])
    assert lengths[2:] == [4, 4] and mask.numel() == 0
    backward = aten._scaled_dot_product_flash_attention_backward
    close(backward(GRAD, Q, K, V, out, sums, *lengths, 0.0, causal, seed, offset), gradients(weights)[:3])


@pytest.mark.parametrize("causal", [False, True])
def test_attention_with_a_bias(causal):
    weights = weights_of(BIAS, causal)
    expected = gradients(weights)
    result = aten._scaled_dot_product_efficient_attention(Q, K, V, BIAS, True, 0.0, causal)
    close(result[:1], [weights @ V])
    backward = aten._scaled_dot_product_efficient_attention_backward
    close(backward(GRAD, Q, K, V, BIAS, *result, 0.0, [True] * 4, causal), expected)
    assert backward(GRAD, Q, K, V, BIAS, *result, 0.0, [True, False, True, False], causal)[1::2] == (
        None,
        None,
    )
    out, sums, *lengths, seed, offset, _ = aten._scaled_dot_product_cudnn_attention(
        Q, K, V, BIAS, True, 0.0, causal
    )
    backward = aten._scaled_dot_product_cudnn_attention_backward
    close(backward(GRAD, Q, K, V, out, sums, seed, offset, BIAS, *lengths, 0.0, causal), expected[:3])


@pytest.mark.parametrize("kind", [0, 1, 2])
@pytest.mark.parametrize("biased", [False, True])
def test_attention_on_rows_outside_of_heads(kind, biased):
    k, v, bias = numbers(1, 2, 6, 8, seed=7), numbers(1, 2, 6, 8, seed=8), numbers(1, 2, 4, 6, seed=9)
    seen = tl.ones(4, 6, dtype=tl.bool).tril([6, 0, 2][kind])
    scores = (Q @ k.mT * SCALE + (bias if biased else 0)).masked_fill(~seen, -float("inf"))
    weights = scores.softmax(-1)
    by_weights = GRAD @ v.mT
    by_scores = weights * (by_weights - (weights * by_weights).sum(-1, keepdim=True))
    expected = by_scores @ k * SCALE, by_scores.mT @ Q * SCALE, weights.mT @ GRAD, by_scores
    outside = [t.transpose(1, 2) for t in (Q, k, v)]
    given = bias if biased else None
    output, sums, *seeds, n_rows, n_columns = aten._efficient_attention_forward(
        *outside, given, None, None, None, None, 0.0, kind, True
    )
    assert (n_rows, n_columns) == (4, 6)
    close([output.transpose(1, 2), sums], [weights @ v, scores.logsumexp(-1)])
    *found, by_bias = aten._efficient_attention_backward(
        GRAD.transpose(1, 2), *outside, given, output, None, None, 4, 6, sums, 0.0, *seeds, kind, biased
    )
    close([t.transpose(1, 2) for t in found], expected[:3])
    if biased:
        close([by_bias], expected[3:])
    else:
        assert by_bias is None


def test_attention_on_packed_sequences_is_refused():
    starts = tl.tensor([0, 1], dtype=tl.int32)
    with pytest.raises(NotImplementedError, match="cu_seqlens_q"):
        aten._efficient_attention_forward(Q, K, V, None, starts, starts, 1, 1, 0.0, 0)
    with pytest.raises(NotImplementedError, match="window_size"):
        aten._efficient_attention_forward(Q, K, V, None, None, None, None, None, 0.0, 0, window_size=3)
    with pytest.raises(ValueError, match="custom_mask_type must be 0, 1 or 2, got 7"):
        aten._efficient_attention_forward(Q, K, V, None, None, None, None, None, 0.0, 7)


def test_attention_with_dropout_is_refused():
    with pytest.raises(NotImplementedError, match="dropout"):
        aten._scaled_dot_product_flash_attention(Q, K, V, 0.5)


def test_batch_norms():
    x, weight, bias = numbers(2, 3, 4), numbers(3, seed=1), numbers(3, seed=2)
    statistics = tl.zeros(3, dtype=tl.float64), tl.ones(3, dtype=tl.float64)
    expected = aten.native_batch_norm(x, weight, bias, None, None, True, 0.1, 1e-5)
    close(aten.cudnn_batch_norm(x, weight, bias, *statistics, True, 0.1, 1e-5)[:3], expected)
    assert (statistics[0] != 0).all()
    close(aten.miopen_batch_norm(x, weight, bias, None, None, True, 0.1, 1e-5), expected)
    saved = expected[1:]
    of_native = aten.native_batch_norm_backward(
        x, x, weight, None, None, *saved, True, 1e-5, [True, True, True]
    )
    reserve = tl.empty(0, dtype=tl.uint8)
    close(aten.cudnn_batch_norm_backward(x, x, weight, None, None, *saved, 1e-5, reserve), of_native)
    close(aten.miopen_batch_norm_backward(x, x, weight, None, None, *saved, 1e-5), of_native)


def test_convolutions():
    x, weight, bias = numbers(2, 3, 5, 5), numbers(4, 3, 2, 2, seed=1), numbers(4, seed=2)
    stride, padding, dilation = [2, 2], [1, 1], [1, 1]
    expected = tl.conv2d(x, weight, bias, stride, padding)
    plain = padding, stride, dilation, 1
    close([aten.cudnn_convolution(x, weight, *plain, False, False, False)], [expected - bias[:, None, None]])
    for convolve in (aten.miopen_convolution, aten.miopen_depthwise_convolution):
        close([convolve(x, weight, bias, *plain, False, False)], [expected])
    close([aten.mkldnn_convolution(x, weight, bias, *plain)], [expected])
    fused = bias, stride, padding, dilation, 1
    for library in ("cudnn", "miopen"):
        relu, add_relu = (getattr(aten, f"{library}_convolution_{name}") for name in ("relu", "add_relu"))
        close([relu(x, weight, *fused)], [expected.relu()])
        close([add_relu(x, weight, expected, 2, *fused)], [(3 * expected).relu()])
    transposed = aten.cudnn_convolution_transpose(
        x, numbers(3, 4, 2, 2), padding, [0, 0], stride, dilation, 1, *[False] * 3
    )
    close([transposed], [tl.conv_transpose2d(x, numbers(3, 4, 2, 2), None, stride, padding)])


def test_weights_of_four_and_eight_bits():
    integers = (tl.arange(64 * 64) * 7 % 16).reshape(64, 64).int()
    x, scales = (
        tl.linspace(-1, 1, 3 * 64).reshape(3, 64),
        tl.linspace(0.01, 0.1, 2 * 64 * 2).reshape(2, 64, 2),
    )
    packed = aten._convert_weight_to_int4pack_for_cpu(integers, 2)
    assert packed.dtype is tl.uint8 and packed.shape == (64, 32)
    product = aten._weight_int4pack_mm_for_cpu(x, packed, 32, scales)
    # Numbers recorded from PyTorch 2.13.
    assert tl.allclose(product[0, :4], tl.tensor([-0.5438, -0.5578, -0.5719, -0.5860]), atol=1e-4)
    assert tl.allclose(product.sum(), tl.tensor(39.1233))
    product = aten._weight_int8pack_mm(x.bfloat16(), integers.to(tl.int8), tl.linspace(0.1, 1, 64).bfloat16())
    assert tl.allclose(product[1, :3].float(), tl.tensor([0.1504, 0.1719, 0.1934]), atol=1e-4)
    with pytest.raises(RuntimeError, match="expect weight to be kInt"):
        aten._convert_weight_to_int4pack_for_cpu(x, 2)


def test_layouts_and_bags():
    x = numbers(2, 3)
    assert aten._mkldnn_transpose(x, 0, 1).shape == (3, 2) and aten._mkldnn_reshape(x, [6]).shape == (6,)
    assert aten._mkldnn_transpose_(x.clone(), 0, 1).shape == (3, 2)
    bags = aten._embedding_bag_forward_only(tl.eye(3), tl.tensor([0, 2]), tl.tensor([0, 1]))
    assert tl.equal(bags[0], tl.eye(3)[[0, 2]])


def test_other_namespaces():
    from tl_core.operators import packets

    assert packets.prims.convert_element_type.default(Q, tl.float32).dtype is tl.float32
    assert packets.mkldnn._is_mkldnn_acl_supported() is False
    handle = packets.profiler._record_function_enter("range")
    assert isinstance(handle, tl.Tensor) and packets.profiler._record_function_exit(handle) is None
    full = tl.arange(10.0)
    assert tl.equal(full[2:8:2].slice_inverse(full, 0, 2, 8, 2), full)


def test_samples_have_no_rewards():
    with pytest.raises(RuntimeError, match="was removed"):
        Q.reinforce(1)
