"""Quantized layers against the float layers on the numbers that the integers stand for."""

import copy

import numpy as np
import pytest

import tl_autograd  # noqa: F401 - float layers record
import tl_core as tl
import tl_nn as nn
import tl_quantization as tq
from tl_nn import functional as FF
from tl_quantization.nn import intrinsic, quantizable
from tl_quantization.nn import quantized as nnq
from tl_quantization.nn.intrinsic import quantized as nniq
from tl_quantization.nn.intrinsic.quantized import dynamic as nniqd
from tl_quantization.nn.quantized import dynamic as nnqd

F = nnq.functional


def q_of(x, scale=0.03, zero=120, dtype=tq.quint8):
    return tq.quantize_per_tensor(x, scale, zero, dtype)


def observed(layer, *inputs, config=tq.default_per_channel_qconfig):
    """A float layer with its configuration, after its observer has seen its result."""
    layer.qconfig = config
    layer.activation_post_process = config.activation()
    layer.activation_post_process(layer(*inputs).detach())
    return layer


def near(result, exact):
    """Asserts that each number of the result is the nearest of its grid to the exact number."""
    assert type(result) is tl.Tensor and result.is_quantized
    scale, zero, exact = result.q_scale(), result.q_zero_point(), exact.detach().numpy()
    limits = np.iinfo(result.int_repr().numpy().dtype)
    inside = exact.clip((limits.min - zero) * scale, (limits.max - zero) * scale)
    gap = np.abs(result.dequantize().numpy() - inside).max()
    assert gap <= 0.5 * scale + 1e-6 * np.abs(exact).max()


def images(n):
    return tl.randn(2, 3, *[6] * n).clamp(-3, 3)


@pytest.fixture(autouse=True)
def seed():
    tl.manual_seed(0)


def weighted(layer, module):
    """The float layer with the numbers of the quantized one's weight."""
    plain = copy.deepcopy(layer[0] if isinstance(layer, nn.Sequential) else layer)
    plain.weight = nn.Parameter(module.weight().dequantize())
    return plain


LAYERS = [
    *((getattr(nn, f"Conv{n}d")(3, 4, 3, 2, 1), getattr(nnq, f"Conv{n}d"), images(n)) for n in (1, 2, 3)),
    *((getattr(nn, name)(3, 4, 3, stride=2, output_padding=1), getattr(nnq, name), images(n))
      for n, name in ((n, f"ConvTranspose{n}d") for n in (1, 2, 3))),
    (nn.Conv2d(3, 3, 3, groups=3, dilation=2, padding=2, padding_mode="reflect", bias=False), nnq.Conv2d, images(2)),
    (nn.Linear(6, 5), nnq.Linear, images(2)),
    (nn.Linear(6, 5, bias=False), nnq.Linear, images(2)),
]  # fmt: skip


@pytest.mark.parametrize(("layer", "kind", "x"), LAYERS, ids=lambda v: getattr(v, "__name__", ""))
def test_layers_with_weights(layer, kind, x):
    module = kind.from_float(observed(layer, x))
    q = q_of(x)
    near(module(q), weighted(layer, module)(q.dequantize()))
    assert module.weight().dtype is tq.qint8 and module(q).dtype is tq.quint8
    with pytest.raises(NotImplementedError, match="takes quantized tensors"):
        module(x)


def integers(q):
    return q.int_repr().numpy().astype(np.int64)


