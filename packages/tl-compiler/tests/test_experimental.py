"""fx.experimental: unification, types with unknown sizes, folding, merging, normalizing, tracing by sizes, devices."""

import operator

import models
import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import fx
from tl_compiler.compat.experimental import const_fold, meta_tracer, optimization
from tl_compiler.compat.experimental.accelerator_partitioner import Partitioner
from tl_compiler.compat.experimental.debug import set_trace
from tl_compiler.compat.experimental.graph_gradual_typechecker import (
    GraphTypeChecker,
    Refine,
    broadcast_types,
)
from tl_compiler.compat.experimental.merge_matmul import merge_matmul
from tl_compiler.compat.experimental.normalize import NormalizeArgs, NormalizeOperators
from tl_compiler.compat.experimental.partitioner_utils import (
    Device,
    NodeLatency,
    PartitionerConfig,
    PartitionMode,
    get_latency_of_partitioned_graph,
    get_partition_to_latency_mapping,
)
from tl_compiler.compat.experimental.recording import (
    FakeTensorMeta,
    NotEqualError,
    ShapeEnvEvent,
    record_shapeenv_event,
    replay_shape_env_events,
    shape_env_check_state_equal,
)
from tl_compiler.compat.experimental.refinement_types import Equality
from tl_compiler.compat.experimental.rewriter import RewritingTracer
from tl_compiler.compat.experimental.schema_type_annotation import AnnotateTypesWithSchema
from tl_compiler.compat.experimental.unification import Var, isvar, reify, unify, var, variables, vars  # noqa: A004
from tl_compiler.compat.experimental.unification.match import VarDispatcher, match
from tl_compiler.compat.experimental.unification.multipledispatch import (
    Dispatcher,
    MDNotImplementedError,
    dispatch,
)
from tl_compiler.compat.experimental.unification.multipledispatch.conflict import ambiguities, supercedes
from tl_compiler.compat.experimental.unification.multipledispatch.variadic import Variadic
from tl_compiler.compat.experimental.unify_refinements import infer_symbolic_types, unify_eq
from tl_compiler.fx.annotate import annotate
from tl_compiler.fx.operator_schemas import create_type_hint, normalize_function, type_matches
from tl_compiler.fx.passes.graph_manipulation import get_size_of_all_nodes
from tl_compiler.fx.tensor_type import Dyn, TensorType

# ---- unification


def test_terms_unify():
    x, y = var(), var()
    assert unify((1, x, [y, 3]), (1, 2, [(x,), 3]), {}) == {x: 2, y: (x,)}
    assert reify((x, {"k": y}), {x: 2, y: (x,)}) == (2, {"k": (2,)})
    assert unify((1, 2), (1, 2, 3), {}) is False
    assert unify({"a": x}, {"b": 1}, {}) is False
    assert unify(slice(1, x), slice(1, 5), {}) == {x: 5}
    assert [isvar(v) for v in (x, 1, Var("z"))] == [True, False, True]
    with variables("any"):
        assert unify(("any", 1), (7, 1), {}) == {"any": 7}
    assert len(set(vars()(3))) == 3


def test_functions_by_classes():
    f = Dispatcher("f")
    f.add((int, int), lambda a, b: "ints")
    f.add((object, object), lambda a, b: "others")
    assert (f(1, 2), f(1, "a")) == ("ints", "others")
    g = Dispatcher("g")
    g.add(([str],), lambda *texts: f"{len(texts)} texts")
    assert (g(), g("a", "b", "c")) == ("0 texts", "3 texts")
    with pytest.raises(NotImplementedError, match="f: <int>"):
        f(1)

    @f.register(bool, int)
    def refuse(a, b):
        raise MDNotImplementedError

    assert f(True, 1) == "ints"
    assert supercedes((bool, int), (int, int))
    assert supercedes((int, int), (Variadic[int],))
    assert ambiguities([(int, object), (object, int)])
    names = {}

    @dispatch(int, namespace=names)
    def half(n):
        return n // 2

    @dispatch((float, complex), namespace=names)
    def half(n):  # noqa: F811
        return n / 2

    assert (half(3), half(3.0), half(2j)) == (1, 1.5, 1j)

    @match("sum", Var("a"), Var("b"), namespace=names, Dispatcher=VarDispatcher)
    def apply(a, b):
        return a + b

    @match("neg", Var("a"), namespace=names, Dispatcher=VarDispatcher)
    def apply(a):  # noqa: F811
        return -a

    assert (apply("sum", 1, 2), apply("neg", 3)) == (3, -3)


