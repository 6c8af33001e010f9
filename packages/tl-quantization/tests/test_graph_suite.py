"""Comparison of graphs: the pairs, names and signal-to-noise ratios that PyTorch gave for the same models and data."""

from copy import deepcopy

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
import tl_quantization as tq
from tl_nn import functional as F
from tl_quantization.backend_config import get_native_backend_config
from tl_quantization.numeric_suite import graphs as ns
from tl_quantization.numeric_suite.measures import compute_sqnr
from tl_quantization.numeric_suite.n_shadows import create_submodule_from_subgraph
from tl_quantization.numeric_suite.qconfig_multi_mapping import QConfigMultiMapping
from tl_quantization.numeric_suite.related_operators import (
    add_op_to_sets_of_related_ops,
    get_base_name_for_op,
    get_base_name_to_sets_of_related_ops,
)
from tl_quantization.numeric_suite.subgraphs import GraphMatchingException, get_matching_subgraph_pairs
from tl_quantization.quantize_fx import convert_fx, prepare_fx

RANDOM = np.random.RandomState(0)


def numbers(*shape):
    return tl.from_numpy(RANDOM.randn(*shape).astype("float32") * np.float64(0.4)).float()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.bn, self.l = nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2), nn.Linear(4, 4)
        self.w, self.b2 = nn.Parameter(numbers(4, 4)), nn.Parameter(numbers(4))
        self.r, self.mp = nn.ReLU(), nn.MaxPool2d(1)

    def forward(self, x):
        x = self.r(self.bn(self.c(x)))
        x = tl.sigmoid(F.linear(x + x, self.w, self.b2))
        x = self.mp(x)
        return F.relu(self.l(tl.cat([x, x], -2)))


@pytest.fixture(scope="module")
def models():
    """The model, its observed and its quantized form, and data."""
    RANDOM.seed(0)
    model = Model().eval()
    state = model.state_dict()
    for name, value in state.items():
        if value.dtype is not tl.int64:
            numbers_of = numbers(*value.shape)
            state[name] = numbers_of.abs() + 0.5 if "var" in name else numbers_of
    model.load_state_dict(state)
    x = numbers(2, 1, 4, 4)
    observed = prepare_fx(deepcopy(model), tq.get_default_qconfig_mapping("fbgemm"), (x,))
    observed(x)
    return model, observed, convert_fx(deepcopy(observed)), x


def ratios(results, kind):
    ns.extend_logger_results_with_comparison(results, "a", "b", compute_sqnr, "sqnr")
    return {
        name: [round(float(value), 3) for entry in kinds[kind]["b"] for value in entry["sqnr"]]
        for name, kinds in results.items()
        if kind in kinds
    }


def agree(actual, expected):
    assert list(actual) == list(expected)
    for name, values in expected.items():
        assert actual[name] == pytest.approx(values, abs=0.02, nan_ok=True), name


def test_weights(models):
    _, observed, integers, _ = models
    results = ns.extract_weights("a", observed, "b", integers)
    assert [results[name]["weight"]["b"][0]["fqn"] for name in results] == ["c", "", "l"]
    assert results["l"]["weight"]["b"][0]["values"][0].dtype is tq.qint8
    agree(ratios(results, "weight"), {"c": [48.131], "linear": [46.317], "l": [46.425]})


def test_values(models):
    _, observed, integers, x = models
    a, b = ns.add_loggers("a", deepcopy(observed), "b", deepcopy(integers), ns.OutputLogger, True)
    a(x)
    b(x)
    results = ns.extract_logger_info(a, b, ns.OutputLogger, "b")
    outputs = {
        "c": [46.81], "add": [46.81], "linear": [42.408], "sigmoid": [53.008], "mp": [53.008], "cat": [53.008],
        "l": [float("nan")],
    }  # fmt: skip
    agree(ratios(results, "node_output"), outputs)
    inputs = {
        "c": [43.681], "add": [46.81, 46.81], "linear": [46.81], "sigmoid": [42.408], "mp": [53.008],
        "cat": [53.008, 53.008], "l": [53.008],
    }  # fmt: skip
    agree(ratios(results, "node_input"), inputs)
    positions = [(e["index_of_arg"], e["index_within_arg"]) for e in results["cat"]["node_input"]["a"]]
    assert positions == [(0, 0), (0, 1)]


