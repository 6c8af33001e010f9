"""The parts of the graph mode: constants, matches, configurations of nodes, observers and layers, by graphs of hand."""

import math
import operator
from copy import deepcopy

import pytest

import tl_core
import tl_nn as nn
import tl_quantization as tq
from tl_compiler.fx import Graph, GraphModule, Node, symbolic_trace
from tl_core.operators import packets
from tl_nn import functional as F
from tl_quantization import backend_config as bc
from tl_quantization import quantize_fx
from tl_quantization.backend_config import get_native_backend_config
from tl_quantization.backend_config.wildcard import MatchAllNode
from tl_quantization.graph import attributes, lowered_layers, match_utils, node_qconfigs, observers, weights
from tl_quantization.graph.convert import is_dequantize
from tl_quantization.graph.custom_config import FuseCustomConfig
from tl_quantization.graph.decompose import insert_decomposed
from tl_quantization.graph.fuse_handler import DefaultFuseHandler, FuseHandler
from tl_quantization.graph.graph_module import (
    FusedGraphModule,
    ObservedGraphModule,
    ObservedStandaloneGraphModule,
    QuantizedGraphModule,
)
from tl_quantization.graph.lower import lower
from tl_quantization.graph.support import NodeTypes, argument_role, supported_types, types_of_qconfig
from tl_quantization.graph.tracer import QuantizationTracer
from tl_quantization.graph.types_of_nodes import has_tensor, is_observable
from tl_quantization.nn import intrinsic, quantized
from tl_quantization.nn.quantized import reference
from tl_quantization.qconfig_mapping import QConfigMapping
from tl_quantization.utils import get_qparam_dict

NATIVE = get_native_backend_config()


def node_of(model, target):
    """The first node that calls a target."""
    return next(n for n in model.graph.nodes if n.target == target)


# ---- constants


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = nn.Linear(2, 2)
        self.scale0 = 5

    def forward(self, x):
        return x * tl_core.mul(self.part.weight, 2).neg()


def test_attributes_have_the_first_free_number():
    model = symbolic_trace(Scaled())
    model.scale0 = 5
    node = attributes.new_attribute(model, "scale", 0.25)
    assert (node.op, node.target, float(model.get_buffer("scale1"))) == ("get_attr", "scale1", 0.25)
    weight = tl_core.ones(2, requires_grad=True)
    copy = attributes.read_attribute(model, attributes.new_attribute(model, "a.b_", weight))
    assert not copy.requires_grad and tl_core.equal(copy, weight) and copy is model.get_buffer("a_b_0")
    packed = attributes.new_attribute(model, "packed", ("any", "object"))
    assert attributes.read_attribute(model, packed) == ("any", "object")
    assert "packed0" not in dict(model.named_buffers())


def test_values_of_constants():
    model = symbolic_trace(Scaled())
    x, product, opposite, result = (
        next(n for n in model.graph.nodes if n.op == "placeholder"),
        node_of(model, tl_core.mul),
        node_of(model, "neg"),
        node_of(model, operator.mul),
    )
    assert [attributes.is_constant(n) for n in (x, product, opposite, result)] == [False, True, True, False]
    assert attributes.is_constant([product, 3, (opposite, None)])
    assert not attributes.is_constant((product, [x]))
    weight = model.part.weight.detach()
    assert tl_core.equal(attributes.evaluate(model, opposite), -2 * weight)
    pair = attributes.evaluate(model, (product, 7))
    assert type(pair) is tuple and pair[1] == 7 and tl_core.equal(pair[0], 2 * weight)
    assert not attributes.evaluate(model, product.args[0]).requires_grad


# ---- matches


