"""The facts of nodes, their weights and loggers, by which two models are compared."""

import operator
import re

import pytest

import tl_core
import tl_nn as nn
import tl_quantization as tq
from tl_compiler.fx import Graph, GraphModule, symbolic_trace
from tl_core.operators import packets
from tl_nn import functional as F
from tl_quantization.graph.match_utils import find_matches
from tl_quantization.nn import intrinsic, quantized
from tl_quantization.numeric_suite import eager, n_shadows, node_facts, weights
from tl_quantization.numeric_suite.fusions import (
    end_node_matches_reversed_fusion,
    get_reversed_fusions,
    get_type_a_related_to_b,
)
from tl_quantization.numeric_suite.fx_loggers import OutputComparisonLogger, OutputLogger
from tl_quantization.numeric_suite.graph_loggers import add_loggers_to_model, create_a_shadows_b, free_name
from tl_quantization.numeric_suite.graphs import NSTracer, extract_weight_comparison
from tl_quantization.numeric_suite.loggers import Logger
from tl_quantization.numeric_suite.node_facts import NodeInputOrOutputType
from tl_quantization.numeric_suite.related_operators import (
    get_base_name_to_sets_of_related_ops,
    get_node_type_to_io_type_map,
    get_unmatchable_types_map,
)
from tl_quantization.numeric_suite.results import NSSingleResultValuesType, NSSubgraph
from tl_quantization.numeric_suite.subgraphs import SubgraphTypeRelationship, get_matching_subgraph_pairs
from tl_quantization.quantize_fx import prepare_fx

TYPES = get_node_type_to_io_type_map()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.lstm, self.relu = nn.Linear(2, 2), nn.LSTM(2, 2), nn.ReLU()
        self.weight, self.kernel = nn.Parameter(tl_core.ones(2, 2)), nn.Parameter(tl_core.ones(1, 1, 1))
        self.obs = tq.MinMaxObserver()

    def forward(self, x):
        y = self.obs(self.fc(x))
        z = F.linear(input=y, weight=self.obs(self.weight))
        half = F.linear(z.to(tl_core.float16).dequantize(), self.weight.to(tl_core.float16).dequantize())
        conv = F.conv1d(half, self.kernel)
        return self.relu(conv + 1.0) + self.lstm(conv)[0] + tl_core.sigmoid(tl_core.cat([x, y]))


@pytest.fixture
def model():
    root = Net()
    gm = GraphModule(root, NSTracer([], []).trace(root))
    gm._node_name_to_scope = {"fc": ("fc", nn.Linear), "linear": ("", Net)}
    return gm


def node(model, name):
    return next(n for n in model.graph.nodes if n.name == name)


# ---- arguments


def test_arguments_are_counted_by_position_then_by_keyword(model):
    fc, linear = node(model, "fc"), node(model, "linear")
    assert node_facts.get_normalized_nth_input(linear, model, 0).name == "obs"
    assert node_facts.get_normalized_nth_input(linear, model, 1).name == "obs_1"
    assert node_facts.get_normalized_nth_input(fc, model, 0).name == "x"
    with pytest.raises(AssertionError, match="no argument 9"):
        node_facts.get_normalized_nth_input(fc, model, 9)
    args, kwargs = node_facts.normalized_arguments(linear, model)
    assert [a.name for a in (*args, *kwargs.values()) if a is not None] == ["obs", "obs_1"]
    assert node_facts.module_of(fc, model) is model.fc
    assert node_facts.get_number_of_non_param_args(node(model, "lstm"), model) == 2
    assert node_facts.get_number_of_non_param_args(fc, model) == 1


def test_the_inputs_that_are_stored(model):
    indices = node_facts.get_arg_indices_of_inputs_to_log
    assert [indices(node(model, name)) for name in ("add", "add_1", "fc", "x")] == [[0], [0, 1], [0], []]


def test_observers_are_no_sources(model):
    assert node_facts.is_observer(model.obs) and not node_facts.is_observer(model.fc)
    first = node_facts.return_first_non_observer_node
    assert first(node(model, "obs"), model).name == "fc"
    assert first(node(model, "fc"), model).name == "fc"


