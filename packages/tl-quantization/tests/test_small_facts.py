"""Facts that larger tests pass by: defaults of layers, broadcast sums, states, inputs that are integers already."""

import types

import pytest

import tl_core
import tl_nn as nn
import tl_quantization as tq
from tl_core.operators import packets
from tl_nn import functional as F
from tl_quantization import fake_quantize, utils
from tl_quantization.arithmetic import add_number, mul_number
from tl_quantization.backend_config import get_native_backend_config
from tl_quantization.backend_config.onednn import get_onednn_backend_config
from tl_quantization.graph.custom_config import PrepareCustomConfig
from tl_quantization.graph.lowered_layers import static_layer
from tl_quantization.graph.weights import reference_layer
from tl_quantization.libraries.registry import quantized_input, schema_of
from tl_quantization.nn import intrinsic, qat, quantized
from tl_quantization.nn.qat.modules.rounding import check_float, needed_qconfig, share_parameters
from tl_quantization.nn.quantized import reference
from tl_quantization.nn.quantized.modules.linear import float_parameters
from tl_quantization.nn.quantized.modules.utils import OutputScale, WeightedQuantizedModule
from tl_quantization.nn.quantized.reference.modules.utils import (
    default_weight_qparams,
    quantize_weight,
    rounded_weight,
    set_weight_qparams,
)
from tl_quantization.nn.sparse.quantized.utils import check_blocks
from tl_quantization.numeric_suite import graphs as ns
from tl_quantization.numeric_suite.subgraphs import get_matching_subgraph_pairs
from tl_quantization.packed.half import HalfLinear
from tl_quantization.pruning import LambdaSL, WeightNormSparsifier
from tl_quantization.pruning.scheduler.base_scheduler import BaseScheduler
from tl_quantization.pruning.sparsifier.utils import FakeSparsity, module_contains_param
from tl_quantization.quantize_fx import convert_fx, fuse_fx, prepare_fx
from tl_quantization.quantizer.configurations import QuantizationConfig
from tl_quantization.quantizer.xnnpack_quantizer import XNNPACKQuantizer
from tl_quantization.tensor import integers_of


def rounded(values, scale=0.5, zero=10, dtype=tq.quint8):
    return tq.quantize_per_tensor(tl_core.tensor(values), scale, zero, dtype)


# ---- arithmetic


def test_sums_broadcast():
    x, y = rounded([[1.0, 2.0], [3.0, -1.0]]), rounded([0.5, -4.0])
    total = (
        tq.functions.add
        if hasattr(tq, "functions") and hasattr(tq.functions, "add")
        else packets.quantized.add
    )
    assert total(x, y, 0.5, 20).dequantize().tolist() == [[1.5, -2.0], [3.5, -5.0]]
    assert total(x, x, 0.5, 20).dequantize().tolist() == [[2.0, 4.0], [6.0, -2.0]]


def test_numbers_shift_the_zero_point():
    x = rounded([1.0, -2.0])
    y = add_number(x, 1.5)
    assert (y.q_scale(), y.q_zero_point(), y.dequantize().tolist()) == (0.5, 7, [2.5, -0.5])
    assert integers_of(y).tolist() == integers_of(x).tolist()
    far = add_number(x, 100.0)  # the zero point would be below 0
    assert 0 <= far.q_zero_point() <= 255
    assert far.dequantize().tolist() == pytest.approx([101.0, 98.0], abs=0.5)
    y = mul_number(x, -2.0)
    assert (y.q_scale(), y.q_zero_point(), y.dequantize().tolist()) == (1.0, 245, [-2.0, 4.0])
    zero = mul_number(x, 0.0)
    assert (zero.q_scale(), zero.q_zero_point(), zero.dequantize().tolist()) == (1.0, 0, [0.0, 0.0])


def test_operators_of_schemas():
    text = schema_of("f(Tensor x, %Conv2d w) -> Tensor")
    assert text == "f(Tensor x, __torch__.torch.classes.quantized.Conv2dPackedParamsBase w) -> Tensor"
    x = rounded([1.0])
    assert quantized_input(x, "relu6") is x
    with pytest.raises(NotImplementedError, match="Could not run 'quantized::relu6'"):
        quantized_input(tl_core.ones(1), "relu6")


