"""The parts of graphs: nodes, names, containers, proxies, code, patterns, and what passes share."""

import collections
import copy
import inspect
import logging
import math
import operator
import pickle

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import fx
from tl_compiler.fx import (
    code_generation,
    code_imports,
    full_call,
    immutable_collections,
    names,
    operator_schemas,
    patching,
    proxy,
    scopes,
    subgraph_rewriter,
    tensor_type,
    traceback,
)
from tl_compiler.fx import node as nodes
from tl_compiler.fx.passes import (
    graph_manipulation,
    param_fetch,
    pass_manager,
    shape_prop,
    split_utils,
    tools_common,
)
from tl_compiler.fx.passes import splitter_base as splitter
from tl_compiler.fx.passes.schedule import Schedule
from tl_compiler.fx.passes.split_module import split_module
from tl_compiler.fx.passes.utils import fuser_utils, matcher_utils, source_matcher_utils
from tl_compiler.fx.passes.utils.common import HolderModule, compare_graphs, lift_subgraph_as_module
from tl_nn import functional as F

Pair = collections.namedtuple("Pair", "left right")


def trace(function):
    """A traced function and its nodes by name."""
    module = fx.symbolic_trace(function)
    return module, {node.name: node for node in module.graph.nodes}


# ---- nodes and containers


def test_structures_are_mapped_leaf_by_leaf():
    value = Pair([1, {"a": 2}], slice(3, None, 4))
    result = nodes.map_aggregate(value, lambda leaf: leaf if leaf is None else leaf * 10)
    assert result == Pair([10, {"a": 20}], slice(30, None, 40)) and type(result) is Pair
    _, by_name = trace(lambda x: x + 1)
    x, add = by_name["x"], by_name["add"]
    assert isinstance(add, nodes.Node) and nodes.map_arg(add.args, lambda n: n.name) == ("x", 1)
    assert nodes.map_arg([x, 3, {"k": x}], lambda n: 7) == [7, 3, {"k": 7}]


def test_copies_of_proxies_and_tracers():
    tracer = fx.Tracer()
    tracer.root, tracer.graph, tracer.limit = nn.Linear(2, 2), fx.Graph(tracer_cls=fx.Tracer), [3]
    x = tracer.create_proxy("placeholder", "x", (), {})
    first, second, other = copy.deepcopy([x, x, tracer])
    assert first is second and first is not x and type(first) is proxy.Proxy
    assert first.node.name == "x" and first.node is not x.node
    assert first.tracer is other and type(other) is fx.Tracer and other is not tracer
    assert other.root is tracer.root and other.limit == [3] and other.limit is not tracer.limit


def known(methods):
    """The names that the module operator has; Python 3 has no `div`."""
    return [name for name in methods if hasattr(operator, name)]


@pytest.mark.parametrize("name", known([*proxy.magic_methods, *proxy.inplace_methods]))
def test_special_methods_of_proxies_are_functions_of_operator(name):
    function = getattr(operator, name)
    special = f"__{name.strip('_')}__"
    method = getattr(proxy.Proxy, special)
    assert method.__name__ == special
    x = proxy.Proxy(fx.Graph().placeholder("x"))
    operands = (2,) * (len(inspect.signature(function).parameters) - 1)
    node = method(x, *operands).node
    assert (node.op, node.target, node.args, node.kwargs) == (
        "call_function",
        function,
        (x.node, *operands),
        {},
    )


@pytest.mark.parametrize("name", known(n for n in proxy.reflectable_magic_methods if n != "getitem"))
def test_reflected_methods_of_proxies_exchange_the_operands(name):
    x = proxy.Proxy(fx.Graph().placeholder("x"))
    special = f"__r{name.strip('_')}__"
    method = getattr(proxy.Proxy, special)
    node = method(x, 2).node
    assert method.__name__ == special
    assert (node.target, node.args) == (getattr(operator, name), (2, x.node))


def test_a_function_with_an_effect_stays():
    @nodes.has_side_effect
    def note(x):
        return x

    def plain(x):
        return x

    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(note, (x,))
    graph.call_function(plain, (x,))
    graph.output(x)
    graph.eliminate_dead_code()
    assert [n.target for n in graph.nodes if n.op == "call_function"] == [note]