class Chain(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.relu, self.fc = (
            nn.Conv2d(1, 1, 1),
            nn.BatchNorm2d(1),
            nn.ReLU(),
            nn.Linear(1, 1),
        )

    def forward(self, x):
        y = self.relu(self.bn(self.conv(x)))
        return F.relu(y + x).reshape(y.size(0), -1)


@pytest.fixture
def chain():
    model = Chain().eval()
    graph = symbolic_trace(model)
    return graph, dict(graph.named_modules())


def test_an_attribute_matches_by_its_name():
    graph = symbolic_trace(lambda x: x.relu().shape)
    (shape,) = (n for n in graph.graph.nodes if n.target is getattr)
    assert match_utils.is_match({}, shape, "shape") and not match_utils.is_match({}, shape, "ndim")
    assert not match_utils.is_match({}, shape, getattr)


def test_a_pattern_matches_from_its_last_node(chain):
    model, modules = chain
    relu, norm, conv = (node_of(model, name) for name in ("relu", "bn", "conv"))
    pattern = (nn.ReLU, (nn.BatchNorm2d, nn.Conv2d))
    assert match_utils.pattern_size(pattern) == 3
    assert match_utils.is_match(modules, relu, pattern)
    assert not match_utils.is_match(modules, norm, pattern)
    assert not match_utils.is_match(modules, relu, (nn.ReLU, (nn.BatchNorm2d, nn.Linear)))
    assert match_utils.is_match(modules, relu, (nn.ReLU, MatchAllNode))
    assert not match_utils.is_match(modules, relu, nn.ReLU, max_uses=1)  # its value has two users
    assert not match_utils.is_match(modules, relu, (nn.ReLU, MatchAllNode, MatchAllNode))
    nodes = match_utils.nodes_of(relu, pattern)
    assert nodes == (relu, (norm, conv))
    assert match_utils.first_root(nodes) is conv
    match = match_utils.match_of(relu, pattern, bc.BackendPatternConfig())
    assert isinstance(match, match_utils.Match)
    assert (match.last, match.root, match.members, match.kind) == (relu, conv, [relu, norm, conv], "pattern")


def test_functions_of_one_name_are_one_pattern():
    assert match_utils.canonical(tl_core.max_pool2d) is F.max_pool2d
    assert match_utils.canonical(F.tanh) is tl_core.tanh
    assert match_utils.canonical("relu") == "relu"


def test_longer_patterns_come_first(chain):
    sizes = [match_utils.pattern_size(pattern) for pattern, _ in match_utils.sorted_patterns(NATIVE)]
    assert sizes == sorted(sizes, reverse=True) and (sizes[0], sizes[-1]) == (3, 1)
    model, modules = chain
    matches = match_utils.find_matches(model.graph, modules, NATIVE)
    assert {name: match.config.pattern for name, match in matches.items()} == {
        **dict.fromkeys(("relu", "bn", "conv"), (nn.Conv2d, nn.BatchNorm2d, nn.ReLU)),
        "add": (operator.add, F.relu), "relu_1": (operator.add, F.relu),
        "size": "size", "reshape": "reshape",
    }  # fmt: skip
    layers = match_utils.find_matches(
        model.graph, modules, NATIVE, lambda node: node.name == "conv", (nn.BatchNorm2d,),
        lambda config: config.pattern != (operator.add, F.relu),
    )  # fmt: skip
    assert (layers["conv"].kind, layers["bn"].kind) == ("standalone", "custom")
    assert layers["add"].config.pattern is operator.add


# ---- values


def test_sizes_are_no_tensors(chain):
    model, _ = chain
    answers = {}
    reshape, size = node_of(model, "reshape"), node_of(model, "size")
    assert has_tensor(reshape, answers) and not has_tensor(size, answers)
    assert not has_tensor([size, {"key": size}, 3], answers)
    assert has_tensor({"key": [size, reshape]}, answers)
    assert answers[size] is False and answers[reshape] is True
    assert is_observable(reshape, 0, reshape.args[0], answers)
    assert not is_observable(reshape, 1, reshape.args[0], answers)  # no size is observed
    addition = node_of(model, operator.add)
    assert is_observable(addition, 1, addition.args[1], answers)
    shape = symbolic_trace(lambda x: x.shape[0] + 1)
    assert not any(has_tensor(n, {}) for n in shape.graph.nodes if n.op == "call_function")


def test_the_role_of_an_argument():
    node = Graph().placeholder("x")
    indices = {"weight": 1, "bias": 2}
    assert [argument_role(node, i, indices) for i in (0, 1, 2, 3)] == [
        "activation", "weight", "bias", "activation"
    ]  # fmt: skip
    assert [argument_role(node, name, {}) for name in ("weight", "bias", "input")] == [
        "weight", "bias", "activation"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("qconfig", "types"),
    [
        (tq.default_qconfig, (False, tq.quint8, tq.qint8, tq.quint8, tl_core.float32)),
        (tq.default_dynamic_qconfig, (True, tq.quint8, tq.qint8, tl_core.float32, tl_core.float32)),
        (tq.float16_static_qconfig, (False, *(tl_core.float16,) * 4)),
        (
            tq.float16_dynamic_qconfig,
            (True, tl_core.float16, tl_core.float16, tl_core.float32, tl_core.float32),
        ),
    ],
)
def test_types_of_a_configuration(qconfig, types):
    result = types_of_qconfig(qconfig)
    assert isinstance(result, NodeTypes)
    names = ("is_dynamic", "dtype", "weight_dtype", "output_dtype", "bias_dtype")
    assert tuple(getattr(result, name) for name in names) == types


def test_the_types_that_a_backend_supports():
    model = symbolic_trace(nn.Sequential(nn.Linear(2, 2)))
    match = match_utils.find_matches(model.graph, dict(model.named_modules()), NATIVE)["_0"]
    types = supported_types(match, tq.default_qconfig, {})
    assert (types.input_dtype, types.weight_dtype, types.is_dynamic) == (tq.quint8, tq.qint8, None)
    assert supported_types(match, tq.float16_dynamic_qconfig, {}).is_dynamic is True
    assert supported_types(match, tq.float16_static_qconfig, {}) is None


# ---- configurations


def test_names_come_before_patterns_and_kinds():
    a, b, c, d, e = (tq.QConfig(activation=name, weight=name) for name in "abcde")
    mapping = (
        QConfigMapping().set_global(a).set_object_type(nn.Linear, b).set_module_name_regex("deep.*", c)
        .set_module_name("deep.fc", d).set_module_name("deep", e)
    )  # fmt: skip
    where = node_qconfigs.configuration_of
    assert where(mapping, nn.Conv2d, "conv") is a
    assert where(mapping, nn.Conv2d, "conv", None) is None
    assert where(mapping, nn.Linear, "fc", None) is b
    assert where(mapping, nn.Linear, "deeper.fc") is c
    assert where(mapping, nn.Linear, "deep.fc") is d
    assert where(mapping, nn.Linear, "deep.fc.part") is d
    assert where(mapping, nn.Linear, "deep.other") is e


def test_a_fused_layer_has_the_configuration_of_its_parts():
    one, other = tq.default_qconfig, tq.default_per_channel_qconfig
    model = nn.Sequential(intrinsic.LinearReLU(nn.Linear(1, 1), nn.ReLU()))
    mapping = QConfigMapping().set_object_type(nn.Linear, one).set_object_type(nn.ReLU, one)
    node_qconfigs.extend_mapping(mapping, model, NATIVE, False)
    assert mapping.object_type_qconfigs[intrinsic.LinearReLU] is one
    assert tq.nn.qat.Linear not in mapping.object_type_qconfigs
    node_qconfigs.extend_mapping(mapping, model, NATIVE, True)
    assert mapping.object_type_qconfigs[tq.nn.qat.Linear] is one
    different = QConfigMapping().set_object_type(nn.Linear, one).set_object_type(nn.ReLU, other)
    with pytest.raises(LookupError, match="LinearReLU"):
        node_qconfigs.extend_mapping(different, model, NATIVE, False)
    empty = QConfigMapping().set_global(one)
    node_qconfigs.extend_mapping(empty, model, NATIVE, True)
    assert not empty.object_type_qconfigs


def test_the_configuration_of_each_call(chain):
    model, modules = chain
    one, other = tq.default_qconfig, tq.default_per_channel_qconfig
    mapping = (
        QConfigMapping().set_object_type(nn.Conv2d, one)
        .set_module_name_object_type_order("", F.relu, 0, other)
    )  # fmt: skip
    scopes = {node.name: ("", type(None)) for node in model.graph.nodes}
    result = node_qconfigs.node_qconfigs(model.graph, modules, mapping, scopes)
    assert (result["conv"], result["relu_1"], result["relu"], result["x"]) == (one, other, None, None)
    assert modules["conv"].qconfig is one and modules["bn"].qconfig is None


# ---- observers


def test_what_an_observer_says():
    fixed = tq.FixedQParamsObserver(1 / 256, 0)
    assert [observers.is_observer(m) for m in (fixed, tq.FakeQuantize(), nn.ReLU(), None)] == [
        True, True, False, False
    ]  # fmt: skip
    assert observers.dtype_of(None) == (tl_core.float32, False)
    assert observers.dtype_of(tq.MinMaxObserver()) == (tq.quint8, False)
    assert observers.dtype_of(tq.default_dynamic_qconfig.activation()) == (tq.quint8, True)
    assert observers.is_float(None) and not observers.is_float(fixed)
    assert observers.is_float(tq.PlaceholderObserver(dtype=tl_core.int32))
    assert not observers.is_float(tq.PlaceholderObserver(dtype=tl_core.float16))
    assert observers.reuses_input(tq.ReuseInputObserver()) and not observers.reuses_input(fixed)
    assert observers.has_fixed_range(fixed) and not observers.has_fixed_range(tq.MinMaxObserver())


def test_an_observer_in_a_graph(chain):
    model, modules = chain
    model.activation_post_process_0 = nn.Identity()
    conv, norm = node_of(model, "conv"), node_of(model, "bn")
    observer = tq.MinMaxObserver()
    call = observers.insert_observer(model, modules, conv, observer)
    assert (call.op, call.target, call.args) == ("call_module", "activation_post_process_1", (conv,))
    assert call.prev is conv and norm.args == (conv,)
    assert observers.observer_at(call, modules) is observer is model.activation_post_process_1
    assert observers.observer_at(conv, modules) is None
    assert observers.observer_at("conv", modules) is None


def observed(observer, x):
    """A graph with an observer behind its input."""
    model = GraphModule({}, Graph())
    source = model.graph.placeholder("x")
    observer(x)
    model.observer = observer
    call = model.graph.call_module("observer", (source,))
    result = insert_decomposed(model, call, observer, "x")
    model.graph.output(result)
    model.graph.erase_node(call)
    model.recompile()
    return model


@pytest.mark.parametrize(
    "observer",
    [
        tq.MinMaxObserver(dtype=tq.qint8),
        tq.PerChannelMinMaxObserver(ch_axis=1, dtype=tq.qint8),
        tq.PlaceholderObserver(dtype=tq.quint8, is_dynamic=True, quant_min=0, quant_max=255),
    ],
)
def test_rounding_in_operators_of_the_export(observer):
    x = tl_core.tensor([[-1.0, 0.3, 12.0], [0.7, 0.1, -5.0]])
    y = observed(observer, x)(x)
    high, low = (
        (x.amax(0), x.amin(0)) if isinstance(observer, tq.PerChannelMinMaxObserver) else (x.max(), x.min())
    )
    step = (high.clamp(min=0) - low.clamp(max=0)) / 255
    assert bool(((y - x).abs() <= step / 2 * 1.01).all()) and not tl_core.equal(x, y)
    assert bool(((y / step).round() - y / step).abs().max() < 1e-3)


def test_halves_in_operators_of_the_export():
    x = tl_core.tensor([1 + 2**-12, 2.0])
    model = observed(tq.PlaceholderObserver(dtype=tl_core.float16), x)
    assert model(x).tolist() == [1.0, 2.0] and model(x).dtype is tl_core.float32


def test_a_dequantize():
    graph = Graph()
    x = graph.placeholder("x")
    assert is_dequantize(graph.call_method("dequantize", (x,)))
    assert not is_dequantize(graph.call_method("quantize", (x,)))
    assert not is_dequantize(x) and not is_dequantize("dequantize")


# ---- layers


def test_classes_with_a_weight():
    kinds = weights.weighted_classes(NATIVE)
    assert {nn.Linear, nn.Conv2d, nn.LSTM, tq.nn.qat.Conv2d, intrinsic.LinearReLU} <= set(kinds)
    assert nn.ReLU not in kinds


def test_scales_of_an_observer():
    observer = tq.PerChannelMinMaxObserver(ch_axis=1, dtype=tq.qint8, qscheme=tq.per_channel_symmetric)
    observer(tl_core.tensor([[-127.5, 3.0], [12.0, 63.75]]))
    result = get_qparam_dict(observer)
    assert result["scale"].tolist() == [1.0, 0.5] and result["zero_point"].tolist() == [0, 0]
    assert (result["axis"], result["quant_min"], result["quant_max"]) == (1, -128, 127)
    assert get_qparam_dict(tq.PlaceholderObserver(dtype=tl_core.float16)) == {
        "qscheme": None, "dtype": tl_core.float16
    }  # fmt: skip
    assert "axis" not in get_qparam_dict(tq.FixedQParamsObserver(0.5, 1))


def test_a_reference_layer_rounds_its_weight():
    layer = nn.Linear(2, 1)
    layer.weight.data.copy_(tl_core.tensor([[1.275, 0.301]]))
    result = weights.reference_layer(layer, tq.default_qconfig, NATIVE, False)
    assert type(result) is reference.Linear
    step = 1.275 / 127.5
    assert result.get_weight().flatten().tolist() == pytest.approx([127 * step, 30 * step])
    fused = intrinsic.LinearReLU(nn.Linear(2, 1), nn.ReLU())
    assert type(weights.reference_layer(fused, tq.default_qconfig, NATIVE, False)[0]) is reference.Linear
    plain = tq.QConfig(tq.PlaceholderObserver, tq.PlaceholderObserver.with_args(dtype=tl_core.float32))
    other = nn.Linear(2, 1)
    assert weights.reference_layer(other, plain, NATIVE, False) is other


def test_layers_of_integers():
    assert lowered_layers.keeps_scale("reshape", None) and not lowered_layers.keeps_scale("add", None)
    assert lowered_layers.keeps_scale(None, nn.MaxPool2d(2)) and not lowered_layers.keeps_scale(
        None, nn.ELU()
    )
    linear = weights.reference_layer(nn.Linear(2, 3), tq.default_qconfig, NATIVE, False)
    layer = lowered_layers.static_layer(linear)(0.5, 3)
    assert (type(layer), layer.scale, layer.zero_point) == (quantized.Linear, 0.5, 3)
    assert tl_core.allclose(layer.weight().dequantize(), linear.get_weight())
    chain = intrinsic.LinearReLU(nn.Linear(2, 3), nn.ReLU())
    chain[0] = linear
    assert type(lowered_layers.static_layer(chain)(1.0, 0)) is intrinsic.quantized.LinearReLU
    norm = lowered_layers.static_layer(nn.LayerNorm(2))(0.25, 7)
    assert (type(norm), float(norm.scale), int(norm.zero_point)) == (quantized.LayerNorm, 0.25, 7)
    assert lowered_layers.static_layer(nn.ReLU()) is None
    assert type(lowered_layers.dynamic_layer(linear)) is quantized.dynamic.Linear
    assert type(lowered_layers.dynamic_layer(chain)) is intrinsic.quantized.dynamic.LinearReLU
    assert lowered_layers.dynamic_layer(nn.ReLU()) is None


def test_a_reference_model_becomes_one_of_integers():
    model = nn.Sequential(nn.Linear(2, 2)).eval()
    x = tl_core.tensor([[0.5, -1.0]])
    prepared = quantize_fx.prepare_fx(model, QConfigMapping().set_global(tq.default_qconfig), (x,))
    prepared(x)
    result = quantize_fx.convert_to_reference_fx(prepared)
    expected = result(x)
    result = lower(result, {n.name: ("0", nn.Linear) for n in result.graph.nodes}, {})
    assert isinstance(result, QuantizedGraphModule)
    assert type(result.get_submodule("0")) is quantized.Linear
    (call,) = (n for n in result.graph.nodes if n.op == "call_module")
    assert call.args[0].target is tq.quantize_per_tensor
    assert tl_core.allclose(result(x), expected, atol=1e-6)


# ---- stages, fusion, tracing


@pytest.mark.parametrize(
    "kind", [FusedGraphModule, ObservedGraphModule, ObservedStandaloneGraphModule, QuantizedGraphModule]
)
def test_stages_keep_attributes_in_copies(kind):
    root = symbolic_trace(nn.Sequential(nn.Linear(1, 1)))
    root.note, root.other = {"a": 1}, 3
    copy = deepcopy(kind(root, root.graph, {"note"}))
    assert isinstance(copy, kind) and copy.note == {"a": 1} and not hasattr(copy, "other")
    x = tl_core.ones(1, 1)
    assert tl_core.equal(copy(x), root(x))


def test_packed_weights_are_in_the_state():
    weight = tq.quantize_per_tensor(tl_core.tensor([[1.0, -0.5]]), 0.5, 0, tq.qint8)
    root = symbolic_trace(nn.ReLU())
    root._packed_weight_0 = tq.packed.linear.PackedLinear(weight, None)
    module = QuantizedGraphModule(root, root.graph, set())
    state = module.state_dict()
    assert list(state) == ["_packed_weight_0"]
    other = QuantizedGraphModule(root, root.graph, set())
    other._packed_weight_0 = None
    other.load_state_dict(state)
    assert tl_core.equal(other._packed_weight_0.weight().int_repr(), weight.int_repr())
    with pytest.raises(RuntimeError, match="_packed_weight_0"):
        other.load_state_dict({})


def test_a_fuse_handler():
    model = symbolic_trace(nn.Sequential(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)).eval())
    modules, new = dict(model.named_modules()), Graph()
    conv, norm = (n for n in model.graph.nodes if n.op == "call_module")
    nodes = {conv.args[0]: new.placeholder("input_1")}
    handler = DefaultFuseHandler(norm)
    assert isinstance(handler, FuseHandler) and handler.last is norm
    mapping = {(nn.BatchNorm2d, nn.Conv2d): tq.fuser_method_mappings.fuse_conv_bn}
    arguments = lambda root: (  # noqa: E731 - one expression
        nodes.get, modules, new, root, [], (norm, conv), FuseCustomConfig(), mapping, False
    )  # fmt: skip
    with pytest.raises(AssertionError, match="placeholder"):
        handler.fuse(*arguments(conv.args[0]))
    node = handler.fuse(*arguments(conv))
    assert (node.op, node.target, node.args[0].name) == ("call_module", "0", "input_1")
    x = tl_core.tensor([[[[2.0]]]])
    assert tl_core.allclose(modules["0"](x), model(x), atol=1e-6)


