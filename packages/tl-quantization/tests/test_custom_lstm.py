"""LSTMs made of parts in graphs, and observers of the parts."""

import copy

import pytest

import tl_core
import tl_nn as nn
import tl_quantization as tq
from tl_quantization.backend_config import DTypeConfig, get_qnnpack_backend_config
from tl_quantization.compat.lstm_parts import (
    _get_lstm_with_individually_observed_parts,
    _get_reference_quantized_lstm_module,
)
from tl_quantization.graph.custom_config import ConvertCustomConfig, PrepareCustomConfig
from tl_quantization.nn import quantizable, quantized
from tl_quantization.quantize_fx import convert_fx, prepare_fx


class Model(nn.Module):
    def __init__(self, uses, bidirectional=False):
        super().__init__()
        self.uses, width = uses, 10 if bidirectional else 5
        self.lstm = nn.LSTM(6, 5, 2, bidirectional=bidirectional)
        self.linear, self.other = nn.Linear(width, 3), nn.Linear(5, 3)

    def forward(self, x, h, c):
        result = self.lstm(x, (h, c))
        if self.uses == "parts":
            out, (h, c) = result
            return self.linear(out), self.other(h), self.other(c)
        return (result, self.linear(result[0])) if self.uses == "whole" else result[1]


def leaves(value):
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, (list, tuple)) else [value]


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("uses", ["parts", "whole", "states"])
def test_graphs(uses, bidirectional):
    tl_core.manual_seed(0)
    model = Model(uses, bidirectional).eval()
    layers = 4 if bidirectional else 2
    inputs = tl_core.randn(7, 3, 6), tl_core.randn(layers, 3, 5), tl_core.randn(layers, 3, 5)
    before = PrepareCustomConfig().set_float_to_observed_mapping(nn.LSTM, quantizable.LSTM)
    behind = ConvertCustomConfig().set_observed_to_quantized_mapping(quantizable.LSTM, quantized.LSTM)
    prepared = prepare_fx(copy.deepcopy(model), tq.get_default_qconfig_mapping("x86"), inputs, before)
    prepared(*inputs)
    converted = convert_fx(prepared, behind)
    assert type(converted.lstm) is quantized.LSTM
    cell = converted.lstm.layers[0].layer_fw.cell
    assert type(cell.igates).__module__ == type(quantized.Linear(1, 1)).__module__
    results, expected = leaves(converted(*inputs)), leaves(model(*inputs))
    assert len(results) == len(expected)
    for one, two in zip(results, expected, strict=True):
        assert one.shape == two.shape and float((one - two).abs().max()) < 0.15


@pytest.mark.parametrize("split_gates", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_parts_equal_the_float_layer(split_gates, bidirectional, batch_first):
    layer = nn.LSTM(6, 5, 2, bidirectional=bidirectional, batch_first=batch_first)
    parts = quantizable.LSTM.from_float(layer, split_gates=split_gates)
    names = [n for n, _ in parts.named_parameters()]
    gate = ".input" if split_gates else ""
    assert f"layers.1.layer_fw.cell.igates{gate}.weight" in names
    assert (f"layers.0.layer_bw.cell.hgates{gate}.bias" in names) is bidirectional
    x, layers = tl_core.randn(4, 3, 6), 4 if bidirectional else 2
    batch = 4 if batch_first else 3
    start = tl_core.randn(layers, batch, 5), tl_core.randn(layers, batch, 5)
    for hidden in (None, start):
        for one, two in zip(leaves(parts(x, hidden)), leaves(layer(x, hidden)), strict=True):
            tl_core.testing.assert_close(one, two)


def test_cells():
    cell = nn.LSTMCell(6, 5)
    x, state = tl_core.randn(3, 6), (tl_core.randn(3, 5), tl_core.randn(3, 5))
    for split_gates in (False, True):
        parts = quantizable.LSTMCell.from_float(cell, split_gates=split_gates)
        for one, two in zip(parts(x, state), cell(x, state), strict=True):
            tl_core.testing.assert_close(one, two)
    with pytest.raises(ValueError, match="dropout must be a number from 0 to 1, but got True"):
        quantizable.LSTM(1, 1, dropout=True)
    with pytest.warns(UserWarning, match="dropout option for quantizable LSTM is ignored"):
        quantizable.LSTM(1, 1, 2, dropout=0.5)


FIXED = {
    "linear_output_obs_ctr": (2**-11, 2**15, tq.qint32),
    "sigmoid_obs_ctr": (2**-16, 0, tq.qint32),
    "tanh_obs_ctr": (2**-15, 2**15, tq.qint32),
    "cell_state_obs_ctr": (2**-11, 0, tq.qint32),
    "hidden_state_obs_ctr": (2**-7, 2**7, tq.quint8),
}


@pytest.mark.filterwarnings(
    "ignore:QConfig must specify a FixedQParamsObserver"
)  # the tanh of the cell has no name
@pytest.mark.parametrize("bidirectional", [False, True])
def test_observers_of_parts(bidirectional):
    backend = get_qnnpack_backend_config()
    for config in backend.configs:
        if config.pattern in (nn.Sigmoid, nn.Tanh, tl_core.add, tl_core.mul):
            config.add_dtype_config(DTypeConfig(input_dtype=tq.qint32, output_dtype=tq.qint32))
    makers = {
        name: tq.FixedQParamsObserver.with_args(scale=s, zero_point=z, dtype=t)
        for name, (s, z, t) in FIXED.items()
    }

    class Observed(quantizable.LSTM):
        @classmethod
        def from_float(cls, other):
            example = tl_core.rand(3, 6), (tl_core.rand(3, 5), tl_core.rand(3, 5))
            return _get_lstm_with_individually_observed_parts(other, example, backend, **makers)

    class Reference(quantized.LSTM):
        @classmethod
        def from_observed(cls, other):
            return _get_reference_quantized_lstm_module(other, backend)

    tl_core.manual_seed(0)
    model = Model("states", bidirectional).eval()
    layers = 4 if bidirectional else 2
    inputs = tl_core.randn(7, 3, 6), tl_core.rand(layers, 3, 5), tl_core.rand(layers, 3, 5)
    before = PrepareCustomConfig().set_float_to_observed_mapping(nn.LSTM, Observed)
    behind = ConvertCustomConfig().set_observed_to_quantized_mapping(quantizable.LSTM, Reference)
    mapping = tq.get_default_qconfig_mapping("qnnpack")
    prepared = prepare_fx(copy.deepcopy(model), mapping, inputs, before, backend_config=backend)
    prepared(*inputs)
    converted = convert_fx(prepared, behind, backend_config=backend)
    for one, two in zip(leaves(converted(*inputs)), leaves(model(*inputs)), strict=True):
        assert float((one - two).abs().max()) < 0.15
    direction = converted.lstm.layers[1].layer_bw if bidirectional else converted.lstm.layers[1].layer_fw
    cell = direction.cell
    expected = {
        "add": "linear_output",
        "cell_gate": "tanh",
        "mul": "cell_state",
        "mul_1": "cell_state",
        "add_1": "cell_state",
        "mul_2": "hidden_state",
        **{f"{gate}_gate": "sigmoid" for gate in ("input", "forget", "output")},
    }
    settings = {}
    for node in cell.graph.nodes:
        if node.target is tq.quantize_per_tensor and node.args[0].name in expected:
            scale, zero = (getattr(cell, str(arg.target)) for arg in node.args[1:3])
            settings[node.args[0].name] = float(scale), int(zero), node.args[3]
    assert settings == {name: FIXED[f"{kind}_obs_ctr"] for name, kind in expected.items()}
