"""Exported models as integer arithmetic: the results of quantize and dequantize, up to one integer."""

import numpy as np
import pytest

import tl_core
import tl_nn as nn
from tl_compiler.export import export_for_training
from tl_compiler.higher_order import out_dtype
from tl_core.operators.packets import aten
from tl_nn import functional as F
from tl_quantization.quantize_pt2e import convert_pt2e, prepare_pt2e
from tl_quantization.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config


class Sum(nn.Module):
    def __init__(self, is_rectified):
        super().__init__()
        self.is_rectified = is_rectified

    def forward(self, x, y):
        return F.relu(x + y) if self.is_rectified else x + y


def numbers(seed, *shape):
    return tl_core.from_numpy(np.random.RandomState(seed).randn(*shape).astype("float32"))


def both(model, inputs, **config):
    """The representation and the model with quantize and dequantize."""
    for i, p in enumerate(model.parameters()):
        p.data = numbers(i, *p.shape) * 0.3
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(**config))
    observed = prepare_pt2e(export_for_training(model.eval(), inputs).module(), quantizer)
    observed(*inputs)
    plain = convert_pt2e(observed)
    return convert_pt2e(observed, use_reference_representation=True), plain


def scale_of(model):
    """The scale of the last quantize."""
    calls = [n for n in model.graph.nodes if "quantize_per_tensor.default" in str(n.target)]
    return calls[-1].args[1]


def targets(model):
    return [n.target for n in model.graph.nodes if n.op == "call_function"]


QUANTIZE = "quantized_decomposed.quantize_per_tensor"
MODELS = {
    "linear": (lambda: nn.Linear(50, 20), [(16, 50)]),
    "no bias": (lambda: nn.Linear(50, 20, bias=False), [(2, 3, 50)]),
    "linear relu": (lambda: nn.Sequential(nn.Linear(50, 20), nn.ReLU()), [(16, 50)]),
    "conv": (lambda: nn.Conv2d(4, 6, 3, stride=2, padding=1, dilation=1, groups=2), [(2, 4, 9, 8)]),
    "conv relu": (lambda: nn.Sequential(nn.Conv2d(4, 6, (1, 3), bias=False), nn.ReLU()), [(2, 4, 9, 8)]),
    "pool": (lambda: nn.Sequential(nn.Conv2d(4, 6, 3), nn.MaxPool2d(3, 2, 1)), [(2, 4, 9, 8)]),
    "sum": (lambda: Sum(False), [(20, 30), (20, 30)]),
    "sum relu": (lambda: Sum(True), [(20, 30), (20, 30)]),
}


@pytest.mark.parametrize("is_per_channel", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_integers(name, is_per_channel):
    make, shapes = MODELS[name]
    inputs = tuple(numbers(7 + i, *shape) for i, shape in enumerate(shapes))
    representation, plain = both(make(), inputs, is_per_channel=is_per_channel)
    calls = targets(representation)
    assert not [t for t in calls if "quantized_decomposed" in str(t)]
    assert not {aten.linear.default, aten.conv2d.default, aten.max_pool2d.default, aten.relu.default} & set(
        calls
    )
    result, expected = representation(*inputs), plain(*inputs)
    steps = ((result - expected) / scale_of(plain)).abs().round()
    assert steps.max() <= 1 + ("sum" in name)  # a sum rounds both terms
    if is_per_channel and "sum" not in name:
        assert (steps > 0).float().mean() < 0.02
    assert (out_dtype in calls) == (name != "sum")


def test_dynamic():
    x = numbers(1, 16, 50)
    representation, plain = both(nn.Linear(50, 20), (x,), is_dynamic=True)
    calls = targets(representation)
    assert aten.linear.default not in calls and any("choose_qparams" in str(t) for t in calls)
    assert "quantize_per_tensor" not in str(calls)
    tl_core.testing.assert_close(representation(x), plain(x), rtol=0, atol=2e-4)
    tl_core.testing.assert_close(representation(x * 3), plain(x * 3), rtol=0, atol=6e-4)


def test_formulas():
    """The formulas of PyTorch's rewrite, whose results for linear layers and sums were bit-equal to this package's."""
    x, y = tl_core.linspace(-1, 1, 8).reshape(2, 4), tl_core.linspace(2, -1, 8).reshape(2, 4)
    layer = nn.Linear(4, 3)
    representation, plain = both(layer, (x,), is_per_channel=False)
    w, b = layer.weight.detach().numpy().astype("float64"), layer.bias.detach().numpy()
    nodes = {n.name: n for n in plain.graph.nodes}
    first, last = (n for n in nodes.values() if str(n.target).startswith(QUANTIZE))
    (sx, zx), (so, zo) = first.args[1:3], last.args[1:3]
    sw = next(n.args[1] for n in nodes.values() if "dequantize" in n.name and n.args[0].op == "get_attr")
    xi = np.clip(np.rint(x.numpy() / np.float32(sx)).astype(int) + zx, -128, 127) - zx
    wi = np.clip(np.rint(w / sw), -127, 127)
    total = xi @ wi.T + np.trunc(b / np.float32(sx * sw))
    integers = np.clip(np.trunc(total.astype("float32") * np.float32(sx * sw / so)) + zo, -128, 127)
    np.testing.assert_array_equal(np.rint(representation(x).detach().numpy() / so), integers - zo)
    representation, plain = both(Sum(True), (x, y))
    (sx, zx), (sy, zy), (so, zo) = (
        n.args[1:3] for n in plain.graph.nodes if str(n.target).startswith(QUANTIZE)
    )
    terms = []
    for v, s, z in ((x, sx, zx), (y, sy, zy)):
        integers = np.clip(np.rint(v.numpy() / np.float32(s)) + z, -128, 127) - z
        terms.append(np.trunc(integers.astype("float32") * np.float32(s / so)))
    integers = np.clip(sum(terms) + zo, zo, 127)
    np.testing.assert_array_equal(np.rint(representation(x, y).numpy() / so), integers - zo)


class Rest(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.ConvTranspose2d(2, 2, 2)

    def forward(self, x):
        return self.layer(x) + 1


def test_what_is_left():
    """Layers without a rule compute in floating numbers between the arithmetic of quantize and dequantize."""
    x = numbers(3, 1, 2, 4, 4)
    representation, plain = both(Rest(), (x,))
    assert not [t for t in targets(representation) if "quantized_decomposed" in str(t)]
    tl_core.testing.assert_close(representation(x), plain(x))
