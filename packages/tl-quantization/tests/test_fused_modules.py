"""Modules of several layers: the float ones against their formulas, the quantized ones against the float layers."""

import itertools

import pytest

import tl_autograd  # noqa: F401 - float layers record
import tl_core as tl
import tl_nn as nn
import tl_quantization as tq
from tl_nn import functional as F
from tl_quantization.nn import intrinsic
from tl_quantization.nn import quantized as nnq
from tl_quantization.nn.intrinsic import qat
from tl_quantization.nn.intrinsic import quantized as nniq
from tl_quantization.nn.intrinsic.qat.modules.folding import Folded


def images(dims):
    return tl.arange(2 * 3 * 5**dims).reshape(2, 3, *[5] * dims).sin() * 3


def conv(dims):
    return getattr(nn, f"Conv{dims}d")(3, 4, 3)


def norm(dims, channels=4):
    layer = getattr(nn, f"BatchNorm{dims}d")(channels)
    layer.running_mean.copy_(tl.arange(channels) * 0.25)
    layer.running_var.copy_(tl.arange(channels) * 0.5 + 0.5)
    return layer


# Each class with its layers and an input.
CHAINS = {
    **{f"ConvReLU{n}d": ([conv(n), nn.ReLU()], images(n)) for n in (1, 2, 3)},
    **{f"ConvBn{n}d": ([conv(n), norm(n)], images(n)) for n in (1, 2, 3)},
    **{f"ConvBnReLU{n}d": ([conv(n), norm(n), nn.ReLU()], images(n)) for n in (1, 2, 3)},
    **{f"BNReLU{n}d": ([norm(n, 3), nn.ReLU()], images(n)) for n in (2, 3)},
    "LinearReLU": ([nn.Linear(5, 4), nn.ReLU()], images(1)),
    "LinearBn1d": ([nn.Linear(3, 4), norm(1)], images(1)[..., 0]),
    "LinearLeakyReLU": ([nn.Linear(5, 4), nn.LeakyReLU(0.3)], images(1)),
    "LinearTanh": ([nn.Linear(5, 4), nn.Tanh()], images(1)),
}


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_calls_its_layers_in_order(name):
    layers, x = CHAINS[name]
    chain = getattr(intrinsic, name)(*layers).eval()
    assert isinstance(chain, nn.Sequential) and [*chain] == layers
    expected = x
    for layer in layers:
        expected = layer(expected)
    assert tl.equal(chain(x), expected)
    identities = [nn.Identity() for _ in layers]
    assert tl.equal(getattr(intrinsic, name)(*identities)(x), x)


@pytest.mark.parametrize(
    ("name", "position"), [(name, i) for name, (layers, _) in CHAINS.items() for i in range(len(layers))]
)
def test_a_chain_rejects_other_layers(name, position):
    layers = [nn.Dropout() if i == position else layer for i, layer in enumerate(CHAINS[name][0])]
    with pytest.raises(AssertionError, match="Incorrect types for input modules"):
        getattr(intrinsic, name)(*layers)


@pytest.mark.parametrize(
    "add", [tl.add, lambda a, b: a - 2 * b, nnq.FloatFunctional().add], ids=["add", "difference", "module"]
)
def test_sums_have_a_second_input(add):
    layer, x, y = conv(2), images(2), tl.ones(2, 4, 3, 3) * 0.5
    expected = add(layer(x), y)
    assert tl.equal(intrinsic.ConvAdd2d(layer, add)(x, y), expected)
    assert tl.equal(intrinsic.ConvAddReLU2d(layer, add, nn.ReLU())(x, y), F.relu(expected))


# ---- layers that round their folded weights --------------------------------------------------------------------------

FOLDED = [f"{kind}{n}d" for kind, n in itertools.product(("ConvBn", "ConvBnReLU"), (1, 2, 3))]
CONFIG = tq.get_default_qat_qconfig("fbgemm")


def folded(name, **settings):
    sizes = (3, 4) if name.startswith("Linear") else (3, 4, 3)
    return getattr(qat, name)(*sizes, qconfig=CONFIG, **settings)


@pytest.mark.parametrize("name", [*FOLDED, "LinearBn1d"])
def test_statistics_of_a_folded_layer_freeze(name):
    layer = folded(name)
    assert isinstance(layer, Folded) and not layer.freeze_bn and layer.bn.training
    assert layer.freeze_bn_stats() is layer
    assert layer.freeze_bn and not layer.bn.training
    assert layer.train() is layer and layer.training and not layer.bn.training
    assert layer.update_bn_stats() is layer
    assert not layer.freeze_bn and layer.bn.training
    layer.eval()
    assert not layer.bn.training and layer.train().bn.training
    for parameter, value in (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)):
        getattr(layer.bn, parameter).data.fill_(7.0)
        layer.reset_bn_parameters()
        assert getattr(layer.bn, parameter).eq(value).all()
    frozen = folded(name, freeze_bn=True)
    assert frozen.freeze_bn and not frozen.bn.training


@pytest.mark.parametrize("name", [*FOLDED, "LinearBn1d"])
@pytest.mark.parametrize("bias", [True, False])
def test_a_folded_layer_rounds_the_scaled_weight(name, bias):
    layer = folded(name, bias=bias).eval()
    dims = layer.weight.dim() - 2
    layer.bn.running_mean.copy_(tl.arange(4) * 0.25)
    layer.bn.running_var.copy_(tl.arange(4) * 0.5 + 0.5)
    layer.bn.weight.data.copy_(tl.tensor([0.5, 2.0, -1.0, 1.5]))
    x = images(dims) if dims else images(1)[..., 0]
    result = layer(x)
    factor = layer.bn.weight / (layer.bn.running_var + layer.bn.eps).sqrt()
    weight = layer.weight_fake_quant(layer.weight * factor.reshape(-1, *[1] * (dims + 1)))
    product = getattr(F, f"conv{dims}d")(x, weight) if dims else F.linear(x, weight)
    shift = layer.bn.bias - layer.bn.running_mean * factor + (layer.bias * factor if bias else 0)
    expected = product + shift.reshape(-1, *[1] * dims)
    expected = F.relu(expected) if "ReLU" in name else expected
    assert tl.allclose(result, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "BNReLU2d", "BNReLU3d"])
def test_a_quantized_chain_has_no_negative_numbers(name):
    layers, x = CHAINS[name]
    chain = getattr(intrinsic, name)(*layers).eval()
    chain.qconfig = tq.default_qconfig
    chain.activation_post_process = tq.FixedQParamsObserver(1 / 16, 128)
    q = tq.quantize_per_tensor(x, 1 / 32, 128, tq.quint8)
    result = getattr(nniq, name).from_float(chain)(q)
    assert (result.q_scale(), result.q_zero_point()) == (1 / 16, 128)
    expected = chain(q.dequantize())
    assert bool((expected == 0).any()) and float(expected.max()) < 127 / 16
    assert float((result.dequantize() - expected).abs().max()) < 0.15
    assert int(result.int_repr().min()) == 128