# ---- types


def test_types_are_checked_through_a_model():
    model = nn.Sequential(
        nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.BatchNorm2d(6), nn.AdaptiveAvgPool2d((2, 3))
    )
    result = fx.symbolic_trace(lambda x: tl.add(tl.flatten(x, 1), 1))
    next(iter(result.graph.nodes)).type = TensorType((Dyn, 6, 2, 3))
    made2 = fx.symbolic_trace(model)
    next(iter(made2.graph.nodes)).type = TensorType((Dyn, 3, 32, 20))
    assert GraphTypeChecker({}, made2).type_check()
    assert made2.graph.output_node().type == TensorType((Dyn, 6, 2, 3))
    assert GraphTypeChecker({}, result).type_check()
    assert result.graph.output_node().type == TensorType((Dyn, 36))
    next(iter(made2.graph.nodes)).type = TensorType((1, 4, 32, 20))
    with pytest.raises(TypeError, match="Conv2d"):
        GraphTypeChecker({}, made2).type_check()
    with pytest.raises(RuntimeError, match="No inference rule"):
        GraphTypeChecker({}, fx.symbolic_trace(lambda x: tl.sin(x))).type_check()


def test_sizes_that_have_to_be_the_same_get_one_name():
    assert broadcast_types(TensorType((2, 1)), TensorType((3,))) == (TensorType((2, 3)),) * 2
    output = fx.symbolic_trace(lambda x: tl.flatten(x, 1, 2))
    next(iter(output.graph.nodes)).type = TensorType((Dyn, 2, 3, Dyn))
    GraphTypeChecker({}, output).type_check()
    refine = Refine(output)
    refine.refine()
    result = unify_eq(refine.constraints)
    assert len(refine.constraints) == len(result) == 2
    assert Equality(1, 2) != Equality(1, 3)
    sympy = pytest.importorskip("sympy")
    infer_symbolic_types(output)
    kinds = [node.type for node in output.graph.nodes]
    assert kinds[0].__args__[0] == kinds[1].__args__[0]
    assert isinstance(kinds[0].__args__[0], sympy.Symbol)


# ---- programs rewritten


class Checked(nn.Module):
    def forward(self, x):
        assert x.dim() == 2, "two dimensions"
        y: int = x.sum()
        return y


def test_asserts_are_recorded():
    tracer = RewritingTracer()
    result = fx.GraphModule(
        tracer.root if hasattr(tracer, "root") and tracer.root else nn.Module(), tracer.trace(Checked())
    )
    assert result(tl.ones(1, 2)).item() == 2.0
    assert result.graph.find_nodes(op="call_method", target="sum")[0].type is int
    with pytest.raises(AssertionError, match="two dimensions"):
        result(tl.ones(3))
    with pytest.raises(RuntimeError, match="already had a type"):
        fx.symbolic_trace(lambda x: annotate(annotate(x.neg(), int), float))


