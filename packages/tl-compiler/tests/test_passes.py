"""Passes: parts of graphs split, fused, merged and compared; what they note; the orders in which they run."""

import operator

import models
import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import export, fx
from tl_compiler.fx.experimental.proxy_tensor import make_fx
from tl_compiler.fx.experimental.symbolic_shapes import ShapeEnv, statically_known_true
from tl_compiler.fx.passes import (
    graph_manipulation,
    net_min_base,
    param_fetch,
    pass_manager,
    shape_prop,
    splitter_base,
    tools_common,
)
from tl_compiler.fx.passes.annotate_getitem_nodes import annotate_getitem_nodes
from tl_compiler.fx.passes.backends.cudagraphs import partition_cudagraphs
from tl_compiler.fx.passes.dialect.common.cse_pass import CSEPass, get_CSE_banned_ops
from tl_compiler.fx.passes.fake_tensor_prop import FakeTensorProp
from tl_compiler.fx.passes.graph_transform_observer import GraphTransformObserver
from tl_compiler.fx.passes.infra.partitioner import CapabilityBasedPartitioner, Partition
from tl_compiler.fx.passes.infra.pass_base import PassBase, PassResult
from tl_compiler.fx.passes.infra.pass_manager import (
    PassManager,
    pass_result_wrapper,
    this_before_that_pass_constraint,
)
from tl_compiler.fx.passes.operator_support import (
    OperatorSupport,
    OpSupports,
    any_chain,
    chain,
    create_op_support,
)
from tl_compiler.fx.passes.reinplace import reinplace
from tl_compiler.fx.passes.runtime_assert import insert_deferred_runtime_asserts
from tl_compiler.fx.passes.split_module import split_module
from tl_compiler.fx.passes.split_utils import getattr_recursive, setattr_recursive, split_by_tags
from tl_compiler.fx.passes.utils import compare_graphs
from tl_compiler.fx.passes.utils.fuser_utils import fuse_by_partitions
from tl_compiler.fx.passes.utils.source_matcher_utils import check_subgraphs_connected, get_source_partitions
from tl_core.subclasses import FakeTensor, FakeTensorMode


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.scale = nn.Parameter(tl.full((3,), 2.0))

    def forward(self, x, y):
        a = x + y
        b = self.linear(a) * self.scale
        c = tl.relu(a)
        return (b + c).sum(), c


def traced():
    return fx.symbolic_trace(Branches())


X, Y = tl.arange(6.0).reshape(2, 3), tl.ones(3)


def same(a, b):
    return all(p.equal(q) for p, q in zip(a, b, strict=True))


# ---- splitting


def test_split_module_makes_parts_that_compute_the_same():
    result = traced()
    names = {}
    parts = split_module(
        result, result, lambda n: 0 if n.name in ("add", "relu") else 1, names, keep_original_order=True
    )
    assert same(parts(X, Y), result(X, Y))
    assert [name for name, _ in parts.named_children()] == ["submod_0", "submod_1"]
    assert names == {"submod_1.linear": "linear"}
    with pytest.raises(RuntimeError, match="cycle"):
        split_module(result, result, lambda n: 0 if n.name in ("add", "mul") else 1)


def test_split_by_tags_makes_parts_in_order():
    result = traced()
    for node in result.graph.nodes:
        if node.op in tools_common.CALLABLE_NODE_OPS:
            node.tag = "early" if node.name in ("add", "linear", "relu") else "late"
    parts, paths = split_by_tags(result, ["early", "late"], return_fqn_mapping=True)
    assert same(parts(X, Y), result(X, Y))
    assert paths == {"linear": "early.linear", "scale": "late.scale"}
    for node in result.graph.nodes:
        if hasattr(node, "tag"):
            node.tag = {"early": "late", "late": "early"}[node.tag]
    with pytest.raises(AssertionError, match="order"):
        split_by_tags(result, ["early", "late"])
    holder = nn.Module()
    holder.inner = nn.Module()
    setattr_recursive(holder, "inner.value", 3)
    assert getattr_recursive(holder, "inner.value") == 3
    assert getattr_recursive(holder, "inner.other") is None