def test_names_of_targets(model):
    name = node_facts.qualified_name
    assert name(F.relu) == f"{F.relu.__module__}.relu" and name("size") == "str"
    assert name(nn.Linear(1, 1)) == f"{nn.Linear.__module__}.Linear"
    text = node_facts.get_target_type_str
    assert text(node(model, "add"), model) == "_operator.add"
    assert text(node(model, "fc"), model).endswith(".Linear")
    assert text(node(model, "x"), model) == ""
    scopes = [node_facts.scoped_name(node(model, n), model) for n in ("fc", "obs", "linear", "add")]
    assert scopes == ["fc", "fc", "", None]
    assert node_facts.scoped_name(node(model, "fc"), symbolic_trace(nn.ReLU())) is None


def test_numbers_that_nodes_take_and_return(model):
    kinds = NodeInputOrOutputType

    def types(name):
        return node_facts.get_node_first_input_and_output_type(node(model, name), model, OutputLogger, TYPES)

    assert types("fc") == (kinds.FP32, kinds.FP32)
    assert types("obs") == (kinds.FP32, kinds.FP32)
    assert types("to") == (kinds.FP32, kinds.FP16)
    assert types("dequantize") == (kinds.FP16, kinds.FP32)
    assert types("x") == (kinds.UNKNOWN, kinds.UNKNOWN)
    assert types("relu") == (types("add")[1],) * 2
    assert kinds.INT8 is not kinds.FP32_OR_INT8


def test_operators_by_their_numbers():
    assert nn.Linear in TYPES["mods_io_type_fp32"] and quantized.Linear in TYPES["mods_io_type_int8"]
    assert nn.MaxPool2d in TYPES["mods_io_type_fp32_or_int8"] and F.linear in TYPES["funs_io_type_fp32"]
    assert packets.quantized.linear in TYPES["funs_io_type_int8"]
    assert TYPES["funs_io_type_fp16"] == set() and "sigmoid_" in TYPES["meths_io_type_fp32_or_int8"]
    assert not TYPES["mods_io_type_fp32"] & TYPES["mods_io_type_int8"]
    other = get_unmatchable_types_map()
    assert other["mods_unmatchable"] == {nn.Identity} and operator.getitem in other["funs_unmatchable"]
    assert "dequantize" in other["meths_unmatchable"] and "relu" not in other["meths_unmatchable"]


