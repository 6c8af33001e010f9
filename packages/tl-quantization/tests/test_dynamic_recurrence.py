"""Recurrent layers that quantize at each call, against the equations of their cells in numpy."""

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
import tl_quantization as tq
from tl_quantization.nn import quantized as nnq
from tl_quantization.nn.quantized import dynamic as nnqd


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def round_to_integers(x):
    """x on the grid of 128 integers that covers its range and zero."""
    low, high = min(x.min(), 0), max(x.max(), 0)
    scale = np.float32((high - low) / 127) or np.float32(1)
    zero = np.clip(np.rint(-low / scale), 0, 127)
    return (np.clip(np.rint(x / scale) + zero, 0, 127) - zero) * scale


def lstm(gates, hidden, state):
    i, f, g, o = np.split(gates + hidden, 4, -1)
    cell = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(cell), cell


def gru(gates, hidden, state):
    (r, z, n), (hr, hz, hn) = np.split(gates, 3, -1), np.split(hidden, 3, -1)
    z, n = sigmoid(z + hz), np.tanh(n + sigmoid(r + hr) * hn)
    return ((1 - z) * n + z * state[0],)


def rnn(function):
    return lambda gates, hidden, state: (function(gates + hidden),)


def weights(layer, tail):
    """The dequantized weights and the biases of one cell; zeros without a bias."""
    names = [f"{kind}_{side}{tail}" for kind in ("weight", "bias") for side in ("ih", "hh")]
    values = [getattr(layer, name, None) for name in names]
    w, u = (
        tq.quantize_per_tensor(v.detach(), *symmetric(v), tq.qint8).dequantize().numpy() for v in values[:2]
    )
    b, c = (0.0 if v is None else v.detach().numpy() for v in values[2:])
    return w, u, b, c


def symmetric(weight):
    """The scale and zero point of the default observer of weights: ±the largest value becomes ±127.5."""
    return float(np.float32(2 * weight.detach().abs().max().item()) / np.float32(255)), 0


def unroll(step, parts, x, state, is_reverse):
    w, u, b, c = parts
    outputs = []
    inputs = round_to_integers(x) @ w.T + b
    for gates in inputs[::-1] if is_reverse else inputs:
        state = step(gates, round_to_integers(state[0]) @ u.T + c, state)
        outputs.append(state[0])
    return np.stack(outputs[::-1] if is_reverse else outputs), state


@pytest.mark.parametrize("is_bidirectional", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("kind", "step", "states"), [("LSTM", lstm, 2), ("GRU", gru, 1)])
def test_layers(kind, step, states, bias, is_bidirectional):
    tl.manual_seed(3)
    layer = getattr(nn, kind)(4, 3, 2, bias=bias, bidirectional=is_bidirectional)
    quantized = getattr(nnqd, kind).from_float(layer)
    x = tl.randn(5, 2, 4)
    start = [tl.randn(4 if is_bidirectional else 2, 2, 3) for _ in range(states)]
    output, last = quantized(x, tuple(start) if states == 2 else start[0])
    expected, ends, number = x.numpy(), [], 0
    for level in range(2):
        sides = []
        for tail in ("", "_reverse") if is_bidirectional else ("",):
            parts = weights(layer, f"_l{level}{tail}")
            state = tuple(s[number].numpy() for s in start)
            side, end = unroll(step, parts, expected, state, bool(tail))
            number += 1
            sides.append(side)
            ends.append(end)
        expected = np.concatenate(sides, -1)
    np.testing.assert_allclose(output.numpy(), expected, atol=2e-3)
    for one, two in zip(last if states == 2 else (last,), zip(*ends, strict=True), strict=True):
        np.testing.assert_allclose(one.numpy(), np.stack(two), atol=2e-3)


@pytest.mark.parametrize(
    ("kind", "options", "step"),
    [
        ("LSTMCell", {}, lstm),
        ("GRUCell", {}, gru),
        ("RNNCell", {}, rnn(np.tanh)),
        ("RNNCell", {"nonlinearity": "relu"}, rnn(lambda x: np.maximum(x, 0))),
    ],
)
@pytest.mark.parametrize("has_state", [False, True])
def test_cells(kind, options, step, has_state):
    tl.manual_seed(4)
    layer = getattr(nn, kind)(4, 3, **options)
    quantized = getattr(nnqd, kind).from_float(layer)
    x, state = tl.randn(2, 4), [tl.randn(2, 3) if has_state else tl.zeros(2, 3) for _ in range(2)]
    w, u, b, c = weights(layer, "")
    gates = round_to_integers(x.numpy()) @ w.T + b
    expected = step(gates, round_to_integers(state[0].numpy()) @ u.T + c, [s.numpy() for s in state])
    start = (tuple(state) if kind == "LSTMCell" else state[0]) if has_state else None
    result = quantized(x, start) if has_state else quantized(x)
    for one, two in zip(result if kind == "LSTMCell" else (result,), expected, strict=True):
        np.testing.assert_allclose(one.numpy(), two, atol=1e-4)


def test_batch_first_and_single_sequences():
    tl.manual_seed(5)
    layer = nn.GRU(4, 3)
    by_length = nnqd.GRU.from_float(layer)
    layer.batch_first = True
    by_batch = nnqd.GRU.from_float(layer)
    x = tl.randn(5, 2, 4)
    output, state = by_length(x)
    swapped, same = by_batch(x.transpose(0, 1))
    assert tl.equal(swapped.transpose(0, 1), output) and tl.equal(same, state)
    single, end = by_length(x[:, 0], tl.zeros(1, 3))
    batched, ends = by_length(x[:, :1])
    assert tl.equal(single, batched[:, 0]) and tl.equal(end, ends[:, 0])


def test_a_normalization_has_only_its_evaluation():
    layer = nnq.BatchNorm2d(2, eps=0.5)
    layer.running_mean.copy_(tl.tensor([1.0, -1.0]))
    layer.running_var.copy_(tl.tensor([3.5, 0.5]))
    layer.scale, layer.zero_point = tl.tensor(0.25), tl.tensor(10)
    q = tq.quantize_per_tensor(tl.arange(8.0).reshape(1, 2, 2, 2), 0.5, 0, tq.quint8)
    exact = (np.arange(8.0).reshape(1, 2, 2, 2) - np.array([1.0, -1.0]).reshape(2, 1, 1)) / np.array(
        [2.0, 1.0]
    ).reshape(2, 1, 1)
    for mode in (layer.train(), layer.train(True), layer.eval()):
        assert not mode.training
        np.testing.assert_array_equal(mode(q).int_repr().numpy(), np.rint(exact / 0.25) + 10)
    assert tl.equal(layer.running_mean, tl.tensor([1.0, -1.0]))