def test_bounds_of_eight_bit_floats():
    quantize = packets.quantized_decomposed.quantize_per_tensor.default
    x = tl_core.tensor([1.0, -1e9, 1e9])
    for dtype, limit in ((tl_core.float8_e5m2, 57344), (tl_core.float8_e4m3fn, 448)):
        y = quantize(x, 1.0, 0, -limit, limit, dtype)
        assert y.to(tl_core.float32).tolist() == [1.0, -limit, limit]
        with pytest.raises(AssertionError, match=str(limit + 1)):
            quantize(x, 1.0, 0, -limit - 1, limit, dtype)


# ---- configurations


def test_answers_about_ranges_and_configurations():
    assert utils.check_min_max_valid(tl_core.tensor(0.0), tl_core.tensor(1.0)) is True
    plain = types.SimpleNamespace(activation=lambda: types.SimpleNamespace(dtype=tq.quint8), weight=None)
    assert utils.activation_is_statically_quantized(plain) is True
    assert utils.activation_dtype(tq.default_qconfig) is tq.quint8
    assert utils.get_qconfig_dtypes(tq.default_dynamic_qconfig) == (tq.quint8, tq.qint8, True)
    assert utils.to_underlying_dtype(tq.qint8) is tl_core.int8
    assert utils.is_per_tensor(tq.per_tensor_symmetric) and not utils.is_per_tensor(tq.per_channel_affine)
    assert utils.get_combined_dict({"a": 1, "b": 2}, {"b": 3}) == {"a": 1, "b": 3}
    assert utils.getattr_from_fqn(nn.Sequential(nn.Linear(1, 2)), "0.out_features") == 2


def test_defaults_of_observers_and_layers():
    weights = fake_quantize.default_per_channel_weight_fake_quant().activation_post_process
    assert (weights.reduce_range, weights.quant_min, weights.ch_axis) == (False, -128, 0)
    norm = quantized.BatchNorm2d(3)
    assert (float(norm.scale), int(norm.zero_point), norm.training) == (1.0, 0, False)
    assert XNNPACKQuantizer.get_supported_operator_for_quantization_config(
        QuantizationConfig(None, None, None, None)
    ) == []  # fmt: skip


# ---- layers


def test_layers_that_train_need_a_configuration():
    for make in (lambda: intrinsic.qat.LinearBn1d(2, 2), lambda: needed_qconfig(None)):
        with pytest.raises(AssertionError, match="qconfig must be provided"):
            make()
    assert needed_qconfig(tq.default_qconfig) is tq.default_qconfig
    layer = nn.Linear(1, 1)
    with pytest.raises(AssertionError, match="from_float only works for Linear, but got ReLU"):
        check_float(qat.Linear, nn.ReLU())
    with pytest.raises(AssertionError, match="must have qconfig defined"):
        check_float(qat.Linear, layer)
    layer.qconfig = None
    with pytest.raises(AssertionError, match="must have a valid qconfig, but got None"):
        check_float(qat.Linear, layer)
    layer.qconfig = tq.default_qat_qconfig
    check_float(qat.Linear, layer)
    source, target = nn.Linear(2, 1).eval(), qat.Linear(2, 1, qconfig=tq.default_qat_qconfig)
    assert share_parameters(target, source) is target and not target.training
    assert target.weight is source.weight and target.bias is source.bias


def test_weights_of_layers_with_a_norm():
    layer = nn.Linear(2, 1)
    assert float_parameters(layer)[1] is layer.weight
    fused = intrinsic.LinearBn1d(layer, nn.BatchNorm1d(1))
    inner, weight, _ = float_parameters(fused)
    assert inner is layer and weight is layer.weight  # a chain without running statistics of its own
    trained = qat.Linear(2, 1, qconfig=tq.default_qat_qconfig)
    trained.bn = nn.BatchNorm1d(1)
    trained.bn.running_var.fill_(4 - 1e-5)
    trained.bn.running_mean.fill_(3.0)
    _, weight, bias = float_parameters(trained)
    assert tl_core.allclose(weight, trained.weight / 2) and tl_core.allclose(bias, (trained.bias - 3) / 2)


def test_a_leaky_chain_of_integers():
    linear = reference_layer(nn.Linear(2, 3), tq.default_qconfig, get_native_backend_config(), False)
    chain = intrinsic.LinearLeakyReLU(nn.Linear(2, 3), nn.LeakyReLU(0.25))
    chain[0] = linear
    layer = static_layer(chain)(0.5, 3)
    assert (type(layer), layer.negative_slope) == (intrinsic.quantized.LinearLeakyReLU, 0.25)
    assert tl_core.allclose(layer.weight().dequantize(), linear.get_weight())


