"""Recurrent operators and layers with packed weights, against the last numbers that PyTorch 2.13 computed."""

import json
from functools import partial
from math import prod
from pathlib import Path

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
from tl_core.operators import packets
from tl_nn.utils import rnn
from tl_quantization import composite_operators as composite_operators  # the operators of aten
from tl_quantization import qint8, quantize_dynamic, quantize_per_tensor
from tl_quantization import recurrent_functions as functions
from tl_quantization.libraries import load_all
from tl_quantization.nn.quantized import dynamic
from tl_quantization.nn.quantized.dynamic.modules.rnn import RNNBase

load_all()
ops, aten = packets.quantized, packets.aten
pytestmark = pytest.mark.filterwarnings("ignore:fbgemm_")


# ---- cases: names of PyTorch's too, which recorded them


def numbers(*shape, step=7919):
    return tl.tensor([(i * step % 2003) / 1001.5 - 1 for i in range(prod(shape))]).reshape(shape)


def leaves(result):
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in leaves(part)]
    return [result.data if isinstance(result, rnn.PackedSequence) else result]


def cell(kind, gates, width, number):
    weights = [numbers(gates * 4, width, step=31 + number), numbers(gates * 4, 4, step=57 + number)]
    biases = [numbers(gates * 4, step=11 + number), numbers(gates * 4, step=13 + number)]
    if kind == "bytes":
        return ops.make_quantized_cell_params(*weights, *biases)
    if kind == "half":
        packed = [ops.linear_prepack_fp16(w, b) for w, b in zip(weights, biases)]
        return ops.make_quantized_cell_params_fp16(*packed)
    packed = [
        ops.linear_prepack(quantize_per_tensor(w, 1 / 127, 0, qint8), b) for w, b in zip(weights, biases)
    ]
    return ops.make_quantized_cell_params_dynamic(*packed, *biases, kind == "reduced")


def network(mode, kind, form, by_operator=False):
    gates = 4 if mode == "lstm" else 3
    params = [
        cell(kind, gates, 3 if layer == 0 else 8, 2 * layer + side) for layer in (0, 1) for side in (0, 1)
    ]
    batch = 4 if form == "data" else 2
    states = [numbers(4, batch, 4, step=71), numbers(4, batch, 4, step=73)]
    hx = states if mode == "lstm" else states[0]
    ending = (params, True, 2, 0.0, False, True)
    call = getattr(functions, f"quantized_{mode}")
    if by_operator:
        call = getattr(getattr(aten, f"quantized_{mode}"), form.replace("rows", "input"))
    if form == "data":
        return call(numbers(12, 3), tl.tensor([4, 4, 2, 1, 1]), hx, *ending)
    shape = (2, 5, 3) if form == "input" else (5, 2, 3)
    return call(numbers(*shape), hx, *ending, form == "input")


def single(name):
    gates = {"lstm": 4, "gru": 3}.get(name, 1)
    facts = []
    for width, step in ((3, 31), (4, 57)):
        weight, offsets, scale, zero = aten.fbgemm_linear_quantize_weight(
            numbers(gates * 4, width, step=step)
        )
        facts.append((weight, aten.fbgemm_pack_quantized_matrix(weight), offsets, scale, zero))
    (w, p, o, s, z), (v, q, u, t, y) = facts
    biases = numbers(gates * 4, step=11), numbers(gates * 4, step=13)
    state = numbers(2, 4, step=71)
    hx = [state, numbers(2, 4, step=73)] if name == "lstm" else state
    call = getattr(functions, f"quantized_{name}_cell")
    return call(numbers(2, 3), hx, w, v, *biases, p, q, o, u, s, t, z, y)


def packed_sequence(kind, dtype):
    model = nn.Sequential(getattr(nn, kind)(3, 4, 2, bidirectional=True)).eval()
    with tl.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.copy_(numbers(*parameter.shape, step=31 + number))
    layer = quantize_dynamic(model, {getattr(nn, kind)}, dtype=dtype)[0]
    lengths = tl.tensor([3, 6, 1, 6])
    x = rnn.pack_padded_sequence(numbers(4, 6, 3), lengths, batch_first=True, enforce_sorted=False)
    states = numbers(4, 4, 4, step=71), numbers(4, 4, 4, step=73)
    return layer(x, states if kind == "LSTM" else states[0])


CASES = {
    **{
        f"{mode} {kind} {form}": partial(network, mode, kind, form)
        for mode in ("lstm", "gru")
        for kind in ("reduced", "whole", "half", "bytes")
        for form in ("input", "rows", "data")
    },
    **{f"{name} cell": partial(single, name) for name in ("lstm", "gru", "rnn_relu", "rnn_tanh")},
    **{
        f"{kind} {bits}": partial(packed_sequence, kind, dtype)
        for kind in ("LSTM", "GRU")
        for bits, dtype in (("int8", qint8), ("float16", tl.float16))
    },
}


# ---- tests

RECORDED = json.loads((Path(__file__).parent / "data" / "recurrent.json").read_text())


@pytest.mark.parametrize("name", CASES)
def test_results_are_pytorchs(name):
    results = leaves(CASES[name]())
    assert len(results) == len(RECORDED[name])
    for result, recorded in zip(results, RECORDED[name], strict=True):
        np.testing.assert_allclose(result.detach().flatten()[-3:].numpy(), recorded, rtol=0, atol=3e-6)