class Shifted(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(tl.ones(2)), nn.Parameter(tl.full((2,), 3.0))

    def forward(self, x):
        folded = (self.a + self.b).exp()
        other = self.a * 2
        return x * folded + other, tl.rand_like(x) * 0


def test_constants_are_folded():
    model = Shifted()
    folded = const_fold.split_const_subgraphs(model)
    x = tl.rand(2)
    assert folded(x)[0].equal(model(x)[0])
    assert not any(node.target in (operator.add,) and "exp" in str(node.args) for node in folded.graph.nodes)
    assert sum(node.op == "get_attr" for node in folded.graph.nodes) == 2
    assert any(node.target is tl.rand_like for node in folded.graph.nodes)
    value = const_fold.split_const_subgraphs(model, skip_folding_node_fn=lambda node: True)
    assert value.const_subgraph_module is None
    with pytest.raises(AssertionError, match="already"):
        folded.run_folding()


def test_products_are_merged():
    def f(x, y, w):
        return tl.matmul(x, w).sum() + tl.matmul(y, w).sum()

    result = merge_matmul(f)
    x, y, w = tl.rand(2, 3), tl.rand(4, 3), tl.rand(3, 5)
    assert tl.allclose(result(x, y, w), f(x, y, w))
    assert sum(node.target is tl.matmul for node in result.graph.nodes) == 1
    again = fx.symbolic_trace(result)  # the parts of the product are a value as others
    assert tl.allclose(again(x, y, w), f(x, y, w))
    chained = merge_matmul(lambda x, w: tl.matmul(tl.matmul(x, w), w))
    assert sum(node.target is tl.matmul for node in chained.graph.nodes) == 2


def test_calls_are_normalized():
    output = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    named = NormalizeArgs(output).transform()
    assert all(not node.args for node in named.graph.find_nodes(op="call_module"))
    x = tl.rand(1, 2)
    assert named(x).equal(output(x))
    signs = NormalizeOperators(fx.symbolic_trace(lambda x: tl.div(tl.mul(x, 2), x))).transform()
    assert [node.target for node in signs.graph.find_nodes(op="call_function")] == [
        operator.mul,
        operator.truediv,
    ]
    typed = AnnotateTypesWithSchema(fx.symbolic_trace(lambda x: tl.relu(x))).transform()
    assert typed.graph.find_nodes(op="call_function")[0].type is tl.Tensor
    from tl_core.operators import packets as ops

    result = normalize_function(ops.aten.sum.dim_IntList, (x, [0]), normalize_to_only_use_kwargs=True)
    assert result.kwargs["keepdim"] is False
    assert normalize_function(ops.aten.relu.default, (x, 1, 2)) is None
    assert type_matches(list[int], create_type_hint([int, int]))
    assert not type_matches(int, float)


def test_batch_norms_go_into_convolutions():
    make, inputs = models.MODELS["resnet18"]
    model = make().eval()
    fused = optimization.fuse(model)
    assert not any(isinstance(m, nn.BatchNorm2d) for m in fused.modules())
    x = inputs()[0][0]
    assert tl.allclose(fused(x), model(x), atol=1e-4)
    result = optimization.optimize_for_inference(nn.Sequential(nn.Dropout(), nn.Linear(2, 2)).eval())
    assert [node.target for node in result.graph.find_nodes(op="call_module")] == ["1"]
    with pytest.raises(RuntimeError, match="sideways"):
        optimization.optimize_for_inference(model, {"sideways": True})
    nodes = [n for n in result.graph.nodes if n.op == "call_module"]
    part = optimization.extract_subgraph(result, nodes, [nodes[0].args[0]], nodes)
    assert len(part(tl.ones(1, 2))) == 1


class ByShape(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 4)

    def forward(self, ids):
        x = self.embed(ids)
        x = x + tl.arange(x.shape[-1], device=x.device)
        return x.relu() if x.shape[0] < 3 and x.dim() == 2 else x.sigmoid()


@pytest.mark.parametrize("n", [2, 4])
def test_sizes_decide_the_way(n):
    ids = tl.arange(n)
    model = ByShape()
    result = meta_tracer.symbolic_trace(model, {"ids": ids.to("meta")})
    assert result(ids).equal(model(ids))
    assert any(node.target == ("relu" if n == 2 else "sigmoid") for node in result.graph.nodes)
    assert tl.arange is meta_tracer._ORIGINALS["arange"]
    assert "set_trace" in set_trace(result).code


# ---- devices


class Chain(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = tl.relu(layer(x)) + x
        return x


def sized():
    result = fx.symbolic_trace(Chain())
    get_size_of_all_nodes(result, [tl.rand(1, 4)])
    return result


@pytest.mark.parametrize("mode", list(PartitionMode))
def test_graphs_over_devices(mode):
    output = sized()
    devices = [Device("a", 200, 0), Device("b", 200, 1), Device("c", 200, 2)]
    times = {n: NodeLatency(1.0, 2.0) for n in output.graph.nodes if n.op in ("call_module", "call_function")}
    numbers = {n: i // 3 for i, n in enumerate(times)}
    config = PartitionerConfig(devices, mode, 10.0, times, numbers, {0: [0], 1: [1], 2: [2]})
    partitioner = Partitioner()
    if mode is PartitionMode.sparse_nn:
        with pytest.raises(RuntimeError, match="device"):
            partitioner.partition_graph(output, output, config)
        return
    result = partitioner.partition_graph(output, output, config)
    x = tl.rand(1, 4)
    assert result.module_with_submodules(x).equal(output(x))
    assert len(result.dag.nodes) >= 2
    mapping = get_partition_to_latency_mapping(partitioner.partitions, times)
    assert get_latency_of_partitioned_graph(partitioner.partitions, mapping, 10.0) >= 18.0
    with pytest.raises(RuntimeError, match="memory"):
        Partitioner().partition_graph(output, output, PartitionerConfig([Device("a", 10, 0)]))


def test_one_device_for_all_and_its_copies():
    result = sized()
    partitioner = Partitioner()
    config = PartitionerConfig([Device("a", 1000, 0), Device("b", 900, 1)], saturate_host=True)
    partitioner.partition_graph(result, result, config)
    assert [p.logical_device_ids for p in partitioner.partitions] == [[0, 1]]


# ---- environments recorded


class Environment:
    def __init__(self):
        self.events, self.should_record_events, self.is_recording, self.sizes = [], True, False, []
        self.events.append(ShapeEnvEvent(Environment, name="create_shape_env"))

    @record_shapeenv_event()
    def add(self, size):
        self.sizes.append(size)
        return self.twice(size)

    @record_shapeenv_event()
    def twice(self, size):
        return 2 * size


def test_calls_are_recorded_and_made_again():
    environment = Environment()
    assert environment.add(3) == 6
    assert [event.name for event in environment.events] == ["create_shape_env", "add"]
    again = replay_shape_env_events(environment.events)
    shape_env_check_state_equal(environment, again, ("events",), lambda name, value: value)
    again.sizes.append(4)
    with pytest.raises(NotEqualError, match="sizes"):
        shape_env_check_state_equal(environment, again, ("events",), lambda name, value: value)
    meta = FakeTensorMeta.from_fake(tl.ones(2, 3))
    assert (meta.size(), meta.stride(), meta.dim()) == ((2, 3), (3, 1), 2)


def test_guards_are_checked_by_z3():
    pytest.importorskip("z3")
    sympy = pytest.importorskip("sympy")
    from tl_compiler.compat.experimental.validator import TranslationValidator, ValidationException, z3str

    s = sympy.Symbol("s", integer=True)

    def check(kept, known):
        checker = TranslationValidator()
        checker.add_var(s, int)
        checker.add_source_expr(known)
        checker.add_target_expr(kept)
        checker.validate()
        return checker

    assert "s" in z3str(check(s > 3, s > 2).z3var(s))
    check(sympy.Eq(s, 4), sympy.Mod(s, 2) < 1)
    with pytest.raises(ValidationException, match="translation validation failed"):
        check(s > 2, s > 3)