def windows(x, kernel, stride, padding):
    """The windows of a convolution, each as a row: [N, positions, channels * kernel * kernel]."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    view = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (2, 3))[:, :, ::stride, ::stride]
    n, channels, rows, columns = view.shape[:4]
    return view.transpose(0, 2, 3, 1, 4, 5).reshape(n, rows * columns, channels * kernel * kernel)


@pytest.mark.parametrize("kind", ["linear", "convolution"])
def test_layers_are_integer_arithmetic(kind):
    """The sums of products of integers, scaled and rounded: arXiv:1712.05877, equations 4 to 7."""
    if kind == "linear":
        layer, x = nn.Linear(6, 5), images(2)
        quantized, q = nnq.Linear.from_float(observed(layer, x)), q_of(x)
        rows = integers(q) - q.q_zero_point()
    else:
        layer, x = nn.Conv2d(3, 4, 3, 2, 1), images(2)
        quantized, q = nnq.Conv2d.from_float(observed(layer, x)), q_of(x)
        rows = windows(integers(q) - q.q_zero_point(), 3, 2, 1)
    weight = quantized.weight()
    sums = rows @ integers(weight).reshape(weight.shape[0], -1).T
    result = quantized(q)
    exact = sums * q.q_scale() * weight.q_per_channel_scales().numpy() + layer.bias.detach().numpy()
    exact = exact if kind == "linear" else exact.transpose(0, 2, 1).reshape(result.shape)
    steps = exact / result.q_scale()
    expected = np.rint(steps).astype(np.int64) + result.q_zero_point()
    clear = np.abs(steps - np.floor(steps) - 0.5) > 1e-3
    assert clear.mean() > 0.9
    assert np.array_equal(integers(result)[clear], expected.clip(0, 255)[clear])


@pytest.mark.parametrize(("layer", "kind", "x"), LAYERS, ids=lambda v: getattr(v, "__name__", ""))
def test_states_of_layers_with_weights(layer, kind, x):
    module = kind.from_float(observed(layer, x))
    again = kind.from_float(observed(copy.deepcopy(layer), x * 2))
    again.set_weight_bias(again.weight(), None)
    again.load_state_dict(module.state_dict())
    assert tl.equal(module(q_of(x)), again(q_of(x)))
    assert tl.equal(copy.deepcopy(module)(q_of(x)), module(q_of(x)))
    with pytest.raises(RuntimeError, match="Missing key"):
        again.load_state_dict({})


@pytest.mark.parametrize(
    ("layer", "kind", "x"),
    [
        (intrinsic.ConvReLU1d(nn.Conv1d(3, 4, 3), nn.ReLU()), nniq.ConvReLU1d, images(1)),
        (intrinsic.ConvReLU2d(nn.Conv2d(3, 4, 3), nn.ReLU()), nniq.ConvReLU2d, images(2)),
        (intrinsic.ConvReLU3d(nn.Conv3d(3, 4, 3), nn.ReLU()), nniq.ConvReLU3d, images(3)),
        (intrinsic.LinearReLU(nn.Linear(6, 5), nn.ReLU()), nniq.LinearReLU, images(2)),
        (intrinsic.LinearTanh(nn.Linear(6, 5), nn.Tanh()), nniq.LinearTanh, images(2)),
        (intrinsic.LinearLeakyReLU(nn.Linear(6, 5), nn.LeakyReLU(0.2)), nniq.LinearLeakyReLU, images(2)),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_fused_layers(layer, kind, x):
    module = kind.from_float(observed(layer, x))
    q = q_of(x)
    near(module(q), layer[1](weighted(layer, module)(q.dequantize())))


def test_sums_after_convolutions():
    layer = intrinsic.ConvAddReLU2d(nn.Conv2d(3, 3, 3, padding=1), tl.add, nn.ReLU())
    x, y = images(2), images(2)
    module = nniq.ConvAddReLU2d.from_float(observed(layer, x, y))
    near(
        module(q_of(x), q_of(y)),
        FF.relu(weighted(layer, module)(q_of(x).dequantize()) + q_of(y).dequantize()),
    )
    plain = nniq.ConvAdd2d.from_float(observed(intrinsic.ConvAdd2d(layer[0], tl.add), x, y))
    near(plain(q_of(x), q_of(y)), weighted(layer, plain)(q_of(x).dequantize()) + q_of(y).dequantize())


@pytest.mark.parametrize(
    ("layer", "kind", "x"),
    [
        (nn.BatchNorm2d(3), nnq.BatchNorm2d, images(2)), (nn.BatchNorm3d(3), nnq.BatchNorm3d, images(3)),
        (intrinsic.BNReLU2d(nn.BatchNorm2d(3), nn.ReLU()), nniq.BNReLU2d, images(2)),
        (nn.LayerNorm(6), nnq.LayerNorm, images(2)), (nn.GroupNorm(3, 3), nnq.GroupNorm, images(2)),
        (nn.InstanceNorm1d(3, affine=True), nnq.InstanceNorm1d, images(1)),
        (nn.InstanceNorm2d(3, affine=True), nnq.InstanceNorm2d, images(2)),
        (nn.InstanceNorm3d(3), nnq.InstanceNorm3d, images(3)),
        (nn.ELU(0.7), nnq.ELU, images(2)), (nn.Hardswish(), nnq.Hardswish, images(2)),
        (nn.LeakyReLU(0.3), nnq.LeakyReLU, images(2)), (nn.Sigmoid(), nnq.Sigmoid, images(2)),
        (nn.Softmax(1), nnq.Softmax, images(2)), (nn.PReLU(3), nnq.PReLU, images(2)),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)  # fmt: skip
def test_layers_without_integer_weights(layer, kind, x):
    layer.eval()
    q = q_of(x)
    module = kind.from_float(observed(layer, q.dequantize()))
    near(module(q), layer(q.dequantize()))


def test_relu6_and_dropout():
    q = q_of(images(2) * 4, 0.1)
    assert nnq.ReLU6()(q).dequantize().max().item() == pytest.approx(6.0)
    assert nnq.Dropout.from_float(nn.Dropout(0.5)).train()(q) is q


def test_tables():
    for kind, layer in (
        (nnq.Embedding, nn.Embedding(7, 4)),
        (nnq.EmbeddingBag, nn.EmbeddingBag(7, 4, mode="mean")),
    ):
        layer.qconfig = tq.float_qparams_weight_only_qconfig
        module = kind.from_float(layer)
        index = tl.tensor([[0, 3], [6, 6]])
        step = float(module.weight().q_per_channel_scales().max())
        assert float((module(index) - layer(index)).abs().max()) <= step
        assert module(index).dtype is tl.float32
    layer.qconfig = tq.default_qconfig
    with pytest.raises(AssertionError, match="floating zero points"):
        nnq.Embedding.from_float(layer)
    with pytest.raises(ValueError, match="weight must have shape"):
        nnq.Embedding(3, 2).set_weight(module.weight())


def test_operators_as_methods():
    x, y = q_of(images(2)), q_of(images(2), 0.05, 100)
    f = nnq.QFunctional()
    f.scale, f.zero_point = 0.1, 90
    a, b = x.dequantize(), y.dequantize()
    for result, expected in (
        (f.add(x, y), a + b), (f.mul(x, y), a * b), (f.add_relu(x, y), FF.relu(a + b)),
        (f.cat([x, y], 1), tl.cat([a, b], 1)),
        (f.matmul(x, y), a @ b), (f.mul_scalar(x, -2.5), a * -2.5), (f.mul_scalar(x, 0.0), a * 0),
    ):  # fmt: skip
        low, high = (
            -result.q_zero_point() * result.q_scale(),
            (255 - result.q_zero_point()) * result.q_scale(),
        )
        near(result, expected.clamp(low, high))
    for number in (0.6, 3.6, -9.0, 30.0):
        near(f.add_scalar(x, number), a + number)
    with pytest.raises(RuntimeError, match="call its methods"):
        f(x)
    again = nnq.QFunctional()
    again.load_state_dict(f.state_dict())
    assert again.scale == pytest.approx(0.1) and again.zero_point == 90


def test_functions():
    x = images(2)
    q = q_of(x)
    a = q.dequantize()
    w = tq.quantize_per_tensor(tl.randn(4, 3, 3, 3) * 0.3, 0.01, 0, tq.qint8)
    near(F.conv2d(q, w, None, padding=1, scale=0.1, zero_point=100), FF.conv2d(a, w.dequantize(), padding=1))
    line = q_of(images(1))
    near(
        F.conv1d(line, w[..., 0], None, scale=0.1, zero_point=100),
        FF.conv1d(line.dequantize(), w[..., 0].dequantize()),
    )
    matrix = w.flatten(1)[:, :6]
    near(F.linear(q, matrix, tl.ones(4), 0.05, 100), FF.linear(a, matrix.dequantize(), tl.ones(4)))
    for result, expected in (
        (F.elu(q, 0.03, 120, 0.5), FF.elu(a, 0.5)), (F.celu(q, 0.03, 120, 0.5), FF.celu(a, 0.5)),
        (F.hardswish(q, 0.03, 120), FF.hardswish(a)), (F.hardsigmoid(q), FF.hardsigmoid(a)),
        (F.hardtanh(q), FF.hardtanh(a)), (F.leaky_relu(q, 0.2), FF.leaky_relu(a, 0.2)),
        (F.threshold(q, 0.5, 0.0), FF.threshold(a, 0.5, 0.0)), (F.clamp(q, -1.0, 1.0), a.clamp(-1, 1)),
        (F.avg_pool2d(q, 2), FF.avg_pool2d(a, 2)), (F.adaptive_avg_pool2d(q, 2), FF.adaptive_avg_pool2d(a, 2)),
        (F.max_pool2d(q, 2), FF.max_pool2d(a, 2)), (F.max_pool1d(line, 2), FF.max_pool1d(line.dequantize(), 2)),
        (F.interpolate(q, scale_factor=2, mode="bilinear"), FF.interpolate(a, scale_factor=2, mode="bilinear")),
        (F.upsample_nearest(q, 9), FF.interpolate(a, 9)),
    ):  # fmt: skip
        near(result, expected)
    with pytest.raises(NotImplementedError, match="padding_mode"):
        F.conv2d(q, w, None, padding_mode="reflect")
    with pytest.raises(NotImplementedError, match="return_indices"):
        F.max_pool2d(q, 2, return_indices=True)


# ---- at each call ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "config", [tq.default_dynamic_qconfig, tq.float16_dynamic_qconfig], ids=["int8", "float16"]
)
@pytest.mark.parametrize("kind", ["Linear", "LSTM", "GRU", "LSTMCell", "GRUCell", "RNNCell"])
def test_layers_that_quantize_at_each_call(kind, config):
    more = {"num_layers": 2, "bidirectional": True} if kind in ("LSTM", "GRU") else {}
    layer = getattr(nn, kind)(6, 5, **more)
    layer.qconfig = config
    module = getattr(nnqd, kind).from_float(layer)
    x = tl.randn(*((7, 3, 6) if more else (3, 6)))
    result, expected = module(x), layer(x)
    first = result[0] if isinstance(result, tuple) else result
    other = expected[0] if isinstance(expected, tuple) else expected
    assert first.shape == other.shape and float((first - other).abs().max()) < 0.05
    holder = module._packed_params if kind == "Linear" else module
    dtype = holder.weight_dtype if kind.endswith("Cell") else holder.dtype
    again = getattr(nnqd, kind)(6, 5, **more, dtype=dtype)
    again.load_state_dict(module.state_dict())
    repeated = again(x)
    assert tl.equal(repeated[0] if isinstance(repeated, tuple) else repeated, first)


def test_dynamic_layers_compute_with_rounded_inputs():
    layer = nn.Linear(6, 5)
    module = nnqd.Linear.from_float(layer)
    x = tl.randn(4, 6)
    rounded = tq.quantize_per_tensor_dynamic(x, tq.quint8, True).dequantize()
    expected = rounded @ module.weight().dequantize().t() + layer.bias
    np.testing.assert_allclose(module(x).detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    fused = intrinsic.LinearReLU(layer, nn.ReLU())
    fused.qconfig = tq.default_dynamic_qconfig
    assert tl.equal(nniqd.LinearReLU.from_float(fused)(x), FF.relu(module(x)))


def test_dynamic_convolutions():
    layer = nn.Conv2d(3, 4, 3)
    layer.qconfig = tq.default_dynamic_qconfig
    x = images(2)
    module = nnqd.Conv2d.from_float(layer)
    assert float((module(x) - layer(x)).abs().max()) < 0.2 and module(x).dtype is tl.float32


def test_recurrent_layers_take_states_and_single_sequences():
    layer = nn.LSTM(6, 5, batch_first=True)
    module = nnqd.LSTM.from_float(layer)
    x, start = tl.randn(3, 7, 6), (tl.randn(1, 3, 5), tl.randn(1, 3, 5))
    (a, (h, c)), (b, (h2, c2)) = module(x, start), layer(x, start)
    for one, two in ((a, b), (h, h2), (c, c2)):
        assert one.shape == two.shape and float((one - two).abs().max()) < 0.1
    assert module(x[0])[0].shape == layer(x[0])[0].shape
    with pytest.raises(NotImplementedError, match="proj_size"):
        nnqd.LSTM.from_float(nn.LSTM(6, 5, proj_size=2))


# ---- made of parts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_quantizable_lstm_is_the_float_one(bias, bidirectional):
    layer = nn.LSTM(6, 5, 2, bias=bias, bidirectional=bidirectional)
    module = quantizable.LSTM.from_float(layer)
    x = tl.randn(7, 3, 6)
    start = tuple(tl.randn(4 if bidirectional else 2, 3, 5) for _ in range(2))
    for hidden in (None, start):
        (a, (h, c)), (b, (h2, c2)) = layer(x, hidden), module(x, hidden)
        for one, two in ((a, b), (h, h2), (c, c2)):
            np.testing.assert_allclose(one.detach().numpy(), two.detach().numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "settings", [{}, {"kdim": 4, "vdim": 3}, {"add_bias_kv": True, "add_zero_attn": True}, {"bias": False}]
)
def test_quantizable_attention_is_the_float_one(settings):
    layer = nn.MultiheadAttention(8, 2, **settings)
    module = quantizable.MultiheadAttention.from_float(layer)
    q, k, v = (
        tl.randn(5, 2, 8),
        tl.randn(6, 2, settings.get("kdim", 8)),
        tl.randn(6, 2, settings.get("vdim", 8)),
    )
    padding = tl.tensor([[False] * 6, [False] * 4 + [True] * 2])
    for arguments in (
        {},
        {"key_padding_mask": padding},
        {"attn_mask": tl.zeros(5, 6)},
        {"average_attn_weights": False},
    ):
        for one, two in zip(layer(q, k, v, **arguments), module(q, k, v, **arguments)):
            np.testing.assert_allclose(one.detach().numpy(), two.detach().numpy(), rtol=1e-4, atol=1e-5)
    back = module.dequantize()
    np.testing.assert_allclose(
        back(q, k, v)[0].detach().numpy(), layer(q, k, v)[0].detach().numpy(), atol=1e-5
    )


def test_layers_without_memory():
    module = nnq.ConvTranspose2d(3, 4, 3, device="meta")
    assert module.weight().device.type == module.bias().device.type == "meta"
    assert module.weight().shape == (3, 4, 3, 3)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embeddings_on_packed_rows(mode):
    table, scales = tl.randn(7, 4), tl.rand(7) + 0.1
    weight = tq.quantize_per_channel(table, scales, tl.rand(7), 0, tq.quint8)
    indices, offsets = tl.tensor([3, 0, 6, 3, 2]), tl.tensor([0, 2, 2])
    layer = nnq.Embedding(7, 4, _weight=weight)
    close = {"rtol": 1e-5, "atol": 1e-6}  # a row is q * scale + bias, rounded once
    np.testing.assert_allclose(layer(indices).numpy(), weight.dequantize()[indices].numpy(), **close)
    assert layer(indices.reshape(1, 5, 1)).shape == (1, 5, 1, 4)
    bag = nnq.EmbeddingBag(7, 4, mode=mode, _weight=weight)
    expected = FF.embedding_bag(indices, weight.dequantize(), offsets, mode=mode)
    np.testing.assert_allclose(bag(indices, offsets).numpy(), expected.numpy(), **close)
    with pytest.raises(RuntimeError, match="Index 0 is out of bounds: 7, range 0 to 7"):
        layer(tl.tensor([7]))


@pytest.mark.parametrize(
    ("layer", "key", "value", "words"),
    [
        (nnq.Linear(3, 2), "scale", (1,), "scale and zero_point must be numbers, but got tuple and Tensor"),
        (nnq.Linear(3, 2), "_packed_params._packed_params", 1, "must have a weight and a bias"),
        (nnq.Linear(3, 2), "_packed_params._packed_params", (tl.ones(2), None), "a matrix as its weight"),
        (
            nnq.Conv2d(3, 2, 1),
            "weight",
            tl.ones(2, 3, 1, 1),
            r"weight must be a quantized tensor of shape \(2, 3",
        ),
        (
            nnq.Conv2d(3, 2, 1),
            "bias",
            tl.ones(2, dtype=tl.int32),
            "bias must be a tensor of floating numbers",
        ),
        (
            nnq.Embedding(3, 2),
            "_packed_params._packed_weight",
            tl.ones(3, 2),
            r"a quantized tensor of shape \(3, 2",
        ),
    ],
)
def test_states_with_other_entries_are_refused(layer, key, value, words):
    state = layer.state_dict()
    assert key in state
    with pytest.raises(RuntimeError, match=words):
        layer.load_state_dict(state | {key: value})


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("kind", [nnq.Linear, nnqd.Linear])
def test_states_of_older_versions(kind, version):
    """Before version 3, weight and bias were entries of their own; in version 1 they were the layer's."""
    weight = tq.quantize_per_tensor(tl.arange(6.0).reshape(2, 3), 0.5, 0, tq.qint8)
    state = kind(3, 2).state_dict()
    for key in ("_packed_params._packed_params", "_packed_params.dtype"):
        del state[key]
    prefix = "" if version == 1 else "_packed_params."
    state |= {f"{prefix}weight": weight, f"{prefix}bias": tl.tensor([1.0, 2.0])}
    if version == 2:
        state["_packed_params.dtype"] = tq.qint8
    state._metadata = {"": {"version": version}, "_packed_params": {"version": version}}
    layer = kind(3, 2)
    assert layer.load_state_dict(state) == ([], [])
    assert tl.equal(layer.weight().int_repr(), weight.int_repr()) and layer.bias().tolist() == [1, 2]


def test_states_of_older_observers():
    observer = tq.PerChannelMinMaxObserver()
    observer.load_state_dict({"min_vals": tl.zeros(2), "max_vals": tl.ones(2), "eps": observer.eps})
    assert observer.max_val.tolist() == [1, 1]
