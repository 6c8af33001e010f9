"""Rounding in training: values as quantization gives them, gradients as the straight-through estimator says."""

import copy

import numpy as np
import pytest

import tl_autograd  # noqa: F401 - gradients
import tl_core as tl
import tl_nn as nn
import tl_quantization as tq
from tl_quantization.nn import intrinsic, qat
from tl_quantization.nn.intrinsic import qat as fused_qat
from tl_quantization.nn.qat import dynamic as dynamic_qat

X = np.linspace(-2, 2, 41, dtype=np.float32)


def test_values_and_gradients_of_one_scale():
    x = tl.from_numpy(X.copy()).requires_grad_()
    y = tq.fake_quantize_per_tensor_affine(x, 0.1, 5, 0, 20)
    steps = np.rint(X * (np.float32(1) / np.float32(0.1))) + 5
    np.testing.assert_allclose(y.detach().numpy(), (np.clip(steps, 0, 20) - 5) * np.float32(0.1), rtol=1e-6)
    y.backward(tl.arange(41.0))
    assert x.grad.tolist() == (np.arange(41) * ((steps >= 0) & (steps <= 20))).tolist()


def test_values_are_those_of_quantized_tensors():
    x = tl.from_numpy(X)
    scales, zeros = tl.tensor([0.05, 0.3]), tl.tensor([3, 100], dtype=tl.int32)
    both = tl.stack([x, x])
    result = tq.fake_quantize_per_channel_affine(both, scales, zeros, 0, 0, 255)
    assert tl.equal(result, tq.quantize_per_channel(both, scales, zeros, 0, tq.quint8).dequantize())
    one = tq.fake_quantize_per_tensor_affine(x, tl.tensor(0.05), tl.tensor(3), -128, 127)
    assert tl.equal(one, tq.quantize_per_tensor(x, 0.05, 3, tq.qint8).dequantize())


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: tq.fake_quantize_per_tensor_affine(x, 0.1, 300, 0, 255), "zero_point"),
        (lambda x: tq.fake_quantize_per_tensor_affine(x, 0.1, 0, 9, 3), "quant_min"),
        (
            lambda x: tq.fake_quantize_per_channel_affine(x, tl.ones(3), tl.zeros(3), 0, 0, 255),
            "scale must have shape",
        ),
        (
            lambda x: tq.fake_quantize_per_channel_affine(x, tl.ones(2), tl.zeros(2), 1, 0, 255),
            "axis .* got 1",
        ),
    ],
)
def test_wrong_arguments(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(tl.ones(2))


def test_switches():
    module = tq.FakeQuantize()
    x = tl.tensor([0.0, 0.1234, 2.55])
    rounded = module(x)
    assert not tl.equal(rounded, x)
    module.apply(tq.disable_fake_quant)
    assert module(x) is x
    module.apply(tq.enable_fake_quant)
    module.apply(tq.disable_observer)
    module(x * 100)
    assert float(module.scale) == pytest.approx(0.01)
    module.apply(tq.enable_observer)
    module(x * 100)
    assert float(module.scale) > 0.01


def test_states_hold_scales_of_channels():
    one = tq.default_per_channel_weight_fake_quant()
    one(tl.rand(5, 3))
    two = tq.default_per_channel_weight_fake_quant()
    two.load_state_dict(one.state_dict())
    assert tl.equal(one.scale, two.scale) and two.scale.shape == (5,)


def test_known_scales_stay():
    module = tq.default_fixed_qparams_range_0to1_fake_quant()
    module(tl.rand(100) * 50)
    assert (float(module.scale), int(module.zero_point)) == (1 / 256, 0)
    with pytest.raises(AssertionError, match="quant_min"):
        tq.FakeQuantize(quant_min=-5, quant_max=255)
    with pytest.raises(AssertionError, match="moving average"):
        tq.FusedMovingAvgObsFakeQuantize(observer=tq.MinMaxObserver)


def float_layers():
    conv = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
    norm = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}
    for n in (1, 2, 3):
        x = tl.rand(3, 2, *[6] * n)
        yield conv[n](2, 4, 3, padding=1), getattr(qat, f"Conv{n}d"), x
        for name, layers in (
            (f"ConvReLU{n}d", [conv[n](2, 4, 3), nn.ReLU()]),
            (f"ConvBn{n}d", [conv[n](2, 4, 3), norm[n](4)]),
            (f"ConvBnReLU{n}d", [conv[n](2, 4, 3, bias=False), norm[n](4), nn.ReLU()]),
        ):
            yield getattr(intrinsic, name)(*layers), getattr(fused_qat, name), x
    yield nn.Linear(4, 3), qat.Linear, tl.rand(7, 4)
    yield nn.Linear(4, 3), dynamic_qat.Linear, tl.rand(7, 4)
    yield intrinsic.LinearReLU(nn.Linear(4, 3), nn.ReLU()), fused_qat.LinearReLU, tl.rand(7, 4)
    yield intrinsic.LinearBn1d(nn.Linear(4, 3), nn.BatchNorm1d(3)), fused_qat.LinearBn1d, tl.rand(7, 4)
    yield nn.Embedding(5, 4), qat.Embedding, tl.tensor([[0, 3], [4, 4]])
    yield nn.EmbeddingBag(5, 4), qat.EmbeddingBag, tl.tensor([[0, 3], [4, 4]])


