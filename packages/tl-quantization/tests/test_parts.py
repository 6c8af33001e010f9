"""The parts of quantization: types, ranges, fusion, tables, weights."""

import numpy as np
import pytest

import tl_autograd  # noqa: F401 - float layers record
import tl_core as tl
import tl_nn as nn
import tl_quantization as tq
from tl_quantization import dtypes, fuser_method_mappings, qparams, quantization_mappings, tensor_quantizer
from tl_quantization.nn import intrinsic, quantizable
from tl_quantization.nn import quantized as nnq
from tl_quantization.nn.intrinsic.qat.modules.folding import along_channels
from tl_quantization.nn.quantized import dynamic as nnqd
from tl_quantization.nn.quantized.dynamic.modules import linear as dynamic_linear
from tl_quantization.nn.quantized.modules import utils
from tl_quantization.nn.quantized.modules.linear import LinearPackedParams
from tl_quantization.qconfig import qconfig_equals


def test_types_of_integers():
    stored = {
        tq.quint8: (tl.uint8, 0, 255),
        tq.qint8: (tl.int8, -128, 127),
        tq.qint32: (tl.int32, -(2**31), 2**31 - 1),
    }
    for dtype, (storage, low, high) in stored.items():
        assert dtypes.is_quantized_dtype(dtype) and not dtypes.is_quantized_dtype(storage)
        assert dtypes.storage_dtype(dtype) is storage and dtypes.storage_dtype(storage) is storage
        assert dtypes.quantized_dtype(storage) is dtypes.quantized_dtype(dtype) is dtype
        assert dtypes.bounds(dtype) == (low, high)
    with pytest.raises(ValueError, match=r"torch\.float32"):
        dtypes.quantized_dtype(tl.float32)
    assert repr(dtypes.QScheme("per_tensor_affine")) == "torch.per_tensor_affine"
    assert dtypes.QScheme("per_tensor_affine") == tq.per_tensor_affine != tq.per_tensor_symmetric


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 255.0), (-1.0, 3.0), (2.0, 5.0), (-7.0, -3.0), (-1e-8, 1e-8), (0.0, 0.0)]
)
@pytest.mark.parametrize("dtype", [tq.quint8, tq.qint8])
@pytest.mark.parametrize("reduce_range", [False, True])
def test_a_range_and_zero_are_covered(low, high, dtype, reduce_range):
    scale, zero = qparams.choose_qparams(low, high, dtype, reduce_range)
    bottom, top = dtypes.bounds(dtype)
    bottom, top = (bottom // 2, top // 2) if reduce_range else (bottom, top)
    assert bottom <= zero <= top and scale > 0
    slack = scale * 0.5 + 1e-7
    assert (bottom - zero) * scale <= min(low, 0) + slack and (top - zero) * scale >= max(high, 0) - slack
    width = max(high, 0) - min(low, 0)
    assert scale == pytest.approx(width / (top - bottom)) or width < 1e-6
    assert qparams.range_qparams(low, high, bottom, top) == (scale, zero)


def test_a_symmetric_range_has_zero_in_its_middle():
    scale, zero = qparams.range_qparams(-1.0, 3.0, -128, 127, symmetric=True)
    assert zero == 0 and scale == pytest.approx(3.0 / 127)
    scale, zero = qparams.range_qparams(-4.0, 3.0, 0, 255, symmetric=True)
    assert zero == 128 and scale == pytest.approx(4.0 / 128)
    assert qparams.range_qparams(1.0, 3.0, 0, 255, symmetric=True)[1] == 0
    with pytest.raises(RuntimeError, match="finite"):
        qparams.choose_qparams(0.0, float("inf"), tq.quint8)


def test_integers_of_each_channel():
    x = np.array([[0.3, -2.0], [7.0, 100.0]])
    scales, zeros = np.array([0.5, 0.25]), np.array([3, 128])
    q = tensor_quantizer.PerChannel(tl.tensor(scales), tl.tensor(zeros), 0, tq.quint8)
    expected = np.clip(np.rint(x / scales[:, None]) + zeros[:, None], 0, 255)
    integers = q.integers(tl.tensor(x))
    assert np.array_equal(integers.numpy(), expected) and q.scheme == tq.per_channel_affine
    np.testing.assert_allclose(q.numbers(integers).numpy(), (expected - zeros[:, None]) * scales[:, None])
    floating = tensor_quantizer.PerChannel(tl.tensor(scales), tl.tensor([0.5, 1.0]), 1, tq.quint8)
    assert floating.scheme == tq.per_channel_affine_float_qparams
    assert "axis=1" in floating.facts() and q.integers(tl.tensor([[float("nan"), 0], [0, 0]]))[0, 0] == 0


# ---- fusion


def normalized(kind, *sizes):
    layer, norm = kind(*sizes), nn.BatchNorm1d(3) if kind is nn.Linear else nn.BatchNorm2d(3)
    norm.running_mean.copy_(tl.tensor([0.5, -1.0, 2.0]))
    norm.running_var.copy_(tl.tensor([0.5, 2.0, 1.5]))
    norm.weight.data.copy_(tl.tensor([2.0, -1.0, 0.5]))
    norm.bias.data.copy_(tl.tensor([1.0, 0.0, -1.0]))
    return layer.eval(), norm.eval()


@pytest.mark.parametrize(
    ("fuse", "kind", "sizes", "shape"),
    [
        (fuser_method_mappings.fuse_conv_bn, nn.Conv2d, (2, 3, 3), (2, 2, 5, 5)),
        (fuser_method_mappings.fuse_linear_bn, nn.Linear, (4, 3), (5, 4)),
        (fuser_method_mappings.fuse_convtranspose_bn, nn.ConvTranspose2d, (2, 3, 3), (2, 2, 5, 5)),
    ],
)
def test_a_fused_layer_computes_both(fuse, kind, sizes, shape):
    layer, norm = normalized(kind, *sizes)
    x = tl.randn(shape)
    fused = fuse(False, layer, norm)
    np.testing.assert_allclose(
        fused(x).detach().numpy(), norm(layer(x)).detach().numpy(), rtol=1e-4, atol=1e-5
    )
    with pytest.raises(AssertionError, match="all be in training or all in evaluation"):
        fuse(False, layer, norm.train())
    with pytest.raises(AssertionError, match="takes layers in"):
        fuse(True, layer, norm.eval())


def test_fused_layers_with_an_activation():
    conv, norm = normalized(nn.Conv2d, 2, 3, 3)
    relu, x = nn.ReLU().eval(), tl.randn(2, 2, 5, 5)
    fused = fuser_method_mappings.fuse_conv_bn_relu(False, conv, norm, relu)
    assert type(fused) is intrinsic.ConvReLU2d
    np.testing.assert_allclose(
        fused(x).detach().numpy(), relu(norm(conv(x))).detach().numpy(), rtol=1e-4, atol=1e-5
    )
    trained = fuser_method_mappings.fuse_conv_bn_relu(True, conv.train(), norm.train(), relu.train())
    assert type(trained) is intrinsic.ConvBnReLU2d and [*trained] == [conv, norm, relu]
    with pytest.raises(AssertionError, match="num_features"):
        fuser_method_mappings.fuse_conv_bn(True, conv, nn.BatchNorm2d(4))
    with pytest.raises(AssertionError, match="affine"):
        fuser_method_mappings.fuse_conv_bn(True, conv, nn.BatchNorm2d(3, affine=False))
    get = fuser_method_mappings.get_fuser_method
    assert get((nn.Conv2d, nn.BatchNorm2d)) is fuser_method_mappings.fuse_conv_bn
    assert get((nn.ReLU, nn.ReLU), {(nn.ReLU, nn.ReLU): abs}) is abs
    with pytest.raises((AssertionError, NotImplementedError)):
        get((nn.ReLU, nn.ReLU))


def test_hooks_of_fused_layers_move():
    calls = []
    layers = [nn.Linear(2, 2).eval(), nn.ReLU().eval()]
    layers[0].register_forward_pre_hook(lambda *a: calls.append("before"))
    layers[1].register_forward_hook(lambda *a: calls.append("after"))
    fused, rest = tq.fuse_known_modules(layers, is_qat=False)
    fused(tl.ones(1, 2))
    assert calls == ["before", "after"] and type(rest) is nn.Identity and not rest.training


def test_values_along_channels():
    assert along_channels(tl.arange(3.0), 4).shape == (1, 3, 1, 1)
    assert along_channels(tl.arange(3.0), 2).tolist() == [[0.0, 1.0, 2.0]]


# ---- tables


def test_tables_of_layers_are_copies():
    static = quantization_mappings.get_default_static_quant_module_mappings()
    dynamic = quantization_mappings.get_default_dynamic_quant_module_mappings()
    trained = quantization_mappings.get_default_qat_module_mappings()
    assert static[nn.Linear] is nnq.Linear and dynamic[nn.LSTM] is nnqd.LSTM
    assert trained[nn.Conv2d].__name__ == "Conv2d" and trained[nn.Conv2d] is not nn.Conv2d
    static.clear()
    assert nn.Linear in quantization_mappings.get_default_static_quant_module_mappings()
    listed = quantization_mappings.get_default_qconfig_propagation_list()
    assert {nn.Linear, nn.LSTM, nn.Conv3d, trained[nn.Conv2d]} <= listed and nn.Dropout3d not in listed
    assert quantization_mappings.no_observer_set() == {
        quantizable.LSTM,
        quantizable.MultiheadAttention,
        nn.Dropout,
    }
    get = quantization_mappings.get_dynamic_quant_module_class
    assert get(nn.GRU) is nnqd.GRU and get(nn.ReLU, {nn.ReLU: nn.ReLU6}) is nn.ReLU6
    with pytest.raises(AssertionError, match="does not have a corresponding"):
        get(nn.ReLU)


def test_equal_configurations():
    first, second = tq.default_qconfig, tq.default_per_channel_qconfig
    assert (
        qconfig_equals(first, first)
        and not qconfig_equals(first, second)
        and qconfig_equals(None, None)
        and not qconfig_equals(first, None)
    )
    result = [
        tq.QConfig(tq.MinMaxObserver.with_args(dtype=d), tq.MinMaxObserver)
        for d in (tq.qint8, tq.qint8, tq.quint8)
    ]
    assert qconfig_equals(result[0], result[1]) and not qconfig_equals(result[0], result[2])


# ---- weights


def test_weights_by_their_observers():
    layer = nn.Linear(3, 2)
    layer.weight.data.copy_(tl.tensor([[0.5, -1.0, 0.25], [2.0, 0.0, -4.0]]))
    layer.qconfig = tq.default_per_channel_qconfig
    q = utils.observed_weight(layer, layer.weight)
    scales = np.array([1.0, 4.0]) * 2 / 255
    np.testing.assert_allclose(q.q_per_channel_scales().numpy(), scales, rtol=1e-6)
    steps = layer.weight.detach().numpy() / scales[:, None]
    clear = np.abs(np.abs(steps) - 127.5) > 1e-3  # the largest number is between two integers
    assert clear.sum() == 4 and np.array_equal(q.int_repr().numpy()[clear], np.rint(steps)[clear])
    layer.qconfig = tq.default_qconfig
    full = utils.quantized_weight(
        layer.weight, utils.weight_observer(layer, layer.weight, layer.qconfig, False)
    )
    assert full.q_scale() == pytest.approx(8 / 255)
    layer.qconfig = tq.QConfig(tq.MinMaxObserver, tq.PlaceholderObserver)
    with pytest.raises(AssertionError, match="must quantize"):
        utils.observed_weight(layer, layer.weight)
    assert utils.observed_qparams(layer) == (1.0, 0)
    layer.activation_post_process = tq.FixedQParamsObserver(0.5, 3)
    assert utils.observed_qparams(layer) == (0.5, 3)
    empty = utils.empty_weight((2, 3), tq.qint8)
    assert empty.shape == (2, 3) and empty.dtype is tq.qint8 and not empty.int_repr().any()


def test_weights_of_layers_that_quantize_at_each_call():
    layer = nn.Linear(2, 1)
    weight, kind = dynamic_linear.weight_for(layer, layer.weight)
    assert kind is tq.qint8 and weight.dtype is tq.qint8
    layer.qconfig = tq.float16_dynamic_qconfig
    half, kind = dynamic_linear.weight_for(layer, layer.weight)
    assert kind is tl.float16 and half.dtype is tl.float16
    layer.qconfig = tq.float_qparams_weight_only_qconfig
    with pytest.raises(RuntimeError, match=r"torch\.quint8"):
        dynamic_linear.weight_for(layer, layer.weight)


def test_parts_of_states():
    missing = []
    state = {"a.x": 1, "a.y": 2}
    assert (
        utils.pop_entries(state, "a.", ("x", "z"), missing) is None and missing == ["a.z"] and len(state) == 2
    )
    assert utils.pop_entries(state, "a.", ("x", "y"), missing) == [1, 2] and state == {}
    q = tq.quantize_per_tensor(tl.tensor([1.0, 2.0]), 0.5, 10, tq.quint8)
    again = utils.requantize(tl.tensor([0.3, -9.0]), q, 0.1, 4)
    assert again.int_repr().tolist() == [7, 0] and utils.numbers_of(q) is q
    with pytest.raises(NotImplementedError, match=r"got torch\.float32"):
        utils.numbers_of(tl.ones(1))
    copy = utils.with_parts_of(nn.ReLU6, nn.ReLU(inplace=True))
    assert type(copy) is nn.ReLU6 and copy.inplace


def test_functions_that_are_left():
    x = tq.quantize_per_tensor(tl.arange(16.0).reshape(1, 1, 2, 2, 4), 0.5, 0, tq.quint8)
    pooled = nnq.functional.adaptive_avg_pool3d(x, (1, 1, 2))
    assert pooled.dequantize().flatten().tolist() == [6.5, 8.5]
    flat = tq.quantize_per_tensor(tl.tensor([[[[0.0, 4.0], [8.0, 12.0]]]]), 1.0, 0, tq.quint8)
    up = nnq.functional.upsample_bilinear(flat, (3, 3))
    assert up.dequantize().flatten().tolist() == [0.0, 2.0, 4.0, 4.0, 6.0, 8.0, 8.0, 10.0, 12.0]


@pytest.mark.parametrize(("dtype", "zero"), [(tq.quint8, 0), (tq.qint8, -128)])
def test_the_sigmoid_has_256_steps_from_0_to_1(dtype, zero):
    x = tq.quantize_per_tensor(tl.tensor([-8.0, -0.5, 0.0, 2.0, 8.0]), 0.125, 3, dtype)
    result = x.sigmoid()
    assert (result.dtype, result.q_scale(), result.q_zero_point()) == (dtype, 1 / 256, zero)
    exact = 1 / (1 + np.exp(-x.dequantize().numpy()))
    steps = np.clip(np.rint(exact * 256), 0, 255)
    np.testing.assert_array_equal(result.int_repr().numpy().astype(int), steps + zero)


# ---- ranges that are almost empty, recorders, tables -----------------------------------------------------------------


@pytest.mark.parametrize(("low", "high"), [(0.0, 1e-3), (-1e-3, 0.0), (-1e-3, 2e-3), (-2e-3, 1e-3)])
@pytest.mark.parametrize(("bottom", "top"), [(0, 255), (-128, 127)])
def test_a_small_range_grows_to_the_least_scale(low, high, bottom, top):
    scale, zero = qparams.range_qparams(low, high, bottom, top)
    assert scale == qparams.LEAST_SCALE == np.float32(6.1e-5)
    growth = qparams.LEAST_SCALE * (top - bottom) / (high - low)
    assert zero == round(bottom - low * growth / scale)


def test_observers_without_a_range():
    x = tl.tensor([1.0, -2.0])
    recorder = tq.RecordingObserver()
    assert recorder(x) is x and recorder(x + 1) is not None
    record = recorder.get_tensor_value()
    assert [entry.tolist() for entry in record] == [[1.0, -2.0], [2.0, -1.0]] and record[0] is not x
    for observer in (recorder, tq.NoopObserver(), tq.ReuseInputObserver()):
        assert observer(x) is x and observer.is_dynamic is False
        with pytest.raises(RuntimeError, match="calculate_qparams should not be called for"):
            observer.calculate_qparams()
    assert (
        tq.NoopObserver(custom_op_name="mine").custom_op == "mine" and tq.NoopObserver().dtype is tl.float16
    )


def test_classes_that_replace_a_float_class():
    assert tq.get_static_quant_module_class(nn.Linear) is nnq.Linear
    assert tq.get_static_quant_module_class(nn.ReLU, {nn.ReLU: nn.ReLU6}) is nn.ReLU6
    reference = tq.get_static_quant_module_class(nn.Linear, is_reference=True)
    assert reference is nnq.reference.Linear
    assert tq.get_default_static_quant_reference_module_mappings()[nn.Linear] is reference
    assert tq.get_embedding_qat_module_mappings() == tq.get_default_qat_module_mappings()
    assert tq.get_embedding_static_quant_module_mappings() == tq.get_default_static_quant_module_mappings()


class Reference:
    """A layer with a float weight and its quantizer."""

    def __init__(self, layer):
        self.layer = layer

    def __getattr__(self, name):
        return getattr(self.layer, name)

    def get_quantized_weight(self):
        if isinstance(self.layer, nn.Embedding):
            zeros = tl.zeros(len(self.layer.weight))
            return tq.quantize_per_channel(self.layer.weight.detach(), zeros + 0.02, zeros, 0, tq.quint8)
        return tq.quantize_per_tensor(self.layer.weight.detach(), 0.02, 0, tq.qint8)


REFERENCES = [
    (nn.Linear(6, 5), nnq.Linear, (3, 6)),
    (nn.Conv1d(3, 4, 3, 2, 1), nnq.Conv1d, (2, 3, 6)),
    (nn.Conv2d(4, 4, 3, groups=2, dilation=2), nnq.Conv2d, (2, 4, 6, 6)),
    (nn.Conv3d(3, 4, 2, bias=False), nnq.Conv3d, (2, 3, 4, 4, 4)),
    (nn.ConvTranspose2d(3, 4, 3, stride=2, output_padding=1), nnq.ConvTranspose2d, (2, 3, 4, 4)),
]


@pytest.mark.parametrize(("layer", "kind", "shape"), REFERENCES, ids=lambda v: getattr(v, "__name__", ""))
def test_layers_of_references(layer, kind, shape):
    reference, x = Reference(layer), tl.linspace(-1.0, 1.0, int(np.prod(shape))).reshape(shape)
    quantized = kind.from_reference(reference, tl.tensor(0.03), tl.tensor(110))
    assert (quantized.scale, quantized.zero_point) == (0.03, 110) or quantized.scale == pytest.approx(0.03)
    assert tl.equal(quantized.weight(), reference.get_quantized_weight())
    layer.weight.data.copy_(quantized.weight().dequantize())
    q = tq.quantize_per_tensor(x, 0.01, 128, tq.quint8)
    result = quantized(q)
    assert result.q_zero_point() == 110 and result.q_scale() == pytest.approx(0.03)
    exact = layer(q.dequantize()).detach().clamp(-110 * 0.03, 145 * 0.03)
    assert float((result.dequantize() - exact).abs().max()) <= 0.0151


def test_tables_and_dynamic_layers_of_references():
    table = Reference(nn.Embedding(7, 4))
    layer = nnq.Embedding.from_reference(table)
    assert tl.equal(layer.weight(), table.get_quantized_weight())
    assert tl.equal(layer(tl.tensor([6, 0])), layer.weight().dequantize()[tl.tensor([6, 0])])
    linear = Reference(nn.Linear(3, 2))
    dynamic = nnqd.Linear.from_reference(linear)
    assert tl.equal(dynamic.weight(), linear.get_quantized_weight()) and tl.equal(dynamic.bias(), linear.bias)
    assert (dynamic.in_features, dynamic.out_features) == (3, 2)


@pytest.mark.parametrize(
    ("dtype", "storage"), [(tq.qint8, tq.qint8), (tl.float16, tl.float16)], ids=["qint8", "float16"]
)
def test_an_empty_weight_of_a_linear_layer(dtype, storage):
    packed = LinearPackedParams(dtype)
    weight, bias = packed._weight_bias()
    assert (weight.shape, weight.dtype, bias, packed.dtype) == ((1, 1), storage, None, dtype)
    x = tl.ones(2)
    assert packed(x) is x and repr(packed) == repr((weight, None))


@pytest.mark.parametrize("kind", ["Embedding", "EmbeddingBag"])
def test_tables_are_quantized_at_once(kind):
    model = nn.Sequential(getattr(nn, kind)(7, 4), nn.Linear(4, 2))
    quantized = tq.quantize_dynamic(model, dtype=tq.quint8)
    assert type(quantized[0]) is getattr(nnq, kind) and type(quantized[1]) is nn.Linear
    halved = tq.quantize_dynamic(model, dtype=tl.float16)
    assert type(halved[0]) is getattr(nn, kind) and halved[1]._packed_params.dtype is tl.float16
    with pytest.raises(ValueError, match="Don't know how to quantize"):
        tq.quantize_dynamic(model, dtype=tl.int64)


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("function", [tq.quantize, tq.quantize_qat])
def test_all_steps_at_once_show_the_model_its_data(function, inplace):
    model = tq.QuantWrapper(nn.Linear(2, 1))
    config = (
        tq.get_default_qat_qconfig("x86") if function is tq.quantize_qat else tq.get_default_qconfig("x86")
    )
    model.qconfig = config
    calls = []

    def run(prepared, *arguments):
        calls.append((prepared.training, arguments))
        assert hasattr(prepared.quant, "activation_post_process")
        for x in arguments:
            prepared(x)

    data = tl.tensor([[-1.0, 3.0]]), tl.tensor([[2.0, -2.0]])
    result = function(model, run, data, inplace=inplace)
    assert calls == [(function is tq.quantize_qat, data)] and (result is model) == inplace
    assert type(result.module) is nnq.Linear and not result.training
    observer = config.activation()
    width = 5.0 if function is tq.quantize else 4.0  # a histogram's, and a slow average's
    assert result.quant.scale.item() == pytest.approx(
        width / (observer.quant_max - observer.quant_min), rel=0.02
    )


def test_a_layer_alone_is_observed():
    layer = nn.Linear(2, 1)
    layer.qconfig = tq.default_qconfig
    prepared = tq.prepare(layer)
    prepared(tl.ones(1, 2))
    assert isinstance(prepared.activation_post_process, tq.MinMaxObserver)
    unobserved = tq.prepare(layer, allow_list={nn.Conv2d})
    assert not hasattr(unobserved, "activation_post_process")


# ---- functions of the input's quantizer ------------------------------------------------------------------------------

F = nnq.functional
Q = tq.quantize_per_tensor(tl.linspace(-2.0, 2.0, 96).reshape(2, 3, 4, 4), 0.02, 100, tq.quint8)
WEIGHT = tq.quantize_per_tensor(tl.linspace(-0.2, 0.2, 8).reshape(2, 4), 0.01, 0, tq.qint8)


@pytest.mark.parametrize(
    ("scale", "zero", "expected"),
    [(None, None, (0.02, 100)), (0.5, None, (0.5, 100)), (None, 7, (0.02, 7)), (0.25, 0, (0.25, 0))],
)
@pytest.mark.parametrize("name", ["linear", "leaky_relu"])
def test_results_have_the_quantizer_of_the_input_by_default(name, scale, zero, expected):
    if name == "linear":
        result = F.linear(Q, WEIGHT, scale=scale, zero_point=zero)
    else:
        result = F.leaky_relu(Q, 0.2, scale=scale, zero_point=zero)
    assert (result.q_scale(), result.q_zero_point()) == expected and result.dtype is tq.quint8


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_results_of_convolutions_have_a_step_of_one_by_default(dims):
    q = tq.quantize_per_tensor(tl.full((1, 2, *[3] * dims), 2.0), 0.02, 100, tq.quint8)
    weight = tq.quantize_per_tensor(tl.ones(1, 2, *[2] * dims), 0.01, 0, tq.qint8)
    result = getattr(F, f"conv{dims}d")(q, weight, None)
    assert (result.q_scale(), result.q_zero_point()) == (1.0, 0) and result.shape == (1, 1, *[2] * dims)
    assert result.int_repr().eq(2 * 2 ** (dims + 1)).all()
    other = tq.quantize_per_tensor(tl.ones(1, 2, *[3] * dims), 0.02, 0, tq.qint8)
    with pytest.raises(NotImplementedError, match="input must be of"):
        getattr(F, f"conv{dims}d")(other, weight, None)
    assert getattr(F, f"conv{dims}d")(other, weight, None, dtype=tq.qint8).dtype is tq.qint8


@pytest.mark.parametrize("align", [False, True])
def test_functions_of_the_integers_keep_the_quantizer(align):
    x = Q.dequantize()
    volume = Q.reshape(1, 2, 3, 4, 4)
    flat = nn.functional
    for result, exact in (
        (F.avg_pool3d(volume, 2), flat.avg_pool3d(volume.dequantize(), 2)),
        (F.avg_pool2d(Q, 3, 1, 1, count_include_pad=align), flat.avg_pool2d(x, 3, 1, 1, count_include_pad=align)),
        (F.avg_pool2d(Q, 3, 2, ceil_mode=align), flat.avg_pool2d(x, 3, 2, ceil_mode=align)),
        (F.max_pool2d(Q, 3, 2, 1, ceil_mode=align), flat.max_pool2d(x, 3, 2, 1, ceil_mode=align)),
        (F.interpolate(Q, (6, 7), mode="bilinear", align_corners=align),
         flat.interpolate(x, (6, 7), mode="bilinear", align_corners=align)),
        (F.upsample(Q, (6, 7), mode="bilinear", align_corners=align),
         flat.interpolate(x, (6, 7), mode="bilinear", align_corners=align)),
        (F.upsample(Q, 8), flat.interpolate(x, 8)),
    ):  # fmt: skip
        assert (result.q_scale(), result.q_zero_point()) == (0.02, 100) and result.shape == exact.shape
        assert float((result.dequantize() - exact).abs().max()) <= 0.0101


def test_copies_into_quantized_tensors():
    target = tq.quantize_per_tensor(tl.zeros(3), 0.5, 10, tq.quint8)
    assert target.copy_(tl.tensor([1.0, -9.0, 200.0])) is target
    assert target.int_repr().tolist() == [12, 0, 255] and target.q_scale() == 0.5
    source = tq.quantize_per_tensor(tl.tensor([1.0, 2.0, 3.0]), 0.25, 3, tq.quint8)
    target.copy_(source)
    assert (target.q_scale(), target.q_zero_point()) == (0.25, 3) and tl.equal(target, source)
    with pytest.raises(RuntimeError, match="expected a source of"):
        target.copy_(tq.quantize_per_tensor(tl.zeros(3), 0.25, 3, tq.qint8))
    with pytest.raises(RuntimeError, match="call dequantize"):
        tl.zeros(3).copy_(source)


def test_equal_quantized_tensors_have_equal_quantizers():
    x = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
    one = tq.quantize_per_tensor(x, 0.5, 10, tq.quint8)
    assert tl.equal(one, tq.quantize_per_tensor(x, 0.5, 10, tq.quint8))
    for other in (
        tq.quantize_per_tensor(x, 0.25, 10, tq.quint8),
        tq.quantize_per_tensor(x, 0.5, 11, tq.quint8),
        tq.quantize_per_tensor(x, 0.5, 10, tq.qint8),
        tq.quantize_per_tensor(x + 1, 0.5, 10, tq.quint8),
        tq.quantize_per_tensor(x[:1], 0.5, 10, tq.quint8),
        tq.quantize_per_channel(x, tl.tensor([0.5, 0.5]), tl.tensor([10, 10]), 0, tq.quint8),
        x,
    ):
        assert not tl.equal(one, other)
    scales, zeros = tl.tensor([0.5, 0.25]), tl.tensor([10, 11])
    each = tq.quantize_per_channel(x, scales, zeros, 0, tq.quint8)
    assert tl.equal(each, tq.quantize_per_channel(x, scales, zeros, 0, tq.quint8))
    ones = tl.ones(2, 2)
    for settings in ((scales * 2, zeros, 0), (scales, zeros + 1, 0), (scales, zeros, 1)):
        zero = tq.quantize_per_channel(ones * 0, scales, zeros * 0, 0, tq.quint8)
        assert not tl.equal(each, tq.quantize_per_channel(x, *settings, tq.quint8))
        assert tl.equal(zero, zero)


@pytest.mark.parametrize("dtype", [tq.qint8, tl.float16], ids=str)
def test_the_state_of_a_dynamic_layer_has_the_entries_and_versions_of_pytorch(dtype):
    model = tq.quantize_dynamic(nn.Sequential(nn.Linear(4, 3)), {nn.Linear}, dtype=dtype)
    state = model.state_dict()
    assert sorted(state) == [
        "0._packed_params._packed_params", "0._packed_params.dtype", "0.scale", "0.zero_point",
    ]  # fmt: skip
    assert state._metadata["0._packed_params"]["version"] == 3 and state._metadata["0"]["version"] == 4
    weight, bias = state["0._packed_params._packed_params"]
    assert weight.dtype is (tq.qint8 if dtype is tq.qint8 else tl.float32) and bias.dtype is tl.float32
    other = tq.quantize_dynamic(nn.Sequential(nn.Linear(4, 3)), {nn.Linear}, dtype=dtype)
    other.load_state_dict(state)
    x = tl.randn(2, 4)
    assert tl.equal(other(x), model(x))