@pytest.mark.parametrize("mode", ["lstm", "gru"])
@pytest.mark.parametrize("form", ["rows", "data"])
def test_operators_of_aten(mode, form):
    for own, recorded in zip(network(mode, "half", form, True), RECORDED[f"{mode} half {form}"], strict=True):
        np.testing.assert_allclose(own.flatten()[-3:].numpy(), recorded, rtol=0, atol=3e-6)


def test_bad_input():
    x, hx = tl.ones(2, 5, 3), [tl.zeros(1, 2, 4)] * 2
    good = cell("half", 4, 3, 0)
    rest = (1, 0.0, False, False, True)
    with pytest.raises(RuntimeError, match="requires biases"):
        functions.quantized_lstm(x, hx, [good], False, *rest)
    with pytest.raises(RuntimeError, match="params must have 1 cells, but got 2"):
        functions.quantized_lstm(x, hx, [good, good], True, *rest)
    with pytest.raises(RuntimeError, match="must be packed cells, but got Tensor"):
        functions.quantized_lstm(x, hx, [x], True, *rest)
    with pytest.raises(TypeError, match=r"takes input, hx, params"):
        functions.quantized_gru(x, hx[0], [good])
    with pytest.raises(RuntimeError, match="two hidden states, but got 1"):
        functions.quantized_lstm_cell(x, hx[:1])
    with pytest.raises(
        RuntimeError, match="two packed weights of one kind, but got HalfLinear and PackedLinear"
    ):
        ops.make_quantized_cell_params_fp16(good.ih, cell("reduced", 4, 3, 0).hh)
    with pytest.raises(RuntimeError, match="equally many rows, but got 16 and 12"):
        ops.make_quantized_cell_params_fp16(good.ih, cell("half", 3, 3, 0).hh)


def test_bad_input_of_layers():
    layer = dynamic.LSTM(3, 4)
    with pytest.raises(RuntimeError, match=r"input must have 3 dimensions, got 4"):
        layer(tl.ones(1, 1, 1, 3))
    with pytest.raises(
        RuntimeError, match=r"input.size\(-1\) must be equal to input_size. Expected 3, got 2"
    ):
        layer(tl.ones(1, 1, 2))
    with pytest.raises(RuntimeError, match=r"Expected hidden\[0\] size \(1, 2, 4\), got \[1, 1, 4\]"):
        layer(tl.ones(5, 2, 3), (tl.zeros(1, 1, 4), tl.zeros(1, 2, 4)))
    with pytest.raises(RuntimeError, match="hidden has inconsistent hidden_size: got 3, expected 4"):
        dynamic.GRUCell(3, 4)(tl.ones(2, 3), tl.ones(2, 3))
    with pytest.raises(RuntimeError, match="Input batch size 2 doesn't match hidden"):
        dynamic.GRUCell(3, 4)(tl.ones(2, 3), tl.ones(1, 4))
    with pytest.raises(RuntimeError, match="input has inconsistent input_size: got 4, expected 3"):
        dynamic.RNNCell(3, 4)(tl.ones(2, 4))
    with pytest.raises(ValueError, match="Unrecognized RNN mode: RNN"):
        RNNBase("RNN", 1, 1)


def test_weights_by_name():
    layer = dynamic.GRU(3, 4, bidirectional=True)
    assert [*layer.get_weight()] == [
        "weight_ih_l0",
        "weight_hh_l0",
        "weight_ih_l0_reverse",
        "weight_hh_l0_reverse",
    ]
    assert layer.get_weight()["weight_ih_l0"].shape == (12, 3)
    assert [*layer.get_bias()] == ["bias_ih_l0", "bias_hh_l0", "bias_ih_l0_reverse", "bias_hh_l0_reverse"]
    values = layer.get_weight() | layer.get_bias()
    values["bias_hh_l0"] = tl.arange(12.0)
    layer.set_weight_bias(values)
    assert tl.equal(layer.get_bias()["bias_hh_l0"], tl.arange(12.0))
    one = dynamic.LSTMCell(3, 4)
    one.set_weight_bias({"weight": one.get_weight(), "bias": one.get_bias() | {"bias_ih": tl.arange(16.0)}})
    assert tl.equal(one.bias_ih, tl.arange(16.0)) and tl.equal(one.get_bias()["bias_ih"], tl.arange(16.0))


def test_states_of_other_values_are_refused():
    state = dynamic.GRUCell(3, 4).state_dict()
    with pytest.raises(RuntimeError, match="_packed_weight_ih must be a packed weight, but got Tensor"):
        dynamic.GRUCell(3, 4).load_state_dict(state | {"_packed_weight_ih": tl.ones(1)})
    with pytest.raises(
        RuntimeError, match=r"_all_weight_values\.0\.param must be a packed weight, but got int"
    ):
        dynamic.GRU(3, 4).load_state_dict({"_all_weight_values.0.param": 1})
    with pytest.raises(RuntimeError, match=r"Missing key\(s\).*_all_weight_values.0.param"):
        dynamic.GRU(3, 4).load_state_dict({})
