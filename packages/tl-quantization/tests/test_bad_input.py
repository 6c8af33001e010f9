"""Input at the limits and beyond: what quantized layers, observers and modes refuse, and what they compute exactly."""

import copy
import math
import pickle
import threading
import traceback

import numpy as np
import pytest

import tl_autograd  # noqa: F401 - training
import tl_core as tl
import tl_nn as nn
import tl_quantization as tq
from tl_quantization.graph.custom_config import PrepareCustomConfig
from tl_quantization.nn import quantized as nnq
from tl_quantization.nn.quantized import dynamic as nnqd
from tl_quantization.quantize_fx import convert_fx, prepare_fx

NAN, INF = math.nan, math.inf
SCALE, ZERO = 0.03, 120


def quantized(x, scale=SCALE, zero=ZERO, dtype=tq.quint8):
    return tq.quantize_per_tensor(x, scale, zero, dtype)


def linear(columns, rows=3, scale=0.5, zero=7):
    """A quantized layer with a weight and a bias of small numbers."""
    layer = nnq.Linear(columns, rows)
    rng = np.random.default_rng(columns)
    weight = tl.from_numpy(rng.integers(-127, 128, (rows, columns)).astype(np.float32) * np.float32(0.01))
    layer.set_weight_bias(quantized(weight, 0.01, 0, tq.qint8), tl.linspace(-1, 1, rows))
    layer.scale, layer.zero_point = scale, zero
    return layer


def requantized(sums, bias, factor, scale, zero):
    """The integers of exact sums, by the rule of static layers."""
    unit = np.float32(factor)
    steps = (sums.astype(np.float32) + (bias / unit).astype(np.float32)) * (
        unit * (np.float32(1) / np.float32(scale))
    )
    return np.clip(np.rint(steps) + zero, 0, 255)


def expected_linear(layer, q):
    """The integers of a linear layer, with sums of int64."""
    x = q.int_repr().numpy().astype(np.int64) - q.q_zero_point()
    w = layer.weight().int_repr().numpy().astype(np.int64)
    bias = layer.bias().numpy()
    return requantized(
        x @ w.T, bias, np.float32(q.q_scale()) * np.float32(0.01), layer.scale, layer.zero_point
    )


def near(result, expected):
    """Equal integers, but for halves of float32: one step in few numbers."""
    gap = np.abs(result.int_repr().numpy().astype(np.int64) - expected)
    assert (
        gap.max(initial=0) <= 1 and (gap != 0).mean() <= 0.01 if gap.size else result.shape == expected.shape
    )


# ---- tensors of another kind


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: nnq.Linear(4, 3)(tl.ones(2, 4)), NotImplementedError, "quantize"),
        (lambda: nnq.Conv2d(3, 4, 3)(tl.ones(1, 3, 5, 5)), NotImplementedError, "quantize"),
        (lambda: nn.Linear(4, 3)(quantized(tl.ones(2, 4))), RuntimeError, "dequantize"),
        (lambda: nn.Conv2d(3, 4, 3)(quantized(tl.ones(1, 3, 5, 5))), RuntimeError, "dequantize"),
        (lambda: nnqd.Linear(4, 3)(quantized(tl.ones(2, 4))), NotImplementedError, "dequantize"),
        (lambda: nnqd.Linear(4, 3)(tl.ones(2, 4).double()), RuntimeError, "[Ff]loat"),
        (lambda: nnq.Linear(4, 3)(quantized(tl.ones(2, 5))), RuntimeError, "5"),
        (lambda: nnq.Linear(4, 3)(quantized(tl.ones(2, 3))), RuntimeError, "must have 4 elements"),
        (lambda: nnqd.Linear(3, 3)(tl.ones(2, 4)), RuntimeError, "must have 3 elements"),
        (lambda: nnq.Conv2d(4, 4, 3, groups=2)(quantized(tl.ones(1, 3, 5, 5))), RuntimeError, "4 channels"),
        (lambda: nnq.Conv2d(3, 4, 3)(quantized(tl.ones(1, 2, 5, 5))), RuntimeError, "2"),
    ],
)
def test_tensors_of_another_kind(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


# ---- scales, zero points and numbers


@pytest.mark.parametrize("scale", [0.0, -1.0, NAN, INF, -INF])
def test_a_scale_is_positive_and_finite(scale):
    with pytest.raises(RuntimeError, match="scale must be positive and finite"):
        quantized(tl.ones(2), scale, 0)


@pytest.mark.parametrize(
    ("dtype", "zero"),
    [(tq.quint8, -1), (tq.quint8, 256), (tq.qint8, -129), (tq.qint8, 128), (tq.qint32, 2**31)],
)
def test_a_zero_point_is_an_integer_of_the_type(dtype, zero):
    with pytest.raises(RuntimeError, match=rf"zero_point must be from .* but got {zero}"):
        quantized(tl.ones(2), 1.0, zero, dtype)


@pytest.mark.parametrize("dtype", [tl.float64, tl.int32, tl.float16])
def test_only_float32_is_quantized(dtype):
    with pytest.raises(RuntimeError, match=r"torch\.float32"):
        quantized(tl.ones(2).to(dtype))


@pytest.mark.parametrize(
    ("dtype", "integers"),
    [(tq.quint8, [255, 255, 0]), (tq.qint8, [127, 127, -128]), (tq.qint32, [-(2**31), 2**31 - 1, -(2**31)])],
)
def test_numbers_that_are_not_finite(dtype, integers):
    """As PyTorch 2.13 has them."""
    assert quantized(tl.tensor([NAN, INF, -INF]), 0.5, 10, dtype).int_repr().tolist() == integers


@pytest.mark.parametrize("number", [NAN, INF, -INF])
def test_a_dynamic_layer_refuses_numbers_that_are_not_finite(number):
    with pytest.raises(RuntimeError, match="finite"):
        nnqd.Linear(4, 3)(tl.full((1, 4), number))


# ---- sizes


@pytest.mark.parametrize("shape", [(0, 6), (2, 0, 6), (0, 0, 6)])
def test_batches_of_nothing(shape):
    x = tl.ones(shape)
    assert linear(6)(quantized(x)).shape == (*shape[:-1], 3)
    assert nnqd.Linear(6, 3)(x).shape == (*shape[:-1], 3)
    assert nnq.Conv2d(3, 4, 3)(quantized(tl.ones(0, 3, 5, 5))).shape == (0, 4, 3, 3)


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 7, 63, 65, 131])
def test_columns_that_fill_no_quad(columns):
    x = quantized(tl.linspace(-3, 3, 4 * columns).reshape(4, columns))
    layer = linear(columns)
    near(layer(x), expected_linear(layer, x))