def test_containers_of_arguments_refuse_changes():
    numbers = immutable_collections.immutable_list([3, 1])
    table = immutable_collections.immutable_dict(a=1)
    changes = [
        lambda: numbers.append(1), lambda: numbers.sort(), lambda: numbers.__setitem__(0, 1), numbers.clear,
        numbers.pop,
        lambda: numbers.extend([1]), lambda: numbers.insert(0, 1), lambda: numbers.remove(1), numbers.reverse,
        lambda: table.__setitem__("a", 2), table.clear, lambda: table.pop("a"), table.popitem,
        lambda: table.setdefault("b", 1), lambda: table.update(b=1), lambda: table.__delitem__("a"),
    ]  # fmt: skip
    for change in changes:
        with pytest.raises(NotImplementedError, match="does not support mutation"):
            change()
    assert numbers == [3, 1] and table == {"a": 1}
    for container in (numbers, table):
        again = pickle.loads(pickle.dumps(container))
        assert again == container and type(again) is type(container) and hash(again) == hash(container)


# ---- names


def test_names_of_functions():
    assert names.snake_case("BatchNorm2d") == "batch_norm2d" and names.snake_case("ReLU") == "re_lu"
    assert names.qualified_name(len) == "len" and names.qualified_name(math.sqrt) == "math.sqrt"
    assert names.qualified_name(operator.add) == "operator.add"
    assert (
        names.qualified_name(F.linear).endswith(".linear") and names.qualified_name(tl.relu) == "torch.relu"
    )
    assert names.qualified_name(tl.ops.aten.add.Tensor) == "torch.ops.aten.add.Tensor"
    assert names.qualified_name(tl.ops.aten.add) == "torch.ops.aten.add"
    assert names.qualified_name(tl.linalg.det) == names.library_path(tl.linalg.det) == "torch.linalg.det"
    assert names.qualified_name(tl.special.erf) == "torch.special.erf"
    assert names.root_namespace().relu is tl.relu and names.library_path(tl.relu) is not None


def test_graphs_with_functions_of_namespaces_pickle():
    graph = fx.symbolic_trace(lambda x: tl.linalg.det(tl.special.erf(x)) + tl.fft.fft(x).real.sum())
    assert "torch.linalg.det(" in graph.code and "torch.fft.fft(" in graph.code
    x = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert pickle.loads(pickle.dumps(graph))(x).item() == pytest.approx(
        math.erf(1) * math.erf(4) - math.erf(2) * math.erf(3) + 3 - 1 + 7 - 1
    )


def test_a_namespace_gives_each_name_once():
    space = names.Namespace()
    arguments = [
        space.create_name(candidate, None) for candidate in ("x", "x", "x_1", "x_7", "x", "1a", "a-b", "for")
    ]
    assert len({*arguments}) == len(arguments) and all(name.isidentifier() for name in arguments)
    assert (
        arguments[:2] == ["x", "x_1"]
        and arguments[2] not in ("x", "x_1")
        and arguments[5] == "_1a"
        and arguments[6] == "a_b"
    )
    assert (
        arguments[7] != "for"
        and space.create_name("inf", None) != "inf"
        and space.create_name("len", len) == "len"
    )
    thing = object()
    first = space.create_name("thing", thing)
    assert space.create_name("other", thing) == first
    named = object()
    space.associate_name_with_obj("label", named)
    assert space.create_name("other", named) == "label"


# ---- proxies and scopes


