"""Operators on plain tensors of bytes (`onednn::`), on sparse weights and in recurrent cells, against float64."""

from __future__ import annotations

import numpy as np
import pytest

import tl_core as tl
import tl_quantization as tq
from tl_core.operators import packets
from tl_nn import functional as F

X_SCALE, X_ZERO = 0.05, 2
ACTIVATIONS = {
    "none": ([], "", lambda y: y),
    "relu": ([], "", F.relu),
    "gelu": ([], "tanh", lambda y: F.gelu(y, approximate="tanh")),
    "hardtanh": ([-1.0, 2.0], "", lambda y: y.clamp(-1, 2)),
    "hardswish": ([], "", F.hardswish),
    "swish": ([], "", F.silu),
    "tanh": ([], "", tl.tanh),
    "leaky_relu": ([0.1], "", lambda y: F.leaky_relu(y, 0.1)),
}


def byte(rng: np.random.Generator, dtype: tl.dtype, *shape: int) -> tl.Tensor:
    low, high = (0, 256) if dtype is tl.uint8 else (-128, 128)
    return tl.from_numpy(rng.integers(low, high, shape).astype(np.uint8 if low == 0 else np.int8))


def numbers(x: tl.Tensor) -> tl.Tensor:
    return (x.double() - X_ZERO) * X_SCALE


def check(result: tl.Tensor, expected: tl.Tensor, scale: float, zero: int, dtype: tl.dtype) -> None:
    assert result.dtype is dtype and result.shape == expected.shape
    if dtype in (tl.uint8, tl.int8):
        limits = tl.iinfo(dtype)
        steps = (expected / scale + zero).clamp(limits.min, limits.max)
        assert (result.double() - steps).abs().max() <= 0.501
    else:
        assert (result.double() - expected).abs().max() <= (1e-4 if dtype is tl.float32 else 0.4)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", [tl.uint8, tl.int8])
def test_linear_layers(name, dtype):
    rng = np.random.default_rng(0)
    arguments, algorithm, function = ACTIVATIONS[name]
    x, w, bias = byte(rng, dtype, 5, 32), byte(rng, tl.int8, 16, 32), tl.linspace(-1, 1, 16)
    scales, zeros = tl.linspace(0.001, 0.02, 16), tl.zeros(16, dtype=tl.int64)
    expected = function(numbers(x) @ (w.double() * scales.double()[:, None]).t() + bias.double())
    packed = packets.onednn.qlinear_prepack(w, [5, 32])
    for out in (tl.uint8, tl.int8, tl.float32, tl.bfloat16):
        scale, zero = (0.7, 3) if out in (tl.uint8, tl.int8) else (1.0, 0)
        layer = (packed, scales, zeros, bias, scale, zero, out, name, arguments, algorithm)
        check(packets.onednn.qlinear_pointwise(x, X_SCALE, X_ZERO, *layer), expected, scale, zero, out)
        check(
            packets.onednn.qlinear_pointwise(x, tl.tensor(X_SCALE), tl.tensor(X_ZERO), *layer),
            expected,
            scale,
            zero,
            out,
        )


def test_linear_layers_with_another_tensor():
    rng = np.random.default_rng(1)
    x, w = byte(rng, tl.uint8, 5, 32), byte(rng, tl.int8, 16, 32)
    product = numbers(x) @ (w.double() * 0.01).t()
    layer = packets.onednn.qlinear_prepack(w, None), tl.tensor([0.01]), tl.tensor([0])
    call, end = packets.onednn.qlinear_pointwise.binary, (1.0, "relu", [], "")
    other = tl.from_numpy(rng.standard_normal((5, 16)).astype(np.float32))
    result = call(x, X_SCALE, X_ZERO, *layer, other, None, 0.2, 9, tl.uint8, 1.0, 0, "add", *end)
    check(result, F.relu(product + other.double()), 0.2, 9, tl.uint8)
    total = byte(rng, tl.uint8, 5, 16)
    expected = F.relu(product + (total.double() - 5) * 0.3)
    result = call(x, X_SCALE, X_ZERO, *layer, total, None, 0.2, 9, tl.uint8, 0.3, 5, "sum", *end)
    assert result.data_ptr() == total.data_ptr()
    check(total, expected, 0.2, 9, tl.uint8)


