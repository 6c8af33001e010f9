"""Quantized layers as programs of TorchScript, and archives with packed weights."""

import io
import pickle
from copy import deepcopy
from pathlib import Path

import pytest

import tl_checkpoint
import tl_core as tl
import tl_nn as nn
import tl_quantization as tq
from tl_compiler import jit
from tl_quantization.nn import quantized as nnq
from tl_quantization.nn.intrinsic import quantized as nniq
from tl_quantization.numeric_suite.graphs import OutputLogger, add_loggers, extract_logger_info
from tl_quantization.packed.states import Conv2dPackedParamsBase
from tl_quantization.quantize_fx import convert_fx, prepare_fx, prepare_qat_fx

DATA = Path(__file__).parent / "data"


class Network(nn.Module):
    """A convolution with ReLU and a linear layer between stubs."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = tq.QuantStub(), tq.DeQuantStub()
        self.conv, self.relu, self.fc = nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Linear(4, 5)

    def forward(self, x):
        x = self.relu(self.conv(self.quant(x)))
        return self.dequant(self.fc(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1)))


@pytest.fixture(scope="module")
def model():
    tl.manual_seed(0)
    model = Network().eval()
    model.qconfig = tq.get_default_qconfig("x86")
    observed = tq.prepare(tq.fuse_modules(model, [["conv", "relu"]]))
    x = tl.randn(2, 3, 8, 8)
    observed(x)
    return tq.convert(observed), x


def reload(program):
    buffer = io.BytesIO()
    jit.save(program, buffer)
    buffer.seek(0)
    return jit.load(buffer)


def test_a_quantized_model_is_a_program(model):
    quantized, x = model
    program = jit.script(quantized)
    assert "quantized.conv2d_relu" in program.conv.code and "quantized.linear(" in program.fc.code
    assert tl.equal(program(x), quantized(x))
    assert tl.equal(reload(program)(x), quantized(x))


def test_an_archive_of_pytorch_has_packed_weights():
    """A model of this architecture, written and run by PyTorch 2.13."""
    program = jit.load(DATA / "scripted_network.pt")
    x, expected = tl_checkpoint.load(DATA / "scripted_network_results.pt")
    assert tl.equal(program(x), expected)


def test_dynamic_layers_are_programs():
    tl.manual_seed(0)
    model = tq.quantize_dynamic(nn.Sequential(nn.Linear(4, 5), nn.ReLU()), {nn.Linear})
    x = tl.randn(3, 4)
    assert tl.equal(reload(jit.script(model))(x), model(x))


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (lambda: nnq.Conv1d(2, 3, 2, padding=1), (1, 2, 5)),
        (lambda: nnq.Conv2d(2, 3, 2, padding=1, padding_mode="reflect"), (1, 2, 5, 5)),
        (lambda: nnq.Conv3d(2, 3, 2), (1, 2, 3, 3, 3)),
        (lambda: nniq.ConvReLU1d(2, 3, 2), (1, 2, 5)),
        (lambda: nniq.LinearReLU(4, 3), (2, 4)),
        (lambda: nniq.LinearTanh(4, 3), (2, 4)),
        (lambda: nniq.LinearLeakyReLU(4, 3, 0.2), (2, 4)),
        (lambda: nnq.ConvTranspose2d(2, 3, 2), (1, 2, 4, 4)),
    ],
)
def test_layers_are_programs(layer, shape):
    tl.manual_seed(1)
    module = layer()
    weight = tl.randn(module.weight().shape)
    module.set_weight_bias(tq.quantize_per_tensor(weight, 0.02, 0, tq.qint8), tl.randn(3))
    module.scale, module.zero_point = 0.05, 100
    x = tq.quantize_per_tensor(tl.randn(shape), 0.02, 128, tq.quint8)
    assert tl.equal(reload(jit.script(module))(x).int_repr(), module(x).int_repr())


PARAMETER = [nn.Parameter(tl.tensor([0.5, 1.0, 1.5, 2.0])), nn.Parameter(tl.tensor([0.0, 0.1, 0.2, 0.3]))]


@pytest.mark.parametrize(
    ("module", "shape"),
    [
        (nnq.ReLU6(), (2, 4)),
        (nnq.Hardswish(0.1, 3), (2, 4)),
        (nnq.ELU(0.1, 3, 0.7), (2, 4)),
        (nnq.LeakyReLU(0.1, 3, 0.2), (2, 4)),
        (nnq.Sigmoid(1 / 256, 0), (2, 4)),
        (nnq.Softmax(1, 1 / 256, 0), (2, 4)),
        (nnq.Softmax(None, 1 / 256, 0), (2, 4, 3)),
        (nnq.PReLU(0.1, 3, 4), (2, 4)),
        (nnq.BatchNorm2d(4), (2, 4, 3, 3)),
        (nnq.BatchNorm3d(4), (2, 4, 3, 3, 2)),
        (nniq.BNReLU2d(4), (2, 4, 3, 3)),
        (nniq.BNReLU3d(4), (2, 4, 3, 3, 2)),
        (nnq.LayerNorm((4,), *PARAMETER, 0.1, 3), (2, 4)),
        (nnq.GroupNorm(2, 4, *PARAMETER, 0.1, 3), (2, 4, 3)),
        (nnq.InstanceNorm1d(4, None, None, 0.1, 3), (2, 4, 3)),
        (nnq.InstanceNorm2d(4, *PARAMETER, 0.1, 3), (2, 4, 3, 3)),
        (nnq.Dropout(), (2, 4)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else None,
)
@pytest.mark.filterwarnings("ignore:Implicit dimension choice")
def test_layers_without_packed_weights_are_programs(module, shape):
    x = tq.quantize_per_tensor(tl.randn(shape), 0.02, 128, tq.quint8)
    assert tl.equal(reload(jit.script(module))(x), module(x))


def test_sums_and_products_are_programs():
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.ff = nnq.QFunctional()
            self.ff.scale, self.ff.zero_point = 0.1, 40

        def forward(self, x, y):
            parts = [self.ff.add(x, y), self.ff.mul(x, y), self.ff.add_relu(x, y), self.ff.matmul(x, y)]
            return self.ff.cat([self.ff.add_scalar(p, 0.5) for p in parts] + [self.ff.mul_scalar(x, 2.0)], 0)

    x, y = (tq.quantize_per_tensor(tl.randn(3, 3), 0.02, 128, tq.quint8) for _ in range(2))
    assert tl.equal(reload(jit.script(Both()))(x, y), Both()(x, y))


@pytest.mark.parametrize("dtype", [tq.quint8, tq.quint4x2])
def test_embeddings_are_programs(dtype):
    rows, bags = (
        nnq.Embedding(10, 4, dtype=dtype),
        nnq.EmbeddingBag(10, 4, include_last_offset=True, dtype=dtype),
    )
    scales, zeros = tl.rand(10) + 0.1, tl.rand(10)
    for module in (rows, bags):
        module.set_weight(tq.quantize_per_channel(tl.rand(10, 4), scales, zeros, 0, dtype))
    indices, offsets = tl.tensor([1, 2, 9]), tl.tensor([0, 1, 3])
    assert tl.equal(reload(jit.script(rows))(indices), rows(indices))
    assert tl.equal(reload(jit.script(bags))(indices, offsets), bags(indices, offsets))


def test_functions_that_quantize_are_operators_of_programs():
    """Under the alias `torch`, the functions say another module than that of their text."""

    def round_both(x, scales):
        one = tq.quantize_per_tensor(x, 0.1, 3, tq.quint8)
        return (
            one.dequantize()
            + tq.quantize_per_channel(x, scales, tl.zeros_like(scales), 0, tq.qint8).dequantize()
        )

    module = tq.quantize_per_tensor.__module__
    x, scales = tl.randn(3, 4), tl.tensor([0.1, 0.2, 0.3])
    try:
        tq.quantize_per_tensor.__module__ = "torch"
        program = jit.script(round_both)
    finally:
        tq.quantize_per_tensor.__module__ = module
    assert "aten::quantize_per_tensor" in str(program.graph)
    assert tl.equal(program(x, scales), round_both(x, scales))


def test_a_program_keeps_quantized_tensors():
    class Holder(nn.Module):
        def __init__(self, x):
            super().__init__()
            self.register_buffer("x", x)

        def forward(self):
            return self.x

    scales, zeros = tl.tensor([0.1, 0.2], dtype=tl.float64), tl.tensor([1, 2])
    for x in (
        tq.quantize_per_tensor(tl.randn(2, 3), 0.2, 10, tq.quint8),
        tq.quantize_per_channel(tl.randn(2, 3), scales, zeros, 0, tq.qint8),
    ):
        assert tl.equal(reload(jit.script(Holder(x)))(), x)


def weight_and_bias():
    return tq.quantize_per_tensor(tl.ones(1, 1, 2, 2), 0.5, 0, tq.qint8), tl.zeros(1)


def numbers(*values):
    return [tl.tensor([value]) for value in values]


def test_states_of_three_versions_are_read():
    weight, bias = weight_and_bias()
    windows = [2, 1, 2, 0, 1, 1, 1, 0, 0, 1, 0]
    first = (weight, bias, numbers(1, 2), numbers(0, 1), numbers(1, 1), tl.tensor([1]))
    second = ("2", [tl.tensor(windows, dtype=tl.int16), weight], [bias])
    third = (3, windows, [None, weight, bias])
    for state in (first, second, third):
        packed = Conv2dPackedParamsBase._of_state(state)
        assert (packed.stride, packed.padding, packed.dilation, packed.groups) == ((1, 2), (0, 1), (1, 1), 1)
        assert tl.equal(packed.unpack()[0].int_repr(), weight.int_repr())


def test_damaged_states_are_refused():
    weight, bias = weight_and_bias()
    states = [
        (weight, bias, numbers(1), numbers(0, 1), numbers(1, 1), tl.tensor([1])),
        (weight, bias, [1, 1], numbers(0, 1), numbers(1, 1), tl.tensor([1])),
        (weight, bias, numbers(0, 1), numbers(0, 1), numbers(1, 1), tl.tensor([1])),
        (3, [2, 1.0], [None, weight, bias]),
        (4, [2], [None, weight, bias]),
        (3, "x", [None, weight, bias]),
        pickle.dumps(None),
    ]
    for state in states:
        with pytest.raises(RuntimeError, match="the state of a packed convolution"):
            Conv2dPackedParamsBase._of_state(state)


def test_a_state_of_before_uses_all_bits():
    """PyTorch before version 4 of the layer's state left no bit unused."""
    layer = nnq.dynamic.Linear(3, 1)
    layer.set_weight_bias(tq.quantize_per_tensor(tl.ones(1, 3), 1.0, 0, tq.qint8), tl.zeros(1))
    state = layer.state_dict()
    x = tl.tensor([[0.0, 0.3, 1.0]])
    state._metadata[""]["version"] = 3
    layer.load_state_dict(state)
    assert layer.version == 3 and abs(float(layer(x)) - (round(0.3 * 255) / 255 + 1)) < 1e-6