def test_proxies_record_what_is_done():
    graph = fx.Graph()
    tracer = proxy.GraphAppendingTracer(graph)
    assert isinstance(tracer, proxy.TracerBase)
    x = proxy.Proxy(graph.placeholder("x"), tracer)
    shape = x.shape
    assert isinstance(shape, proxy.Attribute) and len(graph.nodes) == 1
    result = abs(2 - x) @ x.T[0].sum(dim=1) // shape[0]
    graph.output(result.node)
    calls = [(n.op, getattr(n.target, "__name__", n.target)) for n in graph.nodes]
    assert ("call_method", "sum") in calls and ("call_function", "matmul") in calls
    assert ("call_function", "floordiv") in calls and ("call_function", "abs") in calls
    first, second = proxy.Proxy(graph.placeholder("pair"), tracer)
    assert [n.target for n in (first.node, second.node)] == [operator.getitem] * 2
    assert (first.node.args[1], second.node.args[1]) == (0, 1)
    with pytest.raises(proxy.TraceError, match="control flow"):
        bool(x)
    with pytest.raises(proxy.TraceError, match="cannot be iterated"):
        list(x)
    with pytest.raises(RuntimeError, match="len"):
        len(x)


def test_parameters_as_proxies_have_sizes():
    weight = nn.Parameter(tl.ones(2, 3))
    graph = fx.Graph()
    node = graph.create_node("get_attr", "weight")
    w = proxy.ParameterProxy(proxy.GraphAppendingTracer(graph), node, "weight", weight)
    assert (
        w.shape == (2, 3) and w.size() == (2, 3) and w.dim() == w.ndim == 2 and w.numel() == w.nelement() == 6
    )
    assert repr(w) == "ParameterProxy(weight)"


def test_a_scope_is_that_of_a_block():
    here = scopes.Scope("", None)
    with scopes.ScopeContextManager(here, scopes.Scope("layer", int)) as inside:
        assert inside is here and (here.module_path, here.module_type) == ("layer", int)
    assert (here.module_path, here.module_type) == ("", None)


def test_patches_are_taken_back_in_reverse_order():
    class Layer:
        size = 1

    table = {"a": 1}
    with patching.Patcher() as patcher:
        patcher.patch(table, "a", 2)
        patcher.patch(table, "a", 3)
        patcher.patch(table, "b", 4)
        patcher.patch_method(Layer, "size", 5)
        patcher.patch_method(Layer, "extra", 6)
        assert table == {"a": 2, "b": 4} and (Layer.size, Layer.extra) == (5, 6)
        patcher.patch(table, "a", 7, deduplicate=False)
        assert table["a"] == 7 and patcher.visit_once(Layer) and not patcher.visit_once(Layer)
        patcher.revert_all_patches()
        assert table == {"a": 1} and Layer.size == 1 and not hasattr(Layer, "extra")
        patcher.reapply_all_patches()
        assert table == {"a": 7, "b": 4} and Layer.extra == 6
    assert table == {"a": 1} and Layer.size == 1


def test_a_function_without_stars_takes_containers():
    def function(a, *rest, **options):
        return a, rest, options

    assert patching.without_stars(function, 1)(1, (2, 3), {"b": 4}) == (1, (2, 3), {"b": 4})


# ---- calls


def test_calls_with_all_defaults():
    assert full_call.full_call(F.dropout, ("x", 0.1), {"inplace": True}) == (
        ("x",),
        {"p": 0.1, "training": True, "inplace": True},
    )
    assert full_call.full_call(math.sqrt, (4,), {}) == ((4,), {})
    assert full_call.full_call(F.linear, ("x", "w"), {}) == (("x", "w"), {})
    assert full_call.is_operator(F.linear) and not full_call.is_operator(F.dropout)


def test_signatures_of_operators():
    signatures, schemas = operator_schemas.get_signature_for_torch_op(
        tl.ops.aten.add.Tensor, return_schemas=True
    )
    assert [*signatures[0].parameters] == ["input", "other", "alpha"] and signatures[0].parameters[
        "alpha"
    ].default == 1
    assert [a.name for a in schemas[0].arguments] == ["self", "other", "alpha"]
    assert operator_schemas.get_signature_for_torch_op(lambda a, b=2: a, return_schemas=True)[1] is None
    operator_schemas.check_for_mutable_operation(tl.ops.aten.add.Tensor, (1, 2), {})
    with pytest.raises(RuntimeError, match="mutable operation"):
        operator_schemas.check_for_mutable_operation(tl.ops.aten.add_.Tensor, (tl.ones(1), tl.ones(1)), {})
    pair = operator_schemas.normalize_module(nn.Sequential(nn.ReLU()), "0", ("x",), {}, True)
    assert pair == operator_schemas.ArgsKwargsPair((), {"input": "x"})
    assert operator_schemas.normalize_module(nn.Sequential(nn.ReLU()), "0", ("x", "y")) is None
    with pytest.raises(RuntimeError, match="did not have that target"):
        operator_schemas.normalize_module(nn.ReLU(), "missing", ())