@pytest.mark.filterwarnings("ignore:skipping shadow loggers")
def test_layers_beside_each_other(models):
    _, observed, integers, x = models
    expected = {
        "c": [49.152], "linear": [43.555], "sigmoid": [55.265], "mp": [float("inf")], "l": [float("nan")],
    }  # fmt: skip
    both = ns.add_shadow_loggers("a", deepcopy(observed), "b", deepcopy(integers), ns.OutputLogger, True)
    assert tl.equal(both(x), integers(x))
    agree(ratios(ns.extract_shadow_logger_info(both, ns.OutputLogger, "b"), "node_output"), expected)
    both = ns.add_shadow_loggers("a", deepcopy(integers), "b", deepcopy(observed), ns.OutputLogger)
    assert tl.equal(both(x), observed(x))
    results = ns.extract_shadow_logger_info(both, ns.OutputLogger, "b")
    expected = {"activation_post_process_1": [46.806], "activation_post_process_4": [43.028]}
    agree(ratios(results, "node_output"), expected)


@pytest.mark.filterwarnings("ignore:skipping shadow loggers")
def test_layers_of_several_tensors_have_no_copy(models):
    _, observed, integers, _ = models
    with pytest.warns(UserWarning, match="skipping shadow loggers for node_b: .*add.*, unsupported"):
        ns.add_shadow_loggers("a", deepcopy(observed), "b", deepcopy(integers), ns.OutputLogger)


@pytest.mark.filterwarnings("ignore:QConfig must specify a FixedQParams")
def test_several_configurations(models, capsys):
    model, _, _, x = models
    several = QConfigMultiMapping().set_global(
        [tq.default_qconfig, tq.default_dynamic_qconfig, tq.default_per_channel_qconfig]
    )
    prepared = ns.prepare_n_shadows_model(deepcopy(model), (x,), several, get_native_backend_config())
    prepared(x)
    converted = ns.convert_n_shadows_model(prepared)
    ns.loggers_set_enabled(converted, True)
    ns.loggers_set_save_activations(converted, False)
    assert tl.equal(converted(x), model(x))
    results = ns.extract_results_n_shadows_model(converted)
    entries = results["model"]["node_output"]
    actual = {name: [float(v) for v in entry[0]["comparisons"]] for name, entry in entries.items()}
    expected = {1: [49.218, np.inf, 49.218], 2: [42.284, 50.513, 42.966], 4: [51.331, np.inf, 51.331]}
    for number, values in expected.items():
        for candidate, value in enumerate(values, 1):
            assert actual[f"subgraph_{number}_{candidate}"] == pytest.approx([value], abs=0.02)
    assert not entries["subgraph_2_1"][0]["values"]
    ns.print_comparisons_n_shadows_model(results)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["node_name", "node_type", "fqn", "0", "1", "2"] and len(lines) == 9
    assert lines[4].split()[0] == "linear" and lines[4].split()[-1].startswith("42.96")


@pytest.mark.filterwarnings("ignore:QConfig must specify a FixedQParams")
def test_errors_that_propagate(models):
    model, _, _, x = models
    mapping = tq.QConfigMapping().set_global(tq.default_qconfig)
    backend = get_native_backend_config()
    prepared = ns._prepare_n_shadows_add_loggers_model(deepcopy(model), (x,), mapping, backend)
    prepared(x)
    converted = ns.convert_n_shadows_model(prepared)
    ns.loggers_set_enabled(converted, True)
    converted(x)
    entries = ns.extract_results_n_shadows_model(converted)["model"]["node_output"]
    actual = [float(entries[f"subgraph_{i}_1"][0]["comparisons"][0]) for i in range(6)]
    assert actual == pytest.approx([46.868, 46.868, 41.729, 57.014, 49.55, 49.55], abs=0.02)
    weights = ns._n_shadows_compare_weights(deepcopy(model), (x,), mapping, backend)["model"]["weight"]
    assert float(weights["subgraph_2_1"][0]["comparisons"][0]) == pytest.approx(45.916, abs=0.02)