ADDS = create_op_support(lambda modules, node: node.target in (operator.add, operator.mul))


def test_a_splitter_gives_the_accelerator_what_it_supports():
    output = traced()
    splitter = splitter_base._SplitterBase(output, (X, Y), ADDS, splitter_base._SplitterSettingBase())
    result = splitter.generate_split_results()
    assert same(result.split_module(X, Y), output(X, Y))
    names = [name for name, _ in result.split_module.named_children()]
    assert any(name.startswith("_run_on_acc_") for name in names)
    assert any(name.startswith(result.non_acc_submodule_prefix) for name in names)
    assert set(result.submodule_inputs) == set(names)
    assert splitter.get_node_submodule_map()["add"].startswith("_run_on_acc_")
    assert "operator.add" in splitter.node_support_preview()
    few = splitter_base._SplitterSettingBase(min_acc_module_size=10)
    full = splitter_base._SplitterBase(traced(), (X, Y), ADDS, few)()
    assert [name for name, _ in full.named_children()] == ["_run_on_cpu_0"]
    one = splitter_base._SplitterSettingBase(max_acc_splits=0)
    with pytest.raises(ValueError, match="max_acc_splits"):
        splitter_base._SplitterBase(traced(), (X, Y), ADDS, one)()


# ---- partitions


@pytest.mark.parametrize("name", ["resnet18", "gpt", "unet", "densenet", "wavenet"])
def test_partitions_of_models_compute_the_same(name):
    make, inputs = models.MODELS[name]
    model = make().eval()
    result = fx.symbolic_trace(model)
    supported = create_op_support(
        lambda modules, node: node.op != "call_module" and node.op in tools_common.CALLABLE_NODE_OPS
    )
    partitioner = CapabilityBasedPartitioner(result, supported, allows_single_node_partition=True)
    partitions = partitioner.propose_partitions()
    assert partitions
    fused = partitioner.fuse_partitions(partitions)
    fused.graph.lint()
    argument = inputs()[1]
    assert fused(*argument).equal(model(*argument))


def test_partitions_have_no_cycles():
    result = fx.symbolic_trace(lambda x: (x + 1).neg() + (x + 1))
    groups = CapabilityBasedPartitioner(result, ADDS, allows_single_node_partition=True).propose_partitions()
    names = [sorted(node.name for node in group.nodes) for group in groups]
    assert sorted(name for group in names for name in group) == ["add", "add_1", "add_2"]
    nodes = {node.name: node for node in result.graph.nodes}
    with pytest.raises(AssertionError, match="cycle"):
        fuse_by_partitions(result, [dict.fromkeys([nodes["add"], nodes["add_2"]])])
    part = Partition(0, [nodes["add"]])
    part.add_node(nodes["neg"])
    part.remove_node(nodes["add"])
    assert part.size() == 1


def test_what_a_backend_supports():
    result = traced()
    shape_prop.ShapeProp(result).propagate(X, Y)
    nodes = {node.name: node for node in result.graph.nodes}
    table = OperatorSupport({"_operator.add": (((tl.float32,), (tl.float32,)), {}), "torch.relu": None})
    modules = dict(result.named_modules())
    assert table.is_node_supported(modules, nodes["add"])
    assert table.is_node_supported(modules, nodes["relu"])
    assert not table.is_node_supported(modules, nodes["linear"])
    assert not OperatorSupport({"_operator.add": (((tl.int64,),), {})}).is_node_supported(
        modules, nodes["add"]
    )
    no_floats = OpSupports.decline_if_input_dtype(tl.float32)
    assert not chain(table, no_floats).is_node_supported(modules, nodes["add"])
    assert any_chain(table, no_floats).is_node_supported(modules, nodes["add"])
    assert not OpSupports.decline_if_node_in_names({"add"}).is_node_supported(modules, nodes["add"])


