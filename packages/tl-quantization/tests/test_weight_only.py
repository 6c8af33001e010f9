"""Linear layers with weights of 8 and 4 bits and floating numbers."""

import copy

import pytest

import tl_core as tl
import tl_nn as nn
import tl_quantization as tq


def weight_of(layer):
    """The float weight that the integers stand for, from products with the identity."""
    identity = tl.eye(layer.in_features)
    bias = 0 if layer.bias is None else layer.bias
    return (layer(identity) - bias).t()


@pytest.mark.parametrize(("bits", "group", "steps"), [(8, 64, 127), (4, 32, 7.5), (4, 64, 7.5)])
@pytest.mark.parametrize("bias", [True, False])
def test_weights_are_at_most_half_a_step_away(bits, group, steps, bias):
    tl.manual_seed(0)
    layer = nn.Linear(128, 37, bias=bias)
    integers = tq.WeightOnlyLinear.from_float(layer, bits, group)
    span = layer.weight.abs().amax()
    assert float((weight_of(integers) - layer.weight).abs().max()) <= float(span) / steps / 2 * 1.01
    x = tl.randn(2, 3, 128)
    assert integers(x).shape == (2, 3, 37)
    assert float((integers(x) - layer(x)).norm() / layer(x).norm()) < (0.02 if bits == 8 else 0.15)
    half = integers(x.bfloat16())
    assert half.dtype is tl.bfloat16
    assert float((half.float() - integers(x)).norm() / layer(x).norm()) < 0.02


def test_rows_and_groups_of_one_number():
    layer = nn.Linear(32, 2)
    with tl.no_grad():
        layer.weight.fill_(0.0)
        layer.weight[1].fill_(0.75)
    for bits in (8, 4):
        weight = weight_of(tq.WeightOnlyLinear.from_float(layer, bits, 32))
        assert float((weight - layer.weight).abs().max()) < 1e-2


def test_a_model_keeps_other_layers_and_shared_ones():
    shared = nn.Linear(64, 64)
    model = nn.Sequential(shared, nn.ReLU(), shared, nn.Sequential(nn.Linear(64, 5)))
    names = []
    result = tq.quantize_weights(model, 4, 32, filter=lambda layer, name: names.append(name) or name != "3.0")
    assert result is model and names == ["0", "2", "3.0"]
    assert type(model[0]) is tq.WeightOnlyLinear and model[0] is model[2]
    assert type(model[3][0]) is nn.Linear
    assert type(tq.quantize_weights(nn.Linear(8, 4))) is tq.WeightOnlyLinear


def test_the_state_has_plain_tensors():
    tl.manual_seed(1)
    source, target = (tq.WeightOnlyLinear.from_float(nn.Linear(64, 20), 4, 64) for _ in range(2))
    state = source.state_dict()
    assert [*state] == ["weight", "scales", "bias"] and {type(v) for v in state.values()} == {tl.Tensor}
    target.load_state_dict(state)
    x = tl.randn(3, 64)
    assert tl.equal(target(x), source(x)) and tl.equal(copy.deepcopy(source)(x), source(x))
    assert "bits=4, group=64" in repr(source)


@pytest.mark.parametrize(
    ("bits", "group", "message"),
    [
        (5, 64, "bits must be 4 or 8"),
        (4, 48, "group must be one of"),
        (4, 64, "layer '0': group must be one of"),
    ],
)
def test_refused_settings_are_named(bits, group, message):
    with pytest.raises(ValueError, match=message):
        tq.quantize_weights(nn.Sequential(nn.Linear(96, 4)), bits, group)
