"""Equalization of layers and correction of biases, by what they must keep and what they must reach."""

import copy

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
import tl_quantization as tq
from tl_quantization.compat import bias_correction as corrections
from tl_quantization.compat import layer_equalization as equalizations
from tl_quantization.nn import intrinsic


def ranges(weight, axis):
    rows = np.moveaxis(weight.detach().numpy(), axis, 0).reshape(weight.shape[axis], -1)
    return rows.max(1) - rows.min(1)


def test_pairs_of_layers():
    tl.manual_seed(0)
    one, two = nn.Conv2d(3, 4, 2), nn.Conv2d(4, 5, 2)
    model = nn.Sequential(one, nn.ReLU(), two)
    x = tl.randn(2, 3, 6, 6)
    expected = model(x)
    equalizations.cross_layer_equalization(one, two)
    np.testing.assert_allclose(ranges(one.weight, 0), ranges(two.weight, 1), rtol=1e-5)
    np.testing.assert_allclose(model(x).detach().numpy(), expected.detach().numpy(), atol=1e-5)


@pytest.mark.parametrize("inplace", [False, True])
def test_groups_of_layers(inplace):
    tl.manual_seed(0)
    fused = intrinsic.LinearReLU(nn.Linear(4, 5), nn.ReLU())
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), fused, nn.Linear(5, 6, bias=False))
    former, x = copy.deepcopy(model), tl.randn(20, 3)
    result = equalizations.equalize(model, [["0", fused, "3"]], 1e-6, inplace)
    assert (result is model) == inplace
    np.testing.assert_allclose(ranges(result[0].weight, 0), ranges(result[2][0].weight, 1), rtol=1e-4)
    np.testing.assert_allclose(ranges(result[2][0].weight, 0), ranges(result[3].weight, 1), rtol=1e-4)
    np.testing.assert_allclose(result(x).detach().numpy(), former(x).detach().numpy(), atol=1e-5)


def test_bad_input_of_equalization():
    layer, relu = nn.Linear(2, 2), nn.ReLU()
    model = nn.Sequential(layer, relu)
    with pytest.raises(ValueError, match="must be a Conv1d, Conv2d or Linear"):
        equalizations.cross_layer_equalization(layer, relu)
    with pytest.raises(TypeError, match="has 2 output channels, but the second has 3 input channels"):
        equalizations.cross_layer_equalization(layer, nn.Linear(3, 1))
    with pytest.raises(ValueError, match="at least two modules"):
        equalizations.equalize(model, [["0"]])
    with pytest.raises(TypeError, match="or a string, but got int"):
        equalizations.equalize(model, [[0, "1"]])
    with pytest.raises(ValueError, match="not in the model"):
        equalizations.equalize(model, [[nn.Linear(2, 2), "0"]])
    with pytest.raises(ValueError, match="same set of names"):
        equalizations.converged({"a": layer}, {"b": layer})


def test_a_wrong_bias_is_corrected():
    tl.manual_seed(0)
    model = nn.Sequential(tq.QuantStub(), nn.Linear(3, 4), nn.Linear(4, 5), tq.DeQuantStub()).eval()
    data = [(tl.rand(30, 3),) for _ in range(2)]
    model.qconfig = tq.default_qconfig
    prepared = tq.prepare(model)
    for batch in data:
        prepared(batch[0])
    integers = tq.convert(prepared)
    for layer in (integers[1], integers[2]):
        layer.set_weight_bias(layer.weight(), layer.bias() + 0.25)
    corrections.bias_correction(model, integers, data)
    for index in (1, 2):
        shadow = integers[index]
        assert type(shadow).__name__ == "Shadow"
        errors = (shadow.orig_module.bias() - model[index].bias).detach().numpy()
        assert np.abs(errors).max() < 0.05


def test_batches_of_a_correction_are_limited():
    model = nn.Sequential(nn.Linear(2, 1))
    quantized = tq.quantize_dynamic(model)
    rows = iter([(tl.ones(1, 2),)] * 5)
    corrections.bias_correction(model, quantized, rows, {type(quantized[0])}, neval_batches=2)
    assert len(list(rows)) == 3