@pytest.mark.parametrize("repair", [tools_common.legalize_graph, tools_common.stable_topological_sort])
def test_orders_are_mended(repair):
    graph = fx.Graph()
    x = graph.placeholder("x")
    first = graph.call_method("neg", (x,))
    second = graph.call_method("abs", (first,))
    graph.output(second)
    first.prepend(second)
    with pytest.raises(RuntimeError, match="used before"):
        graph.lint()
    result = repair(fx.GraphModule({}, graph))
    result.graph.lint()
    assert result(tl.tensor(-2.0)).item() == 2.0


# ---- one graph made another


def test_equal_things_are_computed_once():
    def f(x):
        a = x.sum(1)
        b = x.sum(1)
        c = x.clone()
        d = x.clone()
        d.add_(1)
        return a + b + c.sum() + d.sum() + tl.rand(1) * 0 + tl.rand(1) * 0 + (x * 2).sum() + (x * 2.0).sum()

    output = fx.symbolic_trace(f)
    result = CSEPass(get_CSE_banned_ops())(output)
    targets = [str(node.target) for node in result.graph_module.graph.nodes]
    assert result.modified
    assert targets.count("clone") == 2  # one of them is written to
    assert (
        sum(node.target is operator.mul for node in result.graph_module.graph.nodes) >= 2
    )  # 2 and 2.0 differ
    assert result.graph_module(X).equal(output(X))
    assert not CSEPass(get_CSE_banned_ops())(result.graph_module).modified


def test_reinplace_writes_where_nobody_looks():
    def f(x):
        a = x.clone()
        b = a.neg()
        c = b.exp()
        return c + b.sum(), x.abs()

    result = fx.symbolic_trace(f)
    expected = result(X)
    changed = reinplace(result, X)
    targets = [node.target for node in changed.graph.nodes if node.op == "call_method"]
    assert targets == ["clone", "neg_", "exp", "sum", "abs"]
    copy = X.clone()
    assert same(changed(copy), expected)
    assert copy.equal(X)


def test_targets_and_sizes():
    result = traced()
    graph_manipulation.replace_target_nodes_with(
        result, "call_function", tl.relu, "call_function", tl.sigmoid
    )
    assert any(node.target is tl.sigmoid for node in result.graph.nodes)
    graph_manipulation.get_size_of_all_nodes(result, [X, Y])
    sizes = {node.name: node.size_bytes for node in result.graph.nodes if node.op != "output"}
    assert sizes["add"] == (24, 24)
    assert sizes["linear"] == (24, 24 + 12 * 4)
    with pytest.raises(RuntimeError, match="shape propagation"):
        graph_manipulation.get_size_of_node(result, next(iter(traced().graph.nodes)))
    param_fetch.lift_lowering_attrs_to_nodes(result)
    assert (
        result.graph.find_nodes(op="call_module")[0].attrs_for_lowering["name"]
        == "torch.nn.modules.linear.Linear"
    )
    with pytest.raises(RuntimeError, match="module_fetch_book"):
        param_fetch.extract_attrs_for_lowering(nn.Tanh())


def test_fakes_go_through_a_graph():
    result = traced()
    FakeTensorProp(result).propagate(X, Y)
    records = {node.name: node.meta["val"] for node in result.graph.nodes if node.op != "output"}
    assert isinstance(records["linear"], FakeTensor)
    assert records["linear"].device.type == "cpu"
    assert tuple(records["mul"].shape) == (2, 3)


def test_a_graph_of_fakes_runs_in_their_mode():
    result = fx.symbolic_trace(nn.Linear(4, 3))
    mode = FakeTensorMode()
    for path, value in list(result.named_parameters()):
        owner, _, name = path.rpartition(".")
        setattr(result.get_submodule(owner), name, nn.Parameter(mode.from_tensor(value)))
    assert FakeTensorProp(result, mode).propagate(tl.ones(5, 4)).shape == (5, 3)
    with pytest.raises(AssertionError, match="Mixing fake modes"):
        FakeTensorProp(result).propagate(tl.ones(5, 4))