def test_types_of_tensors_with_unknown_sizes():
    kind, dyn = tensor_type.TensorType, tensor_type.Dyn
    exact, open_ = kind((1, 2)), kind((1, dyn))
    assert tensor_type.is_consistent(exact, open_) and tensor_type.is_consistent(open_, exact)
    assert not tensor_type.is_consistent(exact, kind((1, 3))) and not tensor_type.is_consistent(
        exact, kind((1,))
    )
    assert tensor_type.is_consistent(3, dyn) and not tensor_type.is_consistent(3, 4)
    assert tensor_type.is_more_precise(exact, open_) and not tensor_type.is_more_precise(open_, exact)
    assert tensor_type.is_more_precise(exact, dyn) and not tensor_type.is_more_precise(dyn, exact)
    assert not tensor_type.is_more_precise(exact, kind((1, 2, 3)))
    assert (
        exact == kind([1, 2]) and exact != open_ and hash(exact) == hash(kind([1, 2])) and kind[1, 2] == exact
    )


# ---- origins


def test_new_nodes_take_over_their_origin():
    _, by_name = trace(lambda x: x + 1)
    add = by_name["add"]
    add.meta["stack_trace"], add.meta["custom"] = "a line", {"k": 1}
    assert not traceback.has_preserved_node_meta() and traceback.get_current_meta() == {}
    with traceback.set_current_meta(add, "pass"):
        assert traceback.get_current_meta() == {}
    with traceback.preserve_node_meta():
        with traceback.set_current_meta(add, "pass"):
            assert traceback.format_stack() == ["a line"]
            copy = fx.symbolic_trace(lambda x: x * 2)
        traceback.set_stack_trace(["one\n", "two\n"])
        assert traceback.get_current_meta()["stack_trace"] == "one\ntwo\n"
        traceback.set_grad_fn_seq_nr(3)
        traceback.set_grad_fn_seq_nr(4)
        assert traceback.get_current_meta()["grad_fn_seq_nr"] == [3, 4]
        traceback.reset_grad_fn_seq_nr()
        assert traceback.get_current_meta()["grad_fn_seq_nr"] == [3]
        traceback.reset_grad_fn_seq_nr()
        assert "grad_fn_seq_nr" not in traceback.get_current_meta()
        with pytest.raises(AssertionError, match="no number was set"):
            traceback.reset_grad_fn_seq_nr()
    assert traceback.get_current_meta() == {} and not traceback.has_preserved_node_meta()
    origins = traceback.get_graph_provenance_json(copy.graph)
    (entry,) = origins["mul"]
    assert [*origins] == ["mul"] and (entry["name"], entry["pass_name"], entry["action"]) == (
        "add",
        "pass",
        "create",
    )
    source = traceback.NodeSource(add, "pass", traceback.NodeSourceAction.REPLACE)
    assert source == traceback.NodeSource(add, "pass", [traceback.NodeSourceAction.REPLACE])
    assert source != traceback.NodeSource(add, "other") and source.to_dict()["graph_id"] == id(add.graph)
    assert source.print_readable(1).startswith("    (name=add, pass_name=pass, action=replace,")
    assert traceback.NodeSource(None).node_info is None


# ---- code


def test_code_of_a_graph():
    module, by_name = trace(lambda x: (x + 1) * x)
    code = module.graph.python_code("self")
    assert isinstance(code, code_generation.PythonCode)
    scope = dict(code.globals)
    exec(code.src, scope)
    assert scope["forward"](None, tl.tensor(3.0)).item() == 12
    last = code_generation.last_uses(module.graph)
    assert {*last[by_name["mul"]]} == {
        by_name["x"],
        by_name["add"],
    }
    plain = code_generation.CodeGen()
    assert (
        plain.process_inputs(1, 2) == (1, 2)
        and plain.process_outputs(3) == 3
        and plain.additional_globals() == []
    )
    assert plain.generate_output([1]) == "return [1]"