def test_rounding_of_reference_layers():
    assert default_weight_qparams() == {
        "qscheme": tq.per_tensor_affine, "dtype": tq.quint8, "scale": 1.0, "zero_point": 0
    }  # fmt: skip
    module, weight = nn.Module(), tl_core.tensor([[0.3, 1.0], [2.2, 4.0]])
    channels = {"qscheme": tq.per_channel_affine, "dtype": tq.qint8, "scale": tl_core.tensor([0.5, 2.0]),
                "zero_point": tl_core.tensor([0, 1]), "axis": 0}  # fmt: skip
    set_weight_qparams(module, "weight", channels)
    assert quantize_weight(module, "weight", weight).int_repr().tolist() == [[1, 2], [2, 3]]
    assert rounded_weight(module, "weight", weight).tolist() == [[0.5, 1.0], [2.0, 4.0]]
    set_weight_qparams(module, "half", {"qscheme": None, "dtype": tl_core.float16})
    assert rounded_weight(module, "half", weight + 2**-13).dtype is tl_core.float32
    assert quantize_weight(module, "half", weight).dtype is tl_core.float16
    set_weight_qparams(module, "plain", {"qscheme": None, "dtype": tl_core.float32})
    assert rounded_weight(module, "plain", weight) is weight
    with pytest.raises(AssertionError, match="qscheme must be one of"):
        set_weight_qparams(module, "odd", {**channels, "qscheme": "other"})


def test_the_state_of_a_reference_layer_has_its_scheme():
    channels = {"qscheme": tq.per_channel_affine, "dtype": tq.qint8, "scale": tl_core.tensor([0.5, 2.0]),
                "zero_point": tl_core.tensor([0, 1]), "axis": 0}  # fmt: skip
    layer, other = reference.Linear(2, 2, weight_qparams=channels), reference.Linear(2, 2)
    state = layer.state_dict()
    assert state["weight_qscheme"] == tq.per_channel_affine and state["weight_dtype"] is tq.qint8
    other.load_state_dict(state)
    assert (other.weight_qscheme, other.weight_dtype, other.weight_axis_int) == (
        tq.per_channel_affine,
        tq.qint8,
        0,
    )
    assert tl_core.equal(other.get_weight(), layer.get_weight())


def test_states_of_layers_with_a_scale():
    class Scale(OutputScale):
        scale, zero_point = 0.5, 3

    state = Scale().state_dict()
    assert (float(state["scale"]), int(state["zero_point"])) == (0.5, 3)
    other = Scale()
    other.scale = 9.0
    other.load_state_dict(state)
    assert (other.scale, other.zero_point) == (0.5, 3)
    with pytest.raises(RuntimeError, match="zero_point"):
        other.load_state_dict({"scale": tl_core.tensor(1.0)})

    class Weighted(WeightedQuantizedModule):
        scale, zero_point = 1.0, 0

    layer, bias = Weighted(), tl_core.ones(1, requires_grad=True)
    weight = rounded([[1.0, 2.0]], 0.5, 0, tq.qint8)
    layer.set_weight_bias(weight, bias)
    assert not layer.bias().requires_grad and layer.weight() is weight
    with pytest.raises(NotImplementedError, match="quantized"):
        layer.set_weight_bias(tl_core.ones(1), None)


def test_a_layer_of_halves():
    layer = HalfLinear(tl_core.tensor([[1.0, -2.0]], dtype=tl_core.float16), tl_core.tensor([0.5]))
    x = tl_core.tensor([[2.0, 3.0]])
    assert layer.of_floats(x).tolist() == [[-3.5]] and layer.of_floats(x, relu=True).tolist() == [[0.0]]
    assert layer.of_floats(x, bias=tl_core.tensor([10.0])).tolist() == [[6.0]]
    with pytest.raises(RuntimeError, match=r"of torch\.float16, but got torch\.float32"):
        HalfLinear(tl_core.ones(1, 1), None)


def test_blocks_of_zeros():
    check_blocks(1, 4)
    check_blocks(8, 1)
    with pytest.raises(AssertionError, match="got 4 and 1"):
        check_blocks(4, 1)


# ---- pruning