def test_sizes_that_data_decide_keep_their_symbols():
    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env)
    with mode:
        value = tl.randn(5)
        result = make_fx(lambda x: x.nonzero())(value)
    (node,) = result.graph.find_nodes(op="call_function", target=tl.ops.aten.nonzero.default)
    first = node.meta["val"].shape[0]
    assert [str(path[0]) for path in node.meta["unbacked_bindings"].values()] == [".size()[0]"]
    assert list(node.meta["unbacked_bindings"]) == [first.node.expr]
    FakeTensorProp(result, mode).propagate(value)
    again = node.meta["val"].shape[0]
    assert again is not first and statically_known_true(again == first)
    assert not env.pending_fresh_unbacked_symbols


def test_what_cudagraphs_take():
    assert not any(isinstance(m, fx.GraphModule) for m in partition_cudagraphs(traced(), (X, Y)).children())


class _Minimizer(net_min_base._MinimizerBase):
    def run_a(self, mod, inputs, report_idx=-1):
        return mod(*inputs)

    def run_b(self, mod, inputs, report_idx=-1):
        result = mod(*inputs)
        wrong = any(node.target is tl.relu for node in mod.graph.nodes)
        return (
            tuple(r + 1 for r in result)
            if wrong and isinstance(result, tuple)
            else result + 1
            if wrong
            else result
        )


@pytest.mark.parametrize("method", ["sequential", "binary", "accumulate"])
def test_the_part_that_differs_is_found(method):
    def compare(a, b, names):
        pairs = zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]
        return 0.0, all(p.equal(q) for p, q in pairs)

    result = fx.symbolic_trace(lambda x: tl.relu((x + 1).exp()).neg() * 2)
    settings = net_min_base._MinimizerSettingBase(traverse_method=method)
    minimizer = _Minimizer(result, (X,), compare, settings)
    assert [node.name for node in minimizer.minimize()] == ["relu"]
    assert minimizer.reports
    with pytest.raises(net_min_base.FxNetMinimizerResultMismatchError):
        minimizer.run_nodes("exp", "neg")
    minimizer.run_nodes("add", "exp")
    with pytest.raises(RuntimeError, match="traverse method"):
        settings.traverse_method = "sideways"
        minimizer.minimize()


# ---- notes


def test_annotations_of_items():
    graph = fx.Graph()
    pair = graph.placeholder("pair", type_expr=tuple[int, tl.Tensor])
    items = graph.placeholder("items", type_expr=list[float])
    results = [
        graph.call_function(operator.getitem, (pair, 1)),
        graph.call_function(operator.getitem, (items, 0)),
    ]
    annotate_getitem_nodes(graph)
    assert [node.type for node in results] == [tl.Tensor, float]


def test_an_observer_sees_what_a_pass_does():
    result = fx.symbolic_trace(lambda x: x.neg().abs())

    def replace(gm):
        old = gm.graph.find_nodes(op="call_method", target="neg")[0]
        with gm.graph.inserting_after(old):
            new = gm.graph.call_method("exp", (old.args[0],))
        old.replace_all_uses_with(new)
        gm.graph.erase_node(old)

    observer = GraphTransformObserver(result, "swap")
    observer.apply_gm_pass(replace)
    assert (observer.created_nodes, observer.erased_nodes) == ({"exp"}, {"neg"})
    origin = result.graph.find_nodes(op="call_method", target="exp")[0].meta["from_node"][-1]
    assert (origin.name, origin.pass_name, origin._get_action_string()) == ("neg", "swap", "replace+create")
    assert not result._create_node_hooks
    assert not result._replace_hooks