def test_imports_of_code_that_stands_alone():
    block = code_imports.import_block(
        {"sqrt": math.sqrt, "add": operator.add, "inf": math.inf, "m": math}, None
    )
    lines = block.splitlines()
    assert lines == sorted(lines) and "from math import sqrt" in lines and "import math as m" in lines
    assert "from math import inf" in lines and "from _operator import add" in lines
    scope = {"__builtins__": code_imports.builtins_of_block()}
    exec(block + "import torch\nfrom torch import relu\n", scope)
    assert scope["sqrt"] is math.sqrt and scope["relu"] is tl.relu and scope["torch"].relu is tl.relu
    assert (
        code_imports.external_module("math") is math and code_imports.external_module("torch").relu is tl.relu
    )
    assert all(
        isinstance(entry, code_imports.CustomBuiltin) for entry in code_imports.custom_builtins.values()
    )
    with pytest.raises(RuntimeError, match="which no module has"):
        code_imports.import_block({"value": 3}, None)


# ---- patterns


def test_patterns_and_their_replacements():
    module, _ = trace(lambda x: tl.relu(x) + tl.relu(x * 2))
    matches = subgraph_rewriter.replace_pattern(module, lambda x: tl.relu(x), lambda x: tl.neg(x))
    assert len(matches) == 2 and all(isinstance(match, subgraph_rewriter.Match) for match in matches)
    assert module(tl.tensor(3.0)).item() == -9
    (replaced,) = subgraph_rewriter.replace_pattern_with_filters(
        module, lambda x, y: x + y, lambda x, y: x - y, [lambda match, original, pattern: True]
    )
    assert isinstance(replaced, subgraph_rewriter.ReplacedPatterns) and len(replaced.replacements) == 1
    assert module(tl.tensor(3.0)).item() == 3
    none = subgraph_rewriter.replace_pattern_with_filters(
        module, lambda x, y: x - y, lambda x, y: x + y, [lambda match, original, pattern: False]
    )
    assert none == [] and module(tl.tensor(3.0)).item() == 3


def test_matchers_have_settings():
    module, by_name = trace(lambda x: (x + 1) + 2)
    pattern = fx.symbolic_trace(lambda x: x + 5).graph

    def find(**settings):
        return matcher_utils.SubgraphMatcher(pattern, **settings).match(module.graph)

    assert find() == [] and len(find(ignore_literals=True)) == 2
    first = find(ignore_literals=True)[0]
    assert isinstance(first, matcher_utils.InternalMatch) and len(first.placeholder_nodes) == 1
    assert len(find(ignore_literals=True, match_placeholder=True)) == 1
    full = fx.symbolic_trace(lambda x: (x + 1) + 2).graph
    assert len(matcher_utils.SubgraphMatcher(full, match_output=True).match(module.graph)) == 1
    twice = fx.symbolic_trace(lambda x: (x + 1) + 1).graph
    long = fx.symbolic_trace(lambda x: ((x + 1) + 1) + 1).graph
    counts = [
        len(matcher_utils.SubgraphMatcher(twice, remove_overlapping_matches=alone).match(long))
        for alone in (True, False)
    ]
    assert counts == [1, 2] and by_name["add"].name == "add"


# ---- passes