def test_settings_of_fusion():
    config = FuseCustomConfig.from_dict({"preserved_attributes": ["a"]})
    assert config.preserved_attributes == ["a"] and FuseCustomConfig().to_dict() == {}
    assert config.to_dict() == {"preserved_attributes": ["a"]}
    assert repr(config) == "FuseCustomConfig({'preserved_attributes': ['a']})"


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.chain = Scaled(), intrinsic.LinearReLU(nn.Linear(2, 2), nn.ReLU())

    def forward(self, x):
        return F.relu_(self.chain(self.inner(x)))


def test_a_tracer_stops_at_named_and_fused_modules():
    nodes = [n.target for n in QuantizationTracer(["inner"], []).trace(Two()).nodes]
    assert nodes[1:3] == ["inner", "chain"]
    assert "inner" in [n.target for n in QuantizationTracer([], [Scaled]).trace(Two()).nodes]
    nodes = list(QuantizationTracer([], []).trace(Two()).nodes)
    assert "inner.part.weight" in [n.target for n in nodes] and all(isinstance(n, Node) for n in nodes)
    assert math.prod(n.op == "call_module" for n in nodes if n.target == "chain") == 1


def test_operators_that_a_program_registers():
    assert packets.quantized_decomposed.quantize_per_tensor.default is not None


def test_patterns_with_constants():
    def function(x):
        return operator.getitem(packets.aten.max_pool2d_with_indices.default(x, [2, 2]), 0)

    module = symbolic_trace(function)
    node = next(n for n in module.graph.nodes if n.target is operator.getitem)
    operator_node = (packets.aten.max_pool2d_with_indices.default,)
    assert match_utils.is_match({}, node, (operator.getitem, operator_node[0], 0))
    assert not match_utils.is_match({}, node, (operator.getitem, operator_node[0], 1))
    assert not match_utils.is_match({}, node, (operator.getitem, operator_node[0], 0.0))