def test_loggers_of_graphs_are_programs():
    logger = OutputLogger("fc", "fc", "a", "linear_0", "Linear", "Linear", "node_output", 0, 0, "fc")
    program = jit.script(logger)
    assert program(tl.ones(2)).tolist() == [1, 1]
    assert [each.tolist() for each in program.stats] == [[1, 1]]
    program.enabled = False
    program(tl.ones(2))
    assert len(program.stats) == 1


def test_results_of_scripted_models_are_compared():
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU()).eval()
    x = tl.randn(4, 3)
    prepared = prepare_fx(model, tq.get_default_qconfig_mapping("x86"), (x,))
    prepared(x)
    pair = add_loggers("float", prepared, "int8", convert_fx(deepcopy(prepared)), OutputLogger)
    first, second = (jit.script(each) for each in pair)
    first(x)
    second(x)
    for layer in extract_logger_info(first, second, OutputLogger, "int8").values():
        values = [layer["node_output"][name][0]["values"][0] for name in ("float", "int8")]
        values = [each.dequantize() if each.is_quantized else each for each in values]
        assert float((values[0] - values[1]).abs().max()) < 0.05


@pytest.mark.parametrize(
    "make", [tq.default_fused_act_fake_quant, tq.default_fused_per_channel_wt_fake_quant]
)
def test_fused_rounding_is_a_program(make):
    layer, x = make(), tl.randn(3, 4)
    program = jit.script(deepcopy(layer))
    assert tl.equal(program(x), layer(x))
    assert tl.equal(program.scale, layer.scale) and tl.equal(program.zero_point, layer.zero_point)