def test_scales_of_an_input():
    class Integers(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.pool = quantized.Linear(2, 2), nn.MaxPool1d(1)
            self.fc.scale, self.fc.zero_point = 0.25, 7
            self.register_buffer("scale_0", tl_core.tensor(0.5))
            self.register_buffer("zero_0", tl_core.tensor(3))

    graph = Graph()
    x = graph.placeholder("x")
    scale, zero = (graph.create_node("get_attr", name) for name in ("scale_0", "zero_0"))
    integers = graph.call_function(tq.quantize_per_tensor, (x, scale, zero, tq.quint8))
    fc = graph.create_node("call_module", "fc", (integers,))
    pool = graph.create_node("call_module", "pool", (fc,))
    total = graph.call_function(packets.quantized.add, (pool, pool, scale, zero))
    last = graph.call_method("dequantize", (total,))
    model = GraphModule(Integers(), graph)

    def of(n):
        pair = node_facts.get_node_input_qparams(n, model, TYPES)
        return None if pair is None else (float(pair[0]), int(pair[1]))

    assert [of(n) for n in (integers, fc, pool, total, last)] == [
        None, (0.5, 3), (0.25, 7), (0.25, 7), (0.5, 3)
    ]  # fmt: skip


def test_operators_of_several_tensors_have_no_copy(model):
    supports = node_facts.op_type_supports_shadowing
    names = [n for n in ("fc", "add", "cat", "sigmoid", "linear") if supports(node(model, n))]
    assert names == ["fc", "sigmoid", "linear"]


# ---- results


def entry(name, fqn=None):
    return {"ref_node_name": name, "fqn": fqn}


def test_results_have_the_names_of_one_model():
    results = {
        "base_0": {"weight": {"a": [entry("x")], "b": [entry("fc")]}},
        "base_1": {"weight": {"a": [entry("z")]}},
    }
    renamed = node_facts.rekey_logger_info_on_node_name_of_model(results, "b")
    assert list(renamed) == ["fc", "base_1"] and renamed["fc"] is results["base_0"]


def test_names_of_modules_are_copied_to_the_other_model():
    results = {
        "0": {"weight": {"a": [entry("x", "first")], "b": [entry("y")]}},
        "1": {"weight": {"a": [entry("v", "second")], "b": [entry("w", "old")]}},
    }
    node_facts.maybe_add_missing_fqns(results)
    assert [results[k]["weight"][m][0]["fqn"] for k in "01" for m in "ab"] == ["first"] * 2 + ["second"] * 2
    nothing = {"0": {"weight": {"a": [entry("x")]}}}
    node_facts.maybe_add_missing_fqns(nothing)
    assert nothing["0"]["weight"]["a"][0]["fqn"] is None


def test_kinds_of_values():
    kinds = NSSingleResultValuesType
    assert [k.value for k in (kinds.WEIGHT, kinds.NODE_OUTPUT, kinds.NODE_INPUT)] == [
        "weight", "node_output", "node_input"
    ]  # fmt: skip
    assert len({*SubgraphTypeRelationship}) == 4


# ---- weights


def test_weights_of_modules():
    linear, lstm = nn.Linear(2, 3), nn.LSTM(2, 3, 2, bidirectional=True)
    assert tl_core.equal(weights.mod_weight_detach(linear), linear.weight)
    assert not weights.mod_weight_detach(linear).requires_grad
    fused = intrinsic.LinearReLU(linear, nn.ReLU())
    assert tl_core.equal(weights.mod_0_weight_detach(fused), linear.weight)
    integers = quantized.Linear(2, 3)
    assert tl_core.equal(weights.mod_weight_bias_0(integers).int_repr(), integers.weight().int_repr())
    shapes = [tuple(w.shape) for w in weights.get_lstm_weight(lstm)]
    assert shapes == [(12, 2), (12, 3)] * 2 + [(12, 6), (12, 3)] * 2
    dynamic = tq.quantize_dynamic(nn.Sequential(lstm), {nn.LSTM}, tq.qint8)[0]
    exact, rounded = weights.get_lstm_weight(lstm), weights.get_qlstm_weight(dynamic)
    assert [tuple(w.shape) for w in rounded] == shapes
    for a, b in zip(exact, rounded, strict=True):
        assert float((a - b.dequantize()).abs().max()) <= float(b.q_scale()) / 2 * 1.01


def test_weights_of_functions(model):
    linear, half, conv = node(model, "linear"), node(model, "linear_1"), node(model, "conv1d")
    linear.args, linear.kwargs = (linear.kwargs["input"], linear.kwargs["weight"]), {}
    assert tl_core.equal(weights.get_linear_fun_weight(linear, model), model.weight)
    assert weights.get_linear_fun_weight(half, model).dtype is tl_core.float16
    assert tl_core.equal(weights.get_conv_fun_weight(conv, model), model.kernel)
    packed = tq.packed.linear.PackedLinear(tq.quantize_per_tensor(tl_core.ones(1, 2), 0.5, 0, tq.qint8), None)
    model._packed_weight_0 = packed
    with model.graph.inserting_before(linear):
        call = model.graph.call_function(
            packets.quantized.linear,
            (linear.args[0], model.graph.create_node("get_attr", "_packed_weight_0")),
        )
    assert tl_core.equal(weights.get_qlinear_fun_weight(call, model).int_repr(), packed.weight().int_repr())


def test_the_entry_of_a_weight(model):
    tables = weights.get_op_to_type_to_weight_extraction_fn()
    assert tables["call_module"][nn.LSTM] is weights.get_lstm_weight
    assert tables["call_module"][intrinsic.ConvReLU2d] is weights.mod_0_weight_detach
    assert tables["call_function"][F.conv3d] is weights.get_conv_fun_weight
    result = weights.extract_weight_from_node(node(model, "fc"), model)
    assert result["type"] == "weight" and tl_core.equal(result["values"][0], model.fc.weight)
    assert (result["fqn"], result["ref_node_name"], result["index_of_arg"]) == ("fc", "fc", 0)
    assert [weights.extract_weight_from_node(node(model, n), model) for n in ("relu", "sigmoid", "x")] == [
        None
    ] * 3
    plain = weights.weight_entry(node(model, "add"), model, 3.0)
    assert (plain["values"], plain["prev_node_target_type"], plain["fqn"]) == ([3.0], "_operator.add", None)
    assert (
        weights.extract_weight_from_node(node(model, "fc"), model, {"call_module": {}, "call_function": {}})
        is None
    )


# ---- chains


def test_chains_of_one_layer():
    assert get_type_a_related_to_b({"0": {"a", "b"}, "1": {"c"}}) == {
        ("a", "a"), ("a", "b"), ("b", "a"), ("b", "b"), ("c", "c")
    }  # fmt: skip
    fusions = get_reversed_fusions()
    half = next(chain for chain, base in fusions if base == 1)
    assert half == (("to", tl_core.float16), F.relu, F.linear, "dequantize")
    assert ((nn.ReLU, nn.BatchNorm2d, nn.Conv2d), 0) in fusions
    chain = symbolic_trace(nn.Sequential(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1), nn.ReLU()))
    conv, norm, relu = (n for n in chain.graph.nodes if n.op == "call_module")
    pattern = (nn.ReLU, nn.BatchNorm2d, nn.Conv2d)
    assert end_node_matches_reversed_fusion(relu, pattern, chain, set())
    assert not end_node_matches_reversed_fusion(relu, pattern, chain, {conv})
    assert not end_node_matches_reversed_fusion(norm, pattern, chain, set())
    assert end_node_matches_reversed_fusion(norm, (nn.BatchNorm2d, nn.Conv2d), chain, set())