@pytest.mark.parametrize("columns", [65_793, 65_794, 131_590])
def test_sums_beyond_32_bits(columns):
    """Products of the largest bytes: 255 * 127 * 65,794 is above 2^31."""
    layer = nnq.Linear(columns, 1)
    layer.set_weight_bias(quantized(tl.full((1, columns), 127.0), 1.0, 0, tq.qint8), None)
    layer.scale, layer.zero_point = float(255 * 127 * columns) / 200, 3
    assert layer(quantized(tl.full((1, columns), 255.0), 1.0, 0)).int_repr().tolist() == [[203]]


@pytest.mark.parametrize("channels", [1, 2, 3])
@pytest.mark.parametrize("geometry", [(3, 1, 1), (5, 2, 2), (3, 1, 0)])
def test_few_channels(channels, geometry):
    size, stride, padding = geometry
    layer = nnq.Conv2d(channels, 2, size, stride, padding)
    rng = np.random.default_rng(channels)
    w = rng.integers(-127, 128, (2, channels, size, size))
    weight = quantized(tl.from_numpy(w.astype(np.float32) * np.float32(0.01)), 0.01, 0, tq.qint8)
    layer.set_weight_bias(weight, tl.tensor([0.5, -0.5]))
    layer.scale, layer.zero_point = 0.4, 9
    x = quantized(tl.linspace(-3, 3, channels * 49).reshape(1, channels, 7, 7))
    integers = np.pad(
        x.int_repr().numpy().astype(np.int64) - ZERO, [(0, 0), (0, 0)] + [(padding, padding)] * 2
    )
    windows = np.lib.stride_tricks.sliding_window_view(integers, (size, size), (2, 3))[
        :, :, ::stride, ::stride
    ]
    sums = np.einsum("nchwij,ocij->nohw", windows, weight.int_repr().numpy().astype(np.int64))
    factor = np.float32(SCALE) * np.float32(0.01)
    near(layer(x), requantized(sums, np.float32([0.5, -0.5])[:, None, None], factor, 0.4, 9))


def test_a_kernel_larger_than_the_image_is_refused():
    with pytest.raises(RuntimeError, match=r"greater than 0|[Kk]ernel"):
        nnq.Conv2d(3, 4, 3)(quantized(tl.ones(1, 3, 2, 2)))


@pytest.mark.parametrize(("bits", "group"), [(4, 48), (4, 128), (3, 32)])
def test_groups_that_divide_no_row(bits, group):
    with pytest.raises(ValueError, match=r"group|bits"):
        tq.WeightOnlyLinear(192, 8, bits=bits, group=group)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.t(),
        lambda x: x[::2],
        lambda x: x[:, ::3],
        lambda x: x[1:].transpose(0, 1),
        lambda x: x[:1].expand(5, -1),
    ],
)
def test_strides_and_views(view):
    plain = tl.linspace(-3, 3, 48).reshape(8, 6)
    x, copied = view(quantized(plain)), quantized(view(plain).contiguous())
    assert x.int_repr().tolist() == copied.int_repr().tolist()
    assert x.dequantize().tolist() == copied.dequantize().tolist()
    layer = linear(x.shape[-1])
    assert tl.equal(layer(x), layer(copied))
    assert tl.equal(tl.relu(x), tl.relu(copied))