def test_nodes_by_where_they_come_from():
    result = traced()
    for node in result.graph.nodes:
        if node.name in ("add", "linear"):
            node.meta["source_fn_stack"] = [(node.name, nn.Linear if node.name == "linear" else operator.add)]
    parts = get_source_partitions(result.graph, [nn.Linear, operator.add])
    (linear,), (add,) = parts[nn.Linear], parts[operator.add]
    assert check_subgraphs_connected(add, linear)
    assert not check_subgraphs_connected(linear, add)
    assert [n.name for n in add.output_nodes] == ["add"]
    assert compare_graphs(traced().graph, traced().graph)


class _Check:
    def __init__(self, expr, msg):
        self.expr, self.msg = expr, msg


class _Expression(str):
    free_symbols = ("s0",)


class _Size(int):
    class node:
        expr = "s0"


def test_checks_of_sizes_that_wait():
    result = fx.symbolic_trace(lambda n: n + 1)
    next(iter(result.graph.nodes)).meta["val"] = _Size(3)

    class Environment:
        deferred_runtime_asserts = {"s0": [_Check(_Expression("s0 > 2"), "")]}  # noqa: RUF012

    insert_deferred_runtime_asserts(result, Environment(), "graph")
    assert result(3) == 4
    with pytest.raises(AssertionError, match="s0 > 2"):
        result(1)


# ---- orders of passes


class _Swap(PassBase):
    def call(self, graph_module):
        changed = False
        for node in graph_module.graph.nodes:
            if node.target is operator.add:
                node.target, changed = operator.sub, True
        return PassResult(graph_module, changed)


def test_managers_run_passes_until_nothing_changes():
    result = fx.symbolic_trace(lambda x: x + 1)
    manager = PassManager([_Swap()], steps=5)
    assert manager(result).modified
    assert result(3) == 2
    assert not manager(result).modified

    def fails(gm):
        raise ValueError("broken")

    def plain(gm):
        return None

    with pytest.raises(Exception, match=r"'fails' pass after the following passes: .*plain"):
        PassManager([pass_result_wrapper(plain), pass_result_wrapper(fails)])(result)
    first, second = pass_result_wrapper(plain), pass_result_wrapper(fails)
    manager = PassManager([second, first], [this_before_that_pass_constraint(first, second)])
    with pytest.raises(RuntimeError, match="constraint violated"):
        manager.validate_constraints()
    manager.solve_constraints()
    assert manager.passes == [first, second]
    manager.add_constraint(this_before_that_pass_constraint(second, first))
    with pytest.raises(RuntimeError, match="Circular"):
        manager.solve_constraints()
    with pytest.raises(TypeError, match="one variable"):
        manager.add_checks(lambda a, b: None)


def test_the_older_manager():
    steps = []
    manager = pass_manager.PassManager(
        [lambda x: steps.append(x) or x, pass_manager.loop_pass(lambda n: n + 1, predicate=lambda n: n < 5)]
    )
    assert manager(1) == 5
    assert steps == [1]
    with pytest.raises(AssertionError, match="Exactly one"):
        pass_manager.loop_pass(lambda n: n)


def test_drawings():
    pydot = pytest.importorskip("pydot")
    from tl_compiler.fx.passes.graph_drawer import FxGraphDrawer

    result = traced()
    shape_prop.ShapeProp(result).propagate(X, Y)
    drawing = FxGraphDrawer(result, "net").get_dot_graph()
    assert isinstance(drawing, pydot.Dot)
    assert {"add", "linear", "linear.weight"} <= {node.get_name().strip('"') for node in drawing.get_nodes()}


def test_parts_by_the_functions_that_they_were():
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))
    output = export.export(net, (tl.ones(1, 3),)).module()
    result = get_source_partitions(output.graph, ["linear", "relu"])
    assert [len(result[name]) for name in ("linear", "relu")] == [2, 1]
    first, second = result["linear"]
    assert check_subgraphs_connected(first, result["relu"][0])
    assert not check_subgraphs_connected(first, second)