def test_a_product_in_half_precision_is_one_layer_named_by_the_product():
    class Half(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(tl_core.ones(2, 2))

        def forward(self, x):
            return F.relu(F.linear(x.dequantize(), self.weight)).to(tl_core.float16)

    (pair,) = get_matching_subgraph_pairs(symbolic_trace(Half()), symbolic_trace(Half())).values()
    for layer in pair:
        targets = [n.target for n in (layer.start_node, layer.base_op_node, layer.end_node)]
        assert targets == ["dequantize", F.linear, "to"]


# ---- loggers


def test_a_logger_of_two_tensors():
    logger = OutputComparisonLogger("f", "f", "a", "f_0", "Linear", "Linear", "node_output", 0, 0, "f")
    x, y = tl_core.tensor([3.0, 4.0]), tl_core.tensor([3.0, 3.5])
    assert logger(y, x) is y and logger.stats[0].tolist() == [3.0, 3.5]
    assert float(logger.comparisons[0]) == pytest.approx(20 * 0.9637878, rel=1e-3)  # log10 of |y| / |y - x|
    logger.enabled = False
    logger(y, x)
    assert len(logger.comparisons) == 1 == len(logger.stats)
    logger.enabled, logger.save_activations = True, False
    logger(y, x)
    assert len(logger.comparisons) == 2 and len(logger.stats) == 1
    with pytest.raises(AssertionError, match="must be a tensor, but got float"):
        logger(1.0, x)


def test_loggers_behind_and_before_nodes():
    gm = symbolic_trace(nn.Sequential(nn.Linear(1, 1), nn.ReLU()))
    gm._ns_logger_0 = nn.Identity()
    assert [free_name(gm, p) for p in ("_ns_logger_", "a.b")] == ["_ns_logger_1", "a_b0"]
    fc, relu = (n for n in gm.graph.nodes if n.op == "call_module")
    result = add_loggers_to_model(gm, {relu: ("pair", "F")}, {fc: ("pair", "F")}, OutputLogger, "m")
    x = tl_core.tensor([[-2.0], [3.0]])
    y = gm.get_submodule("0")(x)
    assert tl_core.equal(result(x), y.relu())
    loggers = [m for m in result.modules() if isinstance(m, OutputLogger)]
    assert sorted(m.results_type for m in loggers) == ["node_input", "node_output"]
    assert all(m.model_name == "m" and tl_core.equal(m.stats[0], y) for m in loggers)


def test_a_layer_beside_its_twin():
    a, b = (symbolic_trace(nn.Sequential(nn.Linear(1, 1))) for _ in range(2))
    pair = [NSSubgraph(n, n, n) for gm in (a, b) for n in gm.graph.nodes if n.op == "call_module"]
    both = create_a_shadows_b("a", a, "b", b, {"pair": tuple(pair)}, OutputLogger, False)
    x = tl_core.tensor([[2.0]])
    assert tl_core.equal(both(x), b(x))
    values = {m.model_name: m.stats[0] for m in both.modules() if isinstance(m, OutputLogger)}
    assert tl_core.equal(values["a"], a(x)) and tl_core.equal(values["b"], b(x))


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x)