def test_groups_of_nodes_become_a_module():
    module, by_name = trace(lambda x, y: (x + y, (x + y).neg() * x))
    add, neg, mul = by_name["add_1"], by_name["neg"], by_name["mul"]
    assert fuser_utils.topo_sort([mul, neg, add]) == [add, neg, mul]
    assert fuser_utils.validate_partition([add, neg]) and not fuser_utils.validate_partition([add, mul])
    group = [add, neg, mul]
    part, inputs, outputs = fuser_utils.fuse_as_graphmodule(module, group, "Fused")
    assert {n.name for n in inputs} == {"x", "y"} and [n.name for n in outputs] == ["mul"]
    a, b = tl.tensor(2.0), tl.tensor(5.0)
    result = part(*(a if n.name == "x" else b for n in inputs))
    assert (result[0] if isinstance(result, tuple) else result).item() == -14
    assert fuser_utils.insert_subgm(module, part, inputs, outputs) is module
    fuser_utils.erase_nodes(module, group)
    module.graph.lint()
    module.recompile()
    assert [n.op for n in module.graph.nodes].count("call_module") == 1
    assert [t.item() for t in module(a, b)] == [7, -14]


def test_graphs_are_lifted_and_compared():
    layers = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    part, paths = lift_subgraph_as_module(layers, layers.graph, "part", "Part")
    x = tl.tensor([[1.0, -2.0]])
    assert tl.equal(part(x), layers(x)) and type(part).__name__ == "Part"
    assert paths == {"0": "part.0", "1": "part.1"}
    same = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU())).graph
    assert compare_graphs(layers.graph, same)
    assert not compare_graphs(layers.graph, fx.symbolic_trace(lambda x: x + 1).graph)
    assert HolderModule({"layer": layers}).layer is layers


def test_the_order_of_passes():
    def double(items):
        items.append(items[0] * 2)

    log = []
    handler = logging.Handler()
    handler.emit = lambda record: log.append(record.getMessage())
    logger = logging.getLogger(pass_manager.__name__)
    logger.addHandler(handler)
    try:
        hooked = pass_manager.log_hook(sorted, logging.ERROR)
        assert hooked([2, 1]) == [1, 2] and len(log) == 1
    finally:
        logger.removeHandler(handler)
    assert pass_manager.inplace_wrapper(double)([3]) == [3, 6]
    before = pass_manager.these_before_those_pass_constraint(sorted, list)
    assert before(sorted, list) and before(sorted, sorted) and not before(list, sorted)
    assert issubclass(pass_manager.PassManager, Schedule)


def test_what_shape_propagation_notes():
    module, by_name = trace(lambda x: x.t() + 1)
    shape_prop.ShapeProp(module).propagate(tl.ones(2, 3, dtype=tl.float64))
    metadata = graph_manipulation.get_tensor_meta(by_name["t"])
    assert isinstance(metadata, shape_prop.TensorMetadata) and not metadata.is_quantized
    assert (metadata.shape, metadata.dtype, metadata.stride) == ((3, 2), tl.float64, (1, 3))
    assert tools_common.is_node_output_tensor(by_name["t"])
    with pytest.raises(RuntimeError):
        graph_manipulation.get_tensor_meta(
            fx.symbolic_trace(lambda x: x).graph.find_nodes(op="placeholder")[0]
        )


def test_names_of_targets():
    module = fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    by_op = {n.op: n for n in module.graph.nodes}
    assert tools_common.get_node_target(dict(module.named_modules()), by_op["call_module"]).endswith("ReLU")
    _, by_name = trace(lambda x: tl.relu(x).neg() + math.floor(2.5))
    assert tools_common.get_node_target({}, by_name["neg"]) == "neg"
    assert tools_common.get_node_target({}, by_name["relu"]).endswith("relu")
    assert tools_common.get_acc_ops_name("text") == "text"
    assert param_fetch.qualified_class_name(nn.ReLU()).endswith("ReLU")


def test_a_set_that_a_path_leaves_and_enters():
    _, by_name = trace(lambda x: (x + 1).neg() * 2)
    add, neg, mul = by_name["add"], by_name["neg"], by_name["mul"]
    assert tools_common.leads_back({add, mul}) and not tools_common.leads_back({add, neg, mul})
    assert not tools_common.leads_back({add, neg}) and not tools_common.leads_back(set())