@pytest.mark.parametrize("groups", [1, 2, 8])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_convolutions(axes, groups):
    rng = np.random.default_rng(axes)
    x, w = byte(rng, tl.uint8, 2, 8, *(5,) * axes), byte(rng, tl.int8, 8, 8 // groups, *(3,) * axes)
    scales, bias = tl.linspace(0.001, 0.02, 8), tl.linspace(-2, 2, 8)
    windows = [2] * axes, [1] * axes, [1] * axes
    weight = w.double() * scales.double().reshape(8, *(1,) * (axes + 1))
    expected = getattr(F, f"conv{axes}d")(numbers(x), weight, bias.double(), *windows, groups)
    packed = packets.onednn.qconv_prepack(w, scales, X_SCALE, X_ZERO, *windows, groups)
    names = [f"qconv{axes}d_pointwise", "qconv_pointwise"]
    for name in names:
        for out in (tl.uint8, tl.float32):
            scale, zero = (0.7, 3) if out is tl.uint8 else (1.0, 0)
            layer = (
                packed,
                scales,
                tl.zeros(8, dtype=tl.int64),
                bias,
                *windows,
                groups,
                scale,
                zero,
                out,
                "none",
                [],
                "",
            )
            check(getattr(packets.onednn, name)(x, X_SCALE, X_ZERO, *layer), expected, scale, zero, out)


def test_pointwise_operators():
    rng = np.random.default_rng(3)
    a, b = byte(rng, tl.uint8, 4, 9), byte(rng, tl.uint8, 4, 9)
    first, second = (a.double() - 3) * 0.1, (b.double() - 120) * 0.2
    for name, expected in (
        ("qadd", first + second),
        ("qadd_relu", F.relu(first + second)),
        ("qmul", first * second),
    ):
        for out, scale, zero in ((tl.uint8, 0.9, 100), (tl.float32, 1.0, 0)):
            check(
                getattr(packets.onednn, name).tensor(a, 0.1, 3, b, 0.2, 120, scale, zero, out),
                expected,
                scale,
                zero,
                out,
            )
    x = byte(rng, tl.uint8, 2, 4, 3, 3)
    result = packets.onednn.qbatch_norm2d(
        x,
        0.1,
        3,
        tl.full((4,), 1.5),
        tl.ones(4),
        tl.full((4,), 3.0),
        tl.full((4,), 2.0),
        0.0,
        0.2,
        9,
        tl.uint8,
    )
    check(result, ((x.double() - 3) * 0.1 - 3) / 2**0.5 * 1.5 + 1, 0.2, 9, tl.uint8)


@pytest.mark.parametrize("cell, gates", [("lstm", 4), ("gru", 3), ("rnn_relu", 1), ("rnn_tanh", 1)])
def test_recurrent_cells(cell, gates):
    rng = np.random.default_rng(gates)
    x, h, c = (
        tl.from_numpy(rng.uniform(-1, 1, size).astype(np.float32)) for size in ((3, 8), (3, 6), (3, 6))
    )
    layers, floats = [], []
    for columns in (8, 6):
        weight = tq.quantize_per_tensor(
            tl.from_numpy(rng.uniform(-1, 1, (6 * gates, columns)).astype(np.float32)), 0.01, 0, tq.qint8
        )
        bias = tl.from_numpy(rng.uniform(-1, 1, 6 * gates).astype(np.float32))
        layers.append(packets.quantized.linear_prepack(weight, bias))
        floats.append((weight.dequantize(), bias))
    (w_ih, b_ih), (w_hh, b_hh) = floats
    operator = getattr(packets.quantized, f"quantized_{cell}_cell_dynamic")
    result = operator(x, [h, c] if cell == "lstm" else h, *layers, b_ih, b_hh)
    state = (h, c) if cell == "lstm" else h
    expected = getattr(tl, f"{cell}_cell")(x, state, w_ih, w_hh, b_ih, b_hh)
    for value, target in zip(*((r if cell == "lstm" else [r]) for r in (result, expected)), strict=True):
        assert (value - target).abs().max() < 0.08  # inputs and states have 7 bits


@pytest.mark.parametrize("blocks", [(8, 1), (1, 4)])
def test_sparse_weights(blocks):
    rng = np.random.default_rng(5)
    weight = rng.standard_normal((16, 8)).astype(np.float32)
    weight[:8, :4] = 0
    w, bias = tq.quantize_per_tensor(tl.from_numpy(weight), 0.02, 0, tq.qint8), tl.linspace(-1, 1, 16)
    packed = packets.sparse.qlinear_prepack(w, bias, *blocks)
    original, added, pattern = packets.sparse.qlinear_unpack(packed)
    assert tl.equal(original.int_repr(), w.int_repr()) and tl.equal(added, bias) and pattern == list(blocks)
    numbers_ = tl.from_numpy(rng.standard_normal((3, 8)).astype(np.float32))
    x = tq.quantize_per_tensor(numbers_, 0.05, 100, tq.quint8)
    y = F.linear(x.dequantize(), w.dequantize(), bias)
    assert (packets.sparse.qlinear(x, packed, 0.1, 60).dequantize() - y).abs().max() <= 0.0501
    assert (packets.sparse.qlinear_relu(x, packed, 0.1, 60).dequantize() - F.relu(y)).abs().max() <= 0.0501
    z = F.linear(numbers_, w.dequantize(), bias)
    assert (packets.sparse.qlinear_dynamic(numbers_, packed) - z).abs().max() < 0.1
    assert (packets.sparse.qlinear_relu_dynamic(numbers_, packed) - F.relu(z)).abs().max() < 0.1


def test_wrapped_layers():
    rng = np.random.default_rng(6)
    x, w, b = (tl.from_numpy(rng.standard_normal(size).astype(np.float32)) for size in ((3, 8), (4, 8), (4,)))
    ends = tl.tensor(0.07), tl.tensor(120), 4
    name = "_quantized"
    space, inputs = getattr(packets, name), (x, tl.tensor(0.05), tl.tensor(100))
    weight = w, tl.tensor(0.03), tl.tensor(2), b
    result = space.wrapped_quantized_linear(*inputs, *weight, *ends)
    rounded = tq.quantize_per_tensor(x, 0.05, 100, tq.quint8), tq.quantize_per_tensor(w, 0.03, 2, tq.qint8)
    expected = F.linear(rounded[0].dequantize(), rounded[1].dequantize(), b)
    assert (result - expected).abs().max() <= 0.0351
    packed = space._wrapped_linear_prepack(*weight)
    assert tl.equal(space._wrapped_quantized_linear_prepacked(*inputs, packed, *ends), result)
    half = space.wrapped_fbgemm_linear_fp16_weight(x, space.wrapped_fbgemm_pack_gemm_matrix_fp16(w), b, 4)
    assert (half - F.linear(x, w.half().float(), b)).abs().max() < 1e-5


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda o: o.onednn.qlinear_prepack(tl.ones(2, 2), None),
            "must be a matrix of torch.int8, but got torch.float32",
        ),
        (
            lambda o: o.onednn.qconv_prepack(
                tl.ones(2, 2, dtype=tl.int8), tl.ones(2), 1.0, 0, [1], [0], [1], 1
            ),
            "at least 3 dimensions",
        ),
        (lambda o: linear(o, x=tl.ones(1, 4)), "must be of torch.uint8 or torch.int8, but got torch.float32"),
        (lambda o: linear(o, activation="cube"), "must be none or one of .*, but got 'cube'"),
        (lambda o: o.quantized.linear_unpack.legacy(tl.ones(1)), "unsupported! Export the model again"),
        (lambda o: o.quantized.linear_prepack_legacy(tl.ones(1)), "of before 2020: export the model again"),
    ],
)
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(packets)


def linear(o, x=None, activation="none"):
    bytes_ = tl.ones(1, 4, dtype=tl.uint8) if x is None else x
    weight = o.onednn.qlinear_prepack(tl.ones(2, 4, dtype=tl.int8), None)
    return o.onednn.qlinear_pointwise(
        bytes_, 1.0, 0, weight, tl.ones(1), tl.tensor([0]), None, 1.0, 0, tl.uint8, activation, [], ""
    )