def test_loggers_of_eager_models():
    model = nn.Sequential(Inner(), nn.Linear(2, 2))
    twin = nn.Sequential(Inner(), nn.Linear(2, 2))
    twin.load_state_dict(model.state_dict())
    eager.prepare_model_outputs(model, twin, allow_list=[nn.Linear])
    x = tl_core.ones(1, 2)
    model(x), twin(x)
    assert list(eager.get_logger_dict(model)) == ["0.fc.stats", "1.stats"]
    assert list(eager.get_logger_dict(model, "top")) == ["top.0.fc.stats", "top.1.stats"]
    pairs = eager.get_matching_activations(model, twin)
    assert list(pairs) == ["0.fc.stats", "1.stats"]
    assert all(tl_core.equal(p["float"][0], p["quantized"][0]) for p in pairs.values())
    assert Logger().stats == {} and Logger()(x) is None


def test_stubs_stand_beside_layers_of_other_classes():
    model = nn.Sequential(Inner(), nn.ReLU())
    other = nn.Sequential(Inner(), nn.ReLU())
    other[0].fc = quantized.dynamic.Linear.from_float(configured(model[0].fc))
    eager.prepare_model_with_stubs(model, other, [nn.Linear], eager.ShadowLogger)
    assert isinstance(other[0].fc, eager.Shadow) and type(other[1]) is nn.ReLU
    same = nn.Sequential(Inner())
    eager.prepare_model_with_stubs(model, same, [nn.Linear], eager.ShadowLogger)
    assert type(same[0].fc) is nn.Linear


def configured(layer):
    layer.qconfig = tq.default_dynamic_qconfig
    return layer


# ---- several copies of a layer


def layers():
    model = symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()).eval())
    matches = find_matches(
        model.graph, dict(model.named_modules()), tq.backend_config.get_native_backend_config()
    )
    n_shadows.OutputProp(model).propagate(tl_core.ones(1, 2))
    return model, n_shadows.subgraphs_of(matches)


def test_values_of_nodes():
    model, groups = layers()
    values = {n.name: n.traced_result for n in model.graph.nodes if hasattr(n, "traced_result")}
    x = tl_core.ones(1, 2)
    assert tl_core.equal(values["input_1"], x) and "output" not in values
    assert tl_core.equal(values["_1"], model(x))
    assert [[n.name for n in nodes] for nodes in groups.values()] == [["_0", "_1"]] and list(groups) == ["_1"]