def test_inputs_of_submodules_are_recorded():
    layers = nn.Sequential(nn.ReLU(), nn.Sequential(nn.Tanh()))
    x = tl.tensor([-1.0, 2.0])
    recorded = splitter.generate_inputs_for_submodules(layers, (x,), ["1", "1.0"])
    assert {*recorded} == {"1", "1.0"} and tl.equal(recorded["1"][0], tl.tensor([0.0, 2.0]))
    assert splitter.SplitResult(None, {}, "_cpu_")._fields == (
        "split_module", "submodule_inputs", "non_acc_submodule_prefix",
    )  # fmt: skip
    part = splitter.Subgraph(is_acc=True, nodes=[1])
    assert part.is_acc and part.nodes == [1] and part.device_ordinal is None
    assert issubclass(splitter.FxNetSplitterInternalError, Exception)


def test_nodes_for_an_accelerator():
    class Adds:
        def is_node_supported(self, submodules, node):
            return node.op == "call_function" and node.target is operator.add

    def program(x):
        return (x + 1).neg() + x.shape[0]

    module, by_name = trace(program)
    shape_prop.ShapeProp(module).propagate(tl.ones(3))
    finder = splitter.FxNetAccNodesFinder(module, Adds(), allow_non_tensor=True)
    assert {n.name for n in finder()} == {"add", "add_1"}
    strict = splitter.FxNetAccNodesFinder(module, Adds(), allow_non_tensor=False)
    assert {n.name for n in strict()} == {"add"}
    groups = tools_common.FxNetAccFusionsFinder(module, {by_name["add"], by_name["add_1"]})()
    assert all(node in group for node, group in groups.items())


def test_nodes_without_tensors_move_to_their_users():
    module, by_name = trace(lambda x: (x + 1).reshape(x.shape[0] * 2))
    for node in module.graph.nodes:
        node.meta["type"] = int if node.name in ("getitem", "mul") else tl.Tensor
    number = next(n for n in module.graph.nodes if n.name == "mul")
    first = splitter.Subgraph(False, [by_name["add"], number])
    second = splitter.Subgraph(True, [by_name["reshape"]])
    split_utils.move_non_tensor_nodes_on_boundary([first, second])
    assert number not in first.nodes and number in second.nodes
    component = split_utils.Component(fx.Graph(), 2, "part")
    assert (component.order, component.name, component.orig_inputs) == (2, "part", [])


def test_nodes_by_the_layer_that_they_come_from():
    graph = fx.Graph()
    x = graph.placeholder("x")
    a = graph.call_function(tl.relu, (x,))
    b = graph.call_function(tl.neg, (a,))
    graph.output(b)
    a.meta["source_fn_stack"], b.meta["source_fn_stack"] = [("act", nn.ReLU)], [("neg", tl.neg)]
    parts = source_matcher_utils.get_source_partitions(graph, [nn.ReLU, tl.neg])
    (act,), (neg,) = parts[nn.ReLU], parts[tl.neg]
    assert isinstance(act, source_matcher_utils.SourcePartition)
    assert (act.nodes, act.input_nodes, act.output_nodes, act.source) == ([a], [x], [a], nn.ReLU)
    assert source_matcher_utils.check_subgraphs_connected(act, neg)
    assert not source_matcher_utils.check_subgraphs_connected(neg, act)


def test_nodes_backwards():
    graph, names_ = fx.symbolic_trace(lambda x: (x + 1).neg()).graph, ["x", "add", "neg", "output"]
    assert [n.name for n in graph.nodes] == names_ and len(graph.nodes) == 4
    assert [n.name for n in reversed(graph.nodes)] == names_[::-1]
    assert [n.name for n in reversed(reversed(graph.nodes))] == names_


def test_parts_know_the_paths_that_their_attributes_had():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(2, 2), nn.Tanh())

        def forward(self, x):
            return self.inner(x).neg()

    module = fx.symbolic_trace(Outer())
    paths = {}
    parts = split_module(module, module, lambda node: int(node.name == "neg"), paths)
    assert paths == {"submod_0.inner_0": "inner.0", "submod_0.inner_1": "inner.1"}
    x = tl.ones(1, 2)
    assert tl.equal(parts(x), module(x)) and isinstance(parts.submod_0.inner_1, nn.Tanh)