def test_models_that_are_no_pairs():
    a, b = nn.Sequential(nn.Linear(2, 2)), nn.Sequential(nn.Conv2d(2, 2, 1))
    with pytest.raises(GraphMatchingException, match="are not related"):
        get_matching_subgraph_pairs(ns._trace(a), ns._trace(b))
    with pytest.raises(GraphMatchingException, match="the same number of layers"):
        get_matching_subgraph_pairs(ns._trace(a), ns._trace(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))))
    with pytest.raises(AssertionError, match="c not found in results"):
        ns.extend_logger_results_with_comparison(
            ns.extract_weights("a", a, "b", a), "a", "c", compute_sqnr, "sqnr"
        )


def test_operators_of_a_program():
    sets = get_base_name_to_sets_of_related_ops()
    add_op_to_sets_of_related_ops(sets, "mine", F.relu)
    assert get_base_name_for_op(sets, "mine") == get_base_name_for_op(sets, nn.ReLU)
    add_op_to_sets_of_related_ops(sets, "own", None)
    assert sets[get_base_name_for_op(sets, "own")] == {"own"}
    with pytest.raises(AssertionError, match="other was not found"):
        add_op_to_sets_of_related_ops(sets, "mine", "other")


def test_lists_of_configurations():
    several = QConfigMultiMapping().set_module_name("a", [tq.default_qconfig, tq.default_qconfig, None])
    assert len(several.qconfig_mappings_list) == 1
    several.set_object_type(nn.Linear, [tq.default_qconfig, tq.default_dynamic_qconfig])
    first, second = several.qconfig_mappings_list
    assert (
        second.module_name_qconfigs == {"a": None} and first.module_name_qconfigs["a"] == tq.default_qconfig
    )
    again = QConfigMultiMapping.from_list_qconfig_mapping([first, second])
    assert again.qconfig_mappings_list[1].object_type_qconfigs[nn.Linear] == tq.default_dynamic_qconfig
    assert repr(again).startswith("QConfigMultiMapping [\nQConfigMapping (")


def test_chains_with_branches_are_refused():
    gm = ns._trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    _, first, last, _ = gm.graph.nodes
    assert create_submodule_from_subgraph(gm, first, last)(tl.ones(1, 2)).shape == (1, 2)
    gm.graph.output_node().args = ((first, last),)
    with pytest.raises(AssertionError, match="must have one user, but has 2"):
        create_submodule_from_subgraph(gm, first, last)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(2, 3)

    def forward(self, x, hidden):
        return self.rnn(x, hidden)


def test_a_recurrent_layer_beside_its_float_twin():
    tl.manual_seed(0)
    x, hidden = tl.randn(4, 1, 2), (tl.randn(1, 1, 3), tl.randn(1, 1, 3))
    mapping = tq.QConfigMapping().set_global(tq.default_dynamic_qconfig)
    observed = prepare_fx(Recurrent().eval(), mapping, (x, hidden))
    exact, _ = observed(x, hidden)
    integers = convert_fx(deepcopy(observed))
    both = ns.add_shadow_loggers("a", deepcopy(observed), "b", deepcopy(integers), ns.OutputLogger)
    assert tl.equal(both(x, hidden)[0], integers(x, hidden)[0])
    (kinds,) = ns.extract_shadow_logger_info(both, ns.OutputLogger, "b").values()
    twin, own = (kinds["node_output"][name][0]["values"][0][0] for name in "ab")
    assert tl.equal(twin, exact)  # it begins with the hidden state of the call
    assert tl.equal(own, integers(x, hidden)[0]) and not tl.equal(own, twin)