def test_a_trace_of_a_quantized_model_is_its_program(model):
    """Quantized tensors have no fakes, which traces of other models run on."""
    quantized, x = model
    program = jit.trace(quantized, (x,))
    again = reload(program)
    for other in (x, x[:1] * 2):
        assert tl.equal(program(other), quantized(other)) and tl.equal(again(other), quantized(other))


def test_a_wrapped_model_and_observed_functions_are_programs():
    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.sum = nnq.FloatFunctional()

        def forward(self, x):
            return self.sum.add_relu(x, x)

    wrapped = tq.QuantWrapper(nn.Linear(3, 2)).eval()
    for module in (wrapped, Sum()):
        x = tl.randn(4, 3)
        assert tl.equal(jit.script(module)(x), module(x))


def test_fake_quantizers_of_programs_are_switched():
    model = nn.Sequential(nn.Linear(3, 2)).train()
    x = tl.randn(4, 3)
    program = jit.script(prepare_qat_fx(model, tq.get_default_qat_qconfig_mapping("x86"), (x,)))
    program(x)
    for part in ("fake_quant", "observer"):
        for word, value in (("disable", 0), ("enable", 1)):
            program.apply(getattr(tq, f"{word}_{part}"))
            flags = [v for name, v in program.state_dict().items() if name.endswith(f".{part}_enabled")]
            assert len(flags) == 3 and all(flag.tolist() == [value] for flag in flags)
