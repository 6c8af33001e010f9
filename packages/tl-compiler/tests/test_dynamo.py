import pytest

import tl_core as tl
import tl_nn
from tl_compiler.compat import dynamo
from tl_compiler.compat.dynamo.testing import make_test_cls_with_patches, rand_strided
from tl_compiler.compat.dynamo.utils import same
from tl_compiler.export import export
from tl_compiler.fx.passes.utils.source_matcher_utils import check_subgraphs_connected, get_source_partitions
from tl_core.testing import assert_close
from tl_nn import functional


class Net(tl_nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = tl_nn.Linear(3, 3)

    def forward(self, x, *, scale=1.0):
        return self.linear(self.linear(x).relu()) * scale


@pytest.mark.parametrize("options", [{}, {"aten_graph": True}, {"aten_graph": True, "pre_dispatch": True}])
def test_exported_graphs_compute_what_the_module_does(options):
    model, x = Net(), tl.randn(4, 3)
    graph, guards = dynamo.export(model, **options)(x)
    assert isinstance(guards, list)
    for rows in (4, 7):
        x = tl.randn(rows, 3)
        assert_close(graph(x), model(x))


def test_operators_are_taken_apart_unless_they_stay_whole():
    full, _ = dynamo.export(Net(), aten_graph=True, pre_dispatch=True)(tl.randn(4, 3))
    apart, _ = dynamo.export(Net(), aten_graph=True, decomposition_table=None)(tl.randn(4, 3))
    assert tl.ops.aten.linear.default in [n.target for n in full.graph.nodes]
    assert get_source_partitions(full.graph, ["linear"])["linear"][0].nodes
    table = {tl.ops.aten.relu.default: lambda x: x.clamp(min=0)}
    replaced, _ = dynamo.export(Net(), aten_graph=True, decomposition_table=table)(tl.randn(4, 3))
    assert tl.ops.aten.relu.default in [n.target for n in apart.graph.nodes]
    assert tl.ops.aten.relu.default not in [n.target for n in replaced.graph.nodes]


def test_the_older_form_and_what_does_not_go_together():
    graph, _ = dynamo.export(lambda x: x.sin(), tl.ones(2), aten_graph=True)
    assert_close(graph(tl.ones(2)), tl.ones(2).sin())
    with pytest.raises(AssertionError, match="aten_graph=True"):
        dynamo.export(Net(), pre_dispatch=True)


def test_strided_random_numbers():
    x = rand_strided((2, 3), (1, 2), extra_size=4)
    assert x.stride() == (1, 2)
    assert x.untyped_storage().nbytes() == (6 + 4) * 4
    assert rand_strided((2,), (3,), tl.int64).unique().numel() <= 2


def test_tests_with_attributes_patched():
    class Settings:
        on = False

    class Tests:
        def test_on(self):
            return Settings.on

    result = make_test_cls_with_patches(Tests, "Patched", "_on", (Settings, "on", True))
    assert result.__name__ == "PatchedTests"
    assert result().test_on_on()
    assert not Tests().test_on()


def test_same():
    x = tl.tensor([1.0, float("nan")])
    assert same({"a": [tl.ones(2), 1]}, {"a": [tl.ones(2) + 1e-6, 1]})
    assert not same(tl.ones(2), tl.ones(3))
    assert not same(tl.ones(2), tl.ones(2).double())
    assert same(tl.ones(2), tl.ones(2).double(), exact_dtype=False)
    assert same(x, x, equal_nan=True)
    assert not same(x, x)
    assert same(tl.ones(3), tl.ones(3) * 1.5, cos_similarity=True)
    assert not same(1, True)
    assert not same([1], [1, 2])


class _Twice(tl_nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.act, self.second = tl_nn.Linear(3, 3), tl_nn.ReLU(), tl_nn.Linear(3, 5)

    def forward(self, x):
        y = self.second(self.act(self.first(self.first(x))))
        return functional.relu(functional.linear(y, self.second.weight.t()))


def test_nodes_say_which_function_or_layer_they_come_from():
    graph = dynamo.export(_Twice(), aten_graph=True)(tl.ones(2, 3)).graph_module.graph
    result = get_source_partitions(graph, [tl_nn.Linear, tl_nn.ReLU, functional.linear, functional.relu])
    assert {source: len(parts) for source, parts in result.items()} == {
        tl_nn.Linear: 3, tl_nn.ReLU: 1, functional.linear: 1, functional.relu: 1,
    }  # fmt: skip
    names = [node.meta["source_fn_stack"][-1][0] for node in graph.nodes if "source_fn_stack" in node.meta]
    assert list(dict.fromkeys(names)) == ["first", "first_1", "act", "second", "t", "linear", "relu"]
    last = result[tl_nn.Linear][2]
    assert check_subgraphs_connected(result[tl_nn.ReLU][0], last)
    assert not check_subgraphs_connected(result[tl_nn.Linear][0], last)


class _Pairs(tl_nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.gru = tl_nn.Linear(3, 3), tl_nn.GRU(3, 2)

    def forward(self, x):
        y, h = self.gru(self.layer(self.layer(x)))
        return y * 2, h * 3


def test_each_call_of_a_module_is_a_part_with_its_results():
    graph = export(_Pairs(), (tl.ones(4, 1, 3),)).module().graph
    result = get_source_partitions(graph, [tl_nn.Linear, tl_nn.GRU])
    assert [[n.name for n in part.output_nodes] for part in result[tl_nn.Linear]] == [
        ["linear"],
        ["linear_1"],
    ]
    assert [n.name for n in result[tl_nn.GRU][0].output_nodes] == ["getitem", "getitem_1"]
    first, second = (part.nodes[0] for part in result[tl_nn.Linear])
    assert list(first.meta["nn_module_stack"]) == ["L__self__", "L__self__layer"]
    assert list(second.meta["nn_module_stack"]) == ["L__self__", "L__self__layer@1"]