# ---- observers


@pytest.mark.parametrize("make", [tq.MinMaxObserver, tq.HistogramObserver, tq.PerChannelMinMaxObserver])
def test_observers_that_saw_nothing(make):
    observer = make()
    observer(tl.ones(0, 3))
    with pytest.warns(UserWarning, match="must run observer before calling calculate_qparams"):
        scale, zero = observer.calculate_qparams()
    assert (scale.tolist(), zero.tolist()) == ([1.0], [0])


@pytest.mark.parametrize("number", [NAN, INF])
def test_observers_of_numbers_that_are_not_finite(number):
    """The scale shows the number, as PyTorch's does."""
    observer = tq.MinMaxObserver()
    observer(tl.tensor([number, 1.0]))
    scale, zero = observer.calculate_qparams()
    assert str(scale.item()) == str(number) and zero.tolist() == [0]


# ---- modes


class Branch(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x


class WithBranch(nn.Module):
    def __init__(self):
        super().__init__()
        self.branch, self.linear = Branch(), nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(self.branch(x))


def test_untraceable_models_name_the_line():
    with pytest.raises(Exception, match="control flow") as error:
        prepare_fx(WithBranch().eval(), tq.get_default_qconfig_mapping(), (tl.ones(2, 4),))
    assert type(error.value).__name__ == "TraceError"
    assert any("if x.sum() > 0" in text for text in traceback.format_tb(error.tb))


@pytest.mark.parametrize(
    "custom",
    [
        PrepareCustomConfig().set_non_traceable_module_names(["branch"]),
        PrepareCustomConfig().set_non_traceable_module_classes([Branch]),
    ],
)
def test_untraceable_parts_are_left_out(custom):
    x, model = tl.ones(2, 4), WithBranch().eval()
    prepared = prepare_fx(model, tq.get_default_qconfig_mapping(), (x,), prepare_custom_config=custom)
    prepared(x)
    integers = convert_fx(prepared)
    assert type(integers.linear) is nnq.Linear and type(integers.branch) is Branch
    assert float((integers(x) - model(x)).abs().max()) < 0.05


class Shared(nn.Module):
    """A layer that is used twice, and one with its weight."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = tq.QuantStub(), tq.DeQuantStub()
        self.twice, self.tied = nn.Linear(4, 4), nn.Linear(4, 4)
        self.tied.weight = self.twice.weight

    def forward(self, x):
        return self.dequant(self.tied(self.twice(self.twice(self.quant(x)))))


def converted(model, x, convert=tq.convert):
    model.qconfig = tq.default_qconfig
    prepared = tq.prepare(model)
    prepared(x)
    return convert(prepared)


def test_shared_weights_and_modules_used_twice():
    tl.manual_seed(0)
    model, x = Shared().eval(), tl.randn(16, 4)
    integers = converted(model, x)
    assert tl.equal(integers.twice.weight(), integers.tied.weight())
    assert float((integers(x) - model(x)).abs().max()) < 0.1


def test_a_second_conversion_changes_nothing():
    tl.manual_seed(0)
    x = tl.randn(16, 4)
    integers = converted(Shared().eval(), x)
    assert tl.equal(tq.convert(integers)(x), integers(x))


def test_conversion_of_a_model_in_training():
    tl.manual_seed(0)
    model, x = nn.Sequential(tq.QuantStub(), nn.Linear(4, 3), tq.DeQuantStub()).train(), tl.randn(16, 4)
    model.qconfig = tq.get_default_qat_qconfig("fbgemm")
    trained = tq.prepare_qat(model)
    trained(x)
    integers = tq.convert(trained)
    assert type(integers[1]) is nnq.Linear
    assert float((integers(x) - trained.eval()(x)).abs().max()) < 0.1
    with pytest.raises(AssertionError, match="training mode"):
        tq.prepare_qat(nn.Sequential(nn.Linear(4, 3)).eval())


# ---- copies, pickles and threads


def copies(layer):
    return copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))


@pytest.mark.parametrize("make", [lambda: linear(6), lambda: nnqd.Linear(6, 3)])
def test_copies_of_layers(make):
    layer, x = make(), tl.linspace(-3, 3, 12).reshape(2, 6)
    x = x if isinstance(layer, nnqd.Linear) else quantized(x)
    for other in copies(layer):
        assert tl.equal(other(x), layer(x)) and tl.equal(other.weight(), layer.weight())


def test_threads_share_a_packed_weight():
    layer = linear(96, 64)
    inputs = [quantized(tl.linspace(-3, 3, rows * 96).reshape(rows, 96)) for rows in range(1, 9)]
    expected = [layer(x) for x in inputs]
    wrong = []

    def run(x, result):
        wrong.extend(1 for _ in range(50) if not tl.equal(layer(x), result))

    threads = [threading.Thread(target=run, args=pair) for pair in zip(inputs, expected, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
