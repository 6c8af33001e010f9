"""`quantized_decomposed::` operators against numpy."""

import numpy as np
import pytest

import tl_core
from tl_core.operators import packets
from tl_quantization.compat import decomposed_functions as functions
from tl_quantization.libraries import load_all

load_all()
ops = packets.quantized_decomposed
X = ((tl_core.arange(256) * 29 % 61 - 30).to(tl_core.float32) / 7).reshape(4, 64)
A = X.numpy()
INT8 = (-128, 127, tl_core.int8)


def rounded(a, scale, zero, low=-128, high=127):
    steps = np.rint(a * (np.float32(1) / np.asarray(scale, np.float32)).astype(np.float32))
    return np.clip(steps + zero, low, high)


def test_one_scale():
    inverse = np.float32(1 / 0.05)
    expected = np.clip(np.rint(A * inverse) + 3, -128, 127)
    q = ops.quantize_per_tensor(X, 0.05, 3, *INT8)
    assert q.dtype is tl_core.int8
    assert (q.numpy() == expected).all()
    numbers = ops.dequantize_per_tensor(q, 0.05, 3, *INT8)
    assert (numbers.numpy() == (expected.astype(np.float32) - 3) * np.float32(0.05)).all()
    scale, zero = tl_core.tensor(0.05), tl_core.tensor(3)
    same = ops.quantize_per_tensor.tensor(X, scale, zero, *INT8)
    assert int((same.int() - q.int()).abs().max()) <= 1
    half = ops.dequantize_per_tensor.tensor(q, scale, zero, *INT8, out_dtype=tl_core.float16)
    assert half.shape == X.shape


def test_channels():
    scales, zeros = tl_core.tensor([0.1, 0.2, 0.3, 0.4]), tl_core.tensor([0, 1, 2, 3])
    s, z = scales.numpy()[:, None], zeros.numpy()[:, None]
    q = ops.quantize_per_channel(X, scales, zeros, 0, *INT8)
    assert (q.numpy() == rounded(A, s, z)).all()
    numbers = ops.dequantize_per_channel(q, scales, zeros, 0, *INT8)
    assert np.allclose(numbers.numpy(), (q.numpy() - z.astype(np.float32)) * s, atol=1e-6)
    assert np.allclose(
        ops.dequantize_per_channel(q, scales, None, 0, *INT8).numpy(), q.numpy() * s, atol=1e-6
    )
    turned = ops.quantize_per_channel(X.t(), scales, zeros, 1, *INT8)
    assert (turned.numpy() == q.numpy().T).all()


def test_chosen_scales():
    scale, zero = ops.choose_qparams.tensor(X, 0, 255, 1e-5, tl_core.uint8)
    assert float(scale) == pytest.approx((A.max() - A.min()) / 255, rel=1e-6)
    assert int(zero) == round(-A.min() / float(scale))
    scale, zero = ops.choose_qparams_symmetric.tensor(X, -128, 127, 1e-5, tl_core.int8)
    assert (float(scale), int(zero)) == (pytest.approx(np.abs(A).max() / 127.5, rel=1e-6), 0)
    scale, zero = ops.choose_qparams_per_token(X, tl_core.int8)
    assert np.allclose(scale.numpy()[:, 0], np.abs(A).max(1) / 127)
    assert (zero.numpy() == 0).all()


def test_tokens():
    scale, zero = ops._choose_qparams_per_token_asymmetric_impl(X, tl_core.int8)
    assert (scale.dtype, zero.dtype, scale.shape) == (tl_core.float64, tl_core.int64, (4, 1))
    q = ops.quantize_per_token(X, scale, zero, *INT8)
    numbers = ops.dequantize_per_token(q, scale, zero, *INT8, tl_core.float32)
    assert np.abs(numbers.numpy() - A).max() <= float(scale.max()) * 0.51


def test_groups():
    scales, zeros = tl_core.full((4, 2), 0.75), tl_core.ones(4, 2, dtype=tl_core.int32)
    q = ops.quantize_per_channel_group(X, scales, zeros, -8, 7, tl_core.int8, 32)
    assert (q.numpy() == np.clip(np.rint(A / np.float32(0.75) + 1), -8, 7)).all()
    numbers = ops.dequantize_per_channel_group(q, scales, zeros, -8, 7, tl_core.int8, 32, tl_core.float32)
    assert (numbers.numpy() == (q.numpy() - 1) * np.float32(0.75)).all()


def test_meta():
    x = X.to("meta")
    q = ops.quantize_per_tensor(x, 0.05, 3, *INT8)
    assert (q.device.type, q.dtype, q.shape) == ("meta", tl_core.int8, X.shape)
    assert ops.dequantize_per_tensor(q, 0.05, 3, *INT8).dtype is tl_core.float32


def test_errors():
    with pytest.raises(AssertionError, match="quant_min out of bounds"):
        ops.quantize_per_tensor(X, 0.1, 0, -500, 127, tl_core.int8)
    with pytest.raises(AssertionError, match="quant_max out of bounds"):
        ops.quantize_per_channel(X, tl_core.ones(4), tl_core.zeros(4), 0, 0, 300, tl_core.uint8)
    with pytest.raises(AssertionError, match="float32"):
        ops.quantize_per_tensor(X.double(), 0.1, 0, *INT8)
    with pytest.raises(AssertionError, match="int8"):
        ops.dequantize_per_tensor(X, 0.1, 0, *INT8)
    with pytest.raises(AssertionError, match="one element"):
        ops.quantize_per_tensor.tensor(X, tl_core.ones(2), tl_core.tensor(0), *INT8)
    with pytest.raises(RuntimeError, match="unsupported dtype"):
        ops.choose_qparams_per_token(X, tl_core.uint8)
    with pytest.raises(AssertionError, match="group_size"):
        ops.quantize_per_channel_group(X, tl_core.ones(4, 2), tl_core.zeros(4, 2), -8, 7, tl_core.int8, 30)


def test_functions_of_operators():
    x = tl_core.tensor([[0.0, 1.0], [2.0, 3.0]])
    assert functions.quantize_per_tensor(x, 0.5, 1, 0, 255, tl_core.uint8).tolist() == [[1, 3], [5, 7]]
    scales, zero_points = tl_core.tensor([[1.0], [0.5]]), tl_core.tensor([[0], [1]])
    rows = functions.quantize_per_channel_group(x, scales, zero_points, -8, 7, tl_core.int8, 2)
    assert rows.tolist() == [[0, 1], [5, 7]]
    turned, order = functions._permute_to_axis_zero(tl_core.zeros(2, 3, 4), 2)
    assert turned.shape == (4, 3, 2) and order == [2, 1, 0] and turned.permute(order).shape == (2, 3, 4)
    functions._per_token_quant_qparam_dim_check(x, tl_core.ones(2), tl_core.zeros(2))
    with pytest.raises(AssertionError, match="scales"):
        functions._per_token_quant_qparam_dim_check(x, tl_core.ones(3), tl_core.zeros(2))
    with pytest.raises(AssertionError, match="out of bounds"):
        functions._quant_min_max_bounds_check(-1, 255, tl_core.uint8)
    assert functions.quantized_decomposed_lib.ns == "quantized_decomposed"