def test_copies_of_one_layer():
    model, groups = layers()
    x, nodes = tl_core.ones(1, 2), groups["_1"]
    expected = model(x)
    mapping = tq.QConfigMapping().set_global(tq.default_qconfig)
    configurations = [{"_0": tq.default_qconfig, "_1": tq.default_qconfig}, {"_0": None, "_1": None}]
    n_shadows.create_n_transformed_and_logged_copies_of_subgraph(
        model, 0, "_1", nodes, [mapping, mapping], configurations
    )
    assert tl_core.equal(model(x), expected)
    assert model.get_submodule("shadow_wrapper_0_1") and not hasattr(model, "shadow_wrapper_0_2")
    layer = n_shadows.Layer(model, 5, *nodes, "scope")
    logger = layer.add_logger(0, OutputLogger, "text", (nodes[-1],))
    module = model.get_submodule(logger.target)
    assert (module.ref_node_name, module.fqn, module.qconfig_str, module.enabled) == (
        "_0",
        "scope",
        "text",
        False,
    )
    with pytest.raises(AssertionError, match="cannot specify example_inputs"):
        n_shadows.create_one_transformed_and_logged_copy_of_subgraph(
            model, 1, 1, *nodes, None, configurations, (x,), [logger], prepare_fx, {"example_inputs": 1}
        )
    with pytest.warns(UserWarning, match="it has no configuration"):
        n_shadows.create_n_transformed_and_logged_copies_of_subgraph(
            model, 2, "_1", nodes, [mapping], configurations[1:]
        )
    del nodes[0].args[0].traced_result
    with pytest.warns(UserWarning, match="its input is no tensor"):
        n_shadows.create_n_transformed_and_logged_copies_of_subgraph(
            model, 2, "_1", nodes, [mapping], configurations
        )


def test_a_second_chain_of_copies():
    model, groups = layers()
    expected = model(tl_core.ones(1, 2))
    mapping = tq.QConfigMapping().set_global(tq.default_qconfig)
    n_shadows.create_add_loggers_graph(model, groups, mapping, {"_0": tq.default_qconfig})
    copy = next(n for n in model.graph.nodes if n.target == "shadow_wrapper_0_1")
    assert copy.args[0].op == "placeholder"
    assert tl_core.equal(model(tl_core.ones(1, 2)), expected)


def test_a_table_of_copies(capsys):
    def one(candidate, values):
        name = {
            "ref_node_name": "fc",
            "ref_node_target_type": "Linear",
            "fqn": "a.fc",
            "qconfig_str": candidate,
        }
        return [{**name, "values": [], "comparisons": values, "comparison_fn_name": "sqnr"}]

    entries = {
        "subgraph_0_0": one("", []),
        "subgraph_0_1": one("q", [tl_core.tensor(20.0), tl_core.tensor(30.0)]),
    }
    grouped = n_shadows.group_results_by_subgraph({"model": {"node_output": entries}})
    assert list(grouped) == ["subgraph_0"] and list(grouped["subgraph_0"]) == ["0", "1"]
    table = n_shadows.create_results_comparison(grouped)
    candidate = table["subgraph_0"]["candidates"]["1"]
    assert (float(candidate["cmp_mean"]), candidate["qconfig_str"]) == (25.0, "q")
    assert candidate["cmp_raw"].tolist() == [20.0, 30.0] and table["subgraph_0"]["fqn"] == "a.fc"
    n_shadows.print_n_shadows_summary(table)
    assert re.split(r"\s{2,}|\n", capsys.readouterr().out.strip())[-4:] == ["fc", "Linear", "a.fc", "25"]


def test_weights_of_copies():
    class Function(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(tl_core.tensor([[1.0, -0.33]]))

        def forward(self, x):
            return F.linear(x, self.w)

    from tl_quantization.numeric_suite import graphs as ns
    from tl_quantization.numeric_suite.qconfig_multi_mapping import QConfigMultiMapping

    model, x = Function().eval(), tl_core.ones(1, 2)
    backend = tq.backend_config.get_native_backend_config()
    several = QConfigMultiMapping().set_global([tq.default_qconfig])
    prepared = ns.prepare_n_shadows_model(model, (x,), several, backend)
    prepared(x)
    converted = ns.convert_n_shadows_model(prepared)
    results = extract_weight_comparison(converted)["model"]["weight"]
    (exact,), (rounded,) = (results[f"subgraph_0_{i}"][0]["values"] for i in (0, 1))
    assert exact.tolist() == model.w.tolist()
    step = 1 / 127.5
    assert rounded.dequantize().flatten().tolist() == pytest.approx([127 * step, -42 * step], rel=1e-5)


def test_names_of_related_operators():
    sets = get_base_name_to_sets_of_related_ops()
    assert any({nn.Linear, quantized.Linear, quantized.dynamic.Linear} <= each for each in sets.values())
    functions = next(each for each in sets.values() if F.linear in each)
    assert packets.quantized.linear in functions and nn.Linear not in functions