def test_schedules_of_one_s_own():
    with pytest.raises(TypeError, match="int is not an instance"):
        BaseScheduler(3)
    sparsifier = WeightNormSparsifier(0.8)
    model = nn.Sequential(nn.Linear(8, 4))
    sparsifier.prepare(model, None)
    assert module_contains_param(model[0], FakeSparsity) and not module_contains_param(
        nn.Linear(1, 1), FakeSparsity
    )
    with pytest.raises(NotImplementedError, match="BaseScheduler has no get_sl"):
        BaseScheduler(sparsifier)
    schedule = LambdaSL(sparsifier, lambda epoch: (epoch + 1) / 4)
    assert schedule.sparsifier is sparsifier and schedule.get_last_sl() == [0.2]
    state = schedule.state_dict()
    assert "sparsifier" not in state
    schedule.load_state_dict({"last_epoch": 7})
    assert schedule.last_epoch == 7


# ---- graphs


class Added(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.relu = nn.Conv2d(1, 1, 1), nn.ReLU()

    def forward(self, x, y):
        return self.relu(self.conv(x) + y)


def test_a_convolution_with_an_addend_and_a_relu_is_one_layer():
    model = Added().eval()
    fused = fuse_fx(model, backend_config=get_onednn_backend_config())
    (call,) = (n for n in fused.graph.nodes if n.op == "call_module")
    assert type(fused.get_submodule(call.target)) is intrinsic.ConvAddReLU2d and len(call.args) == 2
    x, y = tl_core.full((1, 1, 2, 2), 2.0), tl_core.full((1, 1, 2, 2), -1.0)
    assert tl_core.allclose(fused(x, y), model(x, y), atol=1e-6)


def test_an_input_that_is_rounded_already():
    class Sum(nn.Module):
        def forward(self, x, y):
            return x.relu() + y.relu()

    x, y = tl_core.tensor([0.9]), tl_core.tensor([0.4])
    custom = PrepareCustomConfig().set_input_quantized_indexes([1])
    mapping = tq.QConfigMapping().set_global(tq.default_qconfig)
    prepared = prepare_fx(Sum(), mapping, (x, y), custom)
    calls = [n for n in prepared.graph.nodes if n.op == "call_module"]
    assert [n.args[0].name for n in calls if n.args[0].op == "placeholder"] == ["x"]
    prepared(x, y)
    model = convert_fx(prepared)
    first, second = (n for n in model.graph.nodes if n.op == "placeholder")
    assert [[u.target for u in n.users] for n in (first, second)] == [[tq.quantize_per_tensor], ["relu"]]


def test_names_of_pairs_tell_their_kinds():
    def model():
        return ns._trace(nn.Sequential(nn.Conv2d(1, 1, 1), nn.Flatten(), nn.Linear(4, 4), nn.Linear(4, 2)))

    first, second = model(), model()
    names = {
        pair[0].base_op_node.name: name for name, pair in get_matching_subgraph_pairs(first, second).items()
    }
    kinds = {node: name.rpartition("_")[0] for node, name in names.items()}
    assert kinds["_2"] == kinds["_3"] != kinds["_0"] and "None" not in kinds["_0"]
    assert {names["_2"][-2:], names["_3"][-2:]} == {"_0", "_1"}


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("is_transposed", [False, True])
def test_convolutions_of_functions_compute_integers(axes, is_transposed):
    name = f"conv{'_transpose' if is_transposed else ''}{axes}d"
    function = getattr(F, name)

    class Convolution(nn.Module):
        def __init__(self):
            super().__init__()
            count = 2 * 3 * 2**axes
            self.weight = nn.Parameter((tl_core.arange(float(count)) % 7 - 3).reshape(3, 2, *[2] * axes) / 4)
            self.bias = nn.Parameter(tl_core.tensor([0.5, -1.0] if is_transposed else [0.5, -1.0, 0.25]))

        def forward(self, x):
            return function(x, self.weight, self.bias, 2, 1)

    model = Convolution().eval()
    size = [1, 3 if is_transposed else 2, *[4] * axes]
    x = (tl_core.arange(float(tl_core.Size(size).numel())) % 11 - 5).reshape(size) / 4
    prepared = prepare_fx(model, tq.QConfigMapping().set_global(tq.default_qconfig), (x,))
    expected = prepared(x)
    converted = convert_fx(prepared)
    targets = [n.target for n in converted.graph.nodes if n.op == "call_function"]
    assert getattr(packets.quantized, name) in targets and function not in targets
    step = float(expected.max() - expected.min()) / 127
    assert converted(x).shape == expected.shape
    assert float((converted(x) - expected).abs().max()) < 4 * step