def config_for(kind):
    if kind in (qat.Embedding, qat.EmbeddingBag):
        return tq.default_embedding_qat_qconfig
    return (
        tq.default_dynamic_qat_qconfig if kind is dynamic_qat.Linear else tq.get_default_qat_qconfig("fbgemm")
    )


@pytest.mark.parametrize(
    ("layer", "kind", "x"),
    [pytest.param(*c, id=f"{c[1].__name__}-{i}") for i, c in enumerate(float_layers())],
)
def test_layers_that_round_are_near_their_float_ones_and_learn(layer, kind, x):
    layer.qconfig = config_for(kind)
    output = kind.from_float(layer)
    expected, result = layer(x), output(x)
    assert result.shape == expected.shape
    assert float((result - expected).abs().max()) < 0.05 * float(expected.abs().max())
    assert not tl.equal(result, expected)
    result.square().sum().backward()
    assert float(output.weight.grad.abs().sum()) > 0
    output.weight_fake_quant.disable_fake_quant()
    for norm in (m for m in layer.modules() if hasattr(m, "running_mean")):
        norm.reset_running_stats()
    np.testing.assert_allclose(output(x).detach().numpy(), layer(x).detach().numpy(), rtol=1e-3, atol=1e-4)


def test_folded_statistics_freeze():
    layer = intrinsic.ConvBn2d(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
    layer.qconfig = tq.default_qat_qconfig
    result = fused_qat.ConvBn2d.from_float(layer)
    x = tl.rand(2, 1, 5, 5)
    result.apply(fused_qat.freeze_bn_stats)
    before = result.bn.running_mean.clone()
    result.train()(x)
    assert tl.equal(result.bn.running_mean, before)
    result.apply(fused_qat.update_bn_stats)
    result(x)
    assert not tl.equal(result.bn.running_mean, before)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("factor", [0.0, 0.7])
def test_a_folded_layer_without_division_is_the_normalized_layer(bias, frozen, factor):
    """A factor of 0 makes a division by it nan; statistics of batches and running ones follow alike."""
    tl.manual_seed(0)
    conv, bn = nn.Conv2d(2, 3, 2, bias=bias).double(), nn.BatchNorm2d(3).double()
    for values in (bn.running_mean, bn.running_var, bn.bias.data):
        values.uniform_(0.5, 2)
    bn.weight.data[1] = factor
    layer = intrinsic.ConvBn2d(conv, bn)
    layer.qconfig = tq.default_qat_qconfig
    folded = fused_qat.ConvBn2d.from_float(copy.deepcopy(layer)).double()
    folded.apply(tq.disable_fake_quant).apply(tq.disable_observer)
    folded._enable_slow_path_for_better_numerical_stability = True
    if frozen:
        folded.apply(fused_qat.freeze_bn_stats)
        bn.eval()
    x = tl.randn(4, 2, 5, 5, dtype=tl.float64)
    for _ in range(2):
        np.testing.assert_allclose(
            folded(x).detach().numpy(), bn(conv(x)).detach().numpy(), rtol=1e-9, atol=1e-12
        )
    np.testing.assert_allclose(folded.bn.running_var.numpy(), bn.running_var.numpy(), rtol=1e-12)


def test_layers_come_back_as_float_ones():
    for layer in (nn.Linear(3, 2), nn.Conv2d(1, 2, 3), nn.Embedding(4, 2), nn.EmbeddingBag(4, 2)):
        has_rows = isinstance(layer, (nn.Embedding, nn.EmbeddingBag))
        layer.qconfig = tq.default_embedding_qat_qconfig if has_rows else tq.default_qat_qconfig
        result = getattr(qat, type(layer).__name__).from_float(layer)
        assert type(result.to_float()) is type(layer) and result.to_float().weight is layer.weight


def test_wrong_layers_are_refused():
    with pytest.raises(AssertionError, match="from_float only works for Linear"):
        layer = nn.Conv2d(1, 1, 1)
        layer.qconfig = tq.default_qat_qconfig
        qat.Linear.from_float(layer)
    with pytest.raises(AssertionError, match="qconfig must be provided"):
        qat.Linear(2, 2)
    for rows in (qat.Embedding, qat.EmbeddingBag):
        with pytest.raises(AssertionError, match="requires a qscheme of torch"):
            rows(4, 2, qconfig=tq.default_qat_qconfig)
    with pytest.raises(ValueError, match="must be dynamic"):
        dynamic_qat.Linear(2, 2, qconfig=tq.default_qat_qconfig)
    with pytest.raises(AssertionError, match="ConvReLU2d holds Conv2d, ReLU"):
        intrinsic.ConvReLU2d(nn.Conv1d(1, 1, 1), nn.ReLU())


BUFFERS = [tq.MinMaxObserver, tq.MovingAverageMinMaxObserver, tq.PerChannelMinMaxObserver,
           tq.MovingAveragePerChannelMinMaxObserver, tq.FakeQuantize, tq.FusedMovingAvgObsFakeQuantize]  # fmt: skip


@pytest.mark.parametrize("kind", BUFFERS)
def test_buffers_stay_the_same_tensors(kind):
    module = kind()
    buffers = dict(module.named_buffers())
    module(tl.tensor([[0.0, 1.0], [-3.0, 2.0]]))
    module(tl.tensor([[0.5, 4.0], [-1.0, 9.0]]))
    module.load_state_dict(module.state_dict())
    assert all(buffers[name] is buffer for name, buffer in module.named_buffers())
    kind().load_state_dict(module.state_dict())


@pytest.mark.parametrize("kind", [tq.FakeQuantize, tq.FusedMovingAvgObsFakeQuantize])
def test_a_module_that_runs_twice_has_gradients(kind):
    module, x = kind(averaging_constant=1.0), tl.tensor([-300.0, 0.1, 2.0], requires_grad=True)
    first = module(x.clamp_min(-1.0))
    (first + module(3 * x)).sum().backward()
    assert x.grad.tolist() == [3.0, 4.0, 4.0]


def test_ranges_are_those_of_the_type_of_the_observer():
    module = tq.FakeQuantize(tq.default_per_channel_weight_observer, -128, 127)
    assert (module.quant_min, module.quant_max, module.dtype) == (-128, 127, tq.qint8)
    with pytest.raises(AssertionError, match="from -128 to 127, but got -129 and 127"):
        tq.FakeQuantize(tq.default_per_channel_weight_observer, -129, 127)


def test_synchronized_norms_keep_their_configuration():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    model[1].qconfig = tq.default_qconfig
    assert nn.SyncBatchNorm.convert_sync_batchnorm(model)[1].qconfig is tq.default_qconfig
