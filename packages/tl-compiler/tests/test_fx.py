"""Graphs: traced, changed, written as code, run, copied and pickled."""

import copy
import enum
import inspect
import math
import operator
import pickle

import pytest

import tl_core as tl
import tl_nn as nn
from tl_autograd.func import vmap
from tl_compiler import fx
from tl_compiler.fx.graph_module import GraphModule
from tl_compiler.fx.lint import has_attribute
from tl_compiler.fx.passes.shape_prop import ShapeProp
from tl_compiler.fx.proxy import TraceError
from tl_compiler.fx.subgraph_rewriter import replace_pattern_with_filters
from tl_compiler.higher_order.index_mode import TransformGetItemToIndex
from tl_nn import functional


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(tl.full((3,), 2.0))
        self.register_buffer("shift", tl.ones(3))
        self.layers = nn.Sequential(nn.Linear(3, 3), nn.ReLU())

    def forward(self, x, flip=False):
        y = self.layers(x * self.scale + self.shift)
        return {"out": y.clamp(min=0.0), "both": (y, x[..., 0:2])}


def test_a_traced_module_does_the_same():
    block = Block()
    result = fx.symbolic_trace(block)
    x = tl.randn(4, 3)
    own, expected = result(x), block(x)
    assert own["out"].equal(expected["out"])
    assert own["both"][1].equal(expected["both"][1])
    result.graph.lint()
    assert dict(result.named_parameters()).keys() == dict(block.named_parameters()).keys()
    assert [n.op for n in result.graph.nodes] == [
        *("placeholder", "placeholder", "get_attr", "call_function", "get_attr", "call_function"),
        *("call_module", "call_module", "call_method", "call_function", "output"),
    ]


def test_the_code():
    def f(x, y=3, *rest, **options):
        z = tl.cat([x, x], dim=1)
        z += y
        return -((z @ x.T) ** 2), math.sqrt(y), rest[0], options["a"]

    assert fx.symbolic_trace(f).code == (
        "\n\n\ndef forward(self, x, y = 3, *rest, **options):\n"
        "    cat = torch.cat([x, x], dim = 1)\n"
        "    cat += y;  iadd = cat;  cat = None\n"
        "    getattr_1 = x.T;  x = None\n"
        "    matmul = iadd @ getattr_1;  iadd = getattr_1 = None\n"
        "    pow_1 = matmul ** 2;  matmul = None\n"
        "    neg = -pow_1;  pow_1 = None\n"
        "    sqrt = math_sqrt(y);  y = None\n"
        "    getitem = rest[0];  rest = None\n"
        "    getitem_1 = options['a'];  options = None\n"
        "    return (neg, sqrt, getitem, getitem_1)\n    "
    )


def test_functions_of_layers_are_recorded_under_their_names():
    result = fx.symbolic_trace(lambda x: nn.functional.gelu(nn.functional.relu(x, inplace=False)))
    targets = [node.target for node in result.graph.find_nodes(op="call_function")]
    assert targets == [nn.functional.relu, nn.functional.gelu]
    assert result(tl.tensor([-1.0, 0.0])).tolist() == [0.0, 0.0]


class Kind(enum.Enum):
    ONE = 1


def test_constants_in_arguments():
    def f(x):
        return (
            x.to(tl.float64),
            tl.zeros(2, dtype=tl.int32, device="cpu") + x,
            x[None, ..., ::2],
            use(x, Kind.ONE),
        )

    result = fx.symbolic_trace(f)
    out = result(tl.ones(2))
    assert [out[0].dtype, out[1].tolist(), out[2].shape, out[3]] == [tl.float64, [1.0, 1.0], (1, 1), Kind.ONE]
    assert any(name.startswith("_tensor_constant") for name, _ in result.named_buffers())


@fx.wrap
def use(x, kind):
    return kind


def test_a_wrapped_function_is_one_call():
    (node,) = fx.symbolic_trace(lambda x: use(x, 1)).graph.find_nodes(op="call_function")
    assert node.target is use


@pytest.mark.parametrize(
    ("program", "error"),
    [
        (lambda x: x if x.sum() > 0 else -x, TraceError),
        (lambda x: list(x), TraceError),
        (lambda x: range(x), TraceError),
        (lambda x: len(x), RuntimeError),
        (lambda x: 1 in x, TraceError),
        (lambda x: tl.add(x, {x: 1}), RuntimeError),
    ],
)
def test_what_depends_on_values_is_named(program, error):
    with pytest.raises(error):
        fx.symbolic_trace(program)
    assert not fx._symbolic_trace.is_fx_tracing()
    assert nn.Linear(2, 2)(tl.ones(2)).shape == (2,)  # modules are as before


def test_unpacking():
    def f(x):
        a, b = x
        return b - a

    assert fx.symbolic_trace(f)((1, 5)) == 4


def test_concrete_arguments():
    def f(x, double):
        return x * 2 if double else x

    result = fx.symbolic_trace(f, {"double": True})
    assert result(3, True) == 6
    with pytest.raises(AssertionError, match="specialized to have value True"):
        result(3, False)


def test_nodes_keep_their_users():
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    a = graph.call_function(operator.add, (x, [y, {"k": x}]))
    graph.output(a)
    assert a.all_input_nodes == [x, y]
    assert list(x.users) == [a]
    a.replace_input_with(x, y)
    assert not x.users
    assert a.args == (y, [y, {"k": y}])
    with pytest.raises(NotImplementedError, match="does not support mutation"):
        a.args[1].append(1)
    with pytest.raises(RuntimeError, match="still had 1 users"):
        graph.erase_node(y)
    graph.erase_node(x)
    assert [n.name for n in graph.nodes] == ["y", "add", "output"]


def test_inserting():
    graph = fx.Graph()
    x = graph.placeholder("x")
    out = graph.output(x)
    with graph.inserting_after(x):
        first = graph.call_method("neg", (x,))
    with graph.inserting_before(out):
        graph.call_method("abs", (first,))
    assert [n.name for n in graph.nodes] == ["x", "neg", "abs_1", "output"]
    assert [n.name for n in reversed(graph.nodes)] == ["output", "abs_1", "neg", "x"]


@fx.wrap
def _assert_holds(x):
    assert x is not None


def test_an_output_that_may_be_left_out_is_traced():
    class Strict(fx.Tracer):
        check_mutable_operations = True

    def ratio(x, y, out=None):
        return tl.div(x, y, out=out)

    result = fx.GraphModule(nn.Module(), Strict().trace(ratio))
    assert result(tl.ones(2), tl.full((2,), 2.0)).tolist() == [0.5, 0.5]
    with pytest.raises(RuntimeError, match=r"mutable operation aten::div\.out"):
        Strict().trace(lambda x, y, out: tl.div(x, y, out=out))


def test_ranges_of_a_profile_are_effects():
    graph = fx.Graph()
    handle = graph.call_function(tl.ops.profiler._record_function_enter_new, ("range",))
    graph.call_function(tl.ops.profiler._record_function_exit._RecordFunction, (handle,))
    graph.output(None)
    assert not graph.eliminate_dead_code()
    assert fx.GraphModule({}, graph)() is None


def test_dead_code_goes_and_effects_stay():
    def f(x):
        x.sum()
        x.add_(1)
        _assert_holds(x)
        return x

    result = fx.symbolic_trace(f)
    assert result.graph.eliminate_dead_code()
    assert [n.name for n in result.graph.nodes] == ["x", "add_", "_assert_holds", "output"]


@pytest.mark.parametrize("broken", ["foreign", "order", "attribute"])
def test_lint(broken):
    result = fx.symbolic_trace(Block())
    graph = result.graph
    if broken == "foreign":
        other = fx.Graph().placeholder("x")
        graph.find_nodes(op="call_method")[0].args = (other,)
    elif broken == "order":
        graph.find_nodes(op="placeholder")[0].prepend(graph.find_nodes(op="call_method")[0])
    else:
        graph.find_nodes(op="call_module")[0].target = "nowhere"
    with pytest.raises(RuntimeError, match=r"does not belong|before it has been defined|nonexistent"):
        graph.lint()


@pytest.mark.parametrize(
    ("op", "target", "message"),
    [
        ("get_attr", "0.weight", None),
        ("call_module", "0", None),
        ("get_attr", "1.weight", "target 1.weight references nonexistent attribute 1$"),
        ("get_attr", "0.scale", "target 0.scale references nonexistent attribute scale$"),
        ("get_attr", "0.weight.missing.data", "references nonexistent attribute missing$"),
        ("call_module", "0.weight", "target 0.weight does not reference an nn.Module: it is a"),
    ],
)
def test_targets_are_attributes_of_the_owning_module(op, target, message):
    module = nn.Sequential(nn.Linear(2, 3))
    graph = fx.Graph(module)
    graph.output(graph.create_node(op, target))
    assert has_attribute(module, target) == (message is None or "nonexistent" not in message)
    if message is None:
        graph.lint()
    else:
        with pytest.raises(RuntimeError, match=message):
            graph.lint()
    graph.owning_module = None
    graph.lint()


def test_copies_and_pickles_are_apart():
    result = fx.symbolic_trace(Block())
    x = tl.randn(2, 3)
    for again in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert again.code == result.code
        assert again(x)["out"].equal(result(x)["out"])
        with tl.no_grad():
            again.scale.zero_()
        assert result.scale[0] == 2


def test_interpreter_and_transformer():
    result = fx.symbolic_trace(Block())
    x = tl.randn(2, 3)
    assert fx.Interpreter(result).run(x)["out"].equal(result(x)["out"])

    class Negated(fx.Transformer):
        def call_method(self, target, args, kwargs):
            return -super().call_method(target, args, kwargs)

    changed = Negated(result).transform()
    assert changed(x)["out"].equal(-result(x)["out"])
    with pytest.raises(RuntimeError, match="one was not passed in") as caught:
        fx.Interpreter(result).run()
    assert "placeholder[target=x]" in caught.value.__notes__[0]


def test_patterns():
    def f(x, y):
        a = (x + y).relu()
        return (a + y).relu() + (x - y).relu()

    output = fx.symbolic_trace(f)
    result = fx.replace_pattern(output, lambda p, q: (p + q).relu(), lambda p, q: tl.maximum(p, -q) + q)
    assert len(result) == 2
    x, y = tl.randn(5), tl.randn(5)
    assert tl.allclose(output(x, y), f(x, y))
    assert output.code.count("maximum") >= 2
    assert not fx.replace_pattern(output, lambda p: p.tanh(), lambda p: p)


def test_patterns_with_outside_users_stay():
    def f(x):
        a = x + 1
        return a.relu() + a

    result = fx.symbolic_trace(f)
    assert not fx.replace_pattern(result, lambda p: (p + 1).relu(), lambda p: p)


def test_pattern_filters():
    output = fx.symbolic_trace(lambda x: x.relu() + x.relu())
    result = replace_pattern_with_filters(
        output,
        lambda p: p.relu(),
        lambda p: p.tanh(),
        [lambda match, graph, pattern: match.anchors[0].name == "relu"],
    )
    assert [node.name for node in result[0].replacements] == ["tanh"]
    assert output.code.count("relu") > 0


def test_shapes():
    result = fx.symbolic_trace(Block())
    ShapeProp(result).propagate(tl.ones(4, 3))
    metadata = {n.name: n.meta.get("tensor_meta") for n in result.graph.nodes}
    assert metadata["clamp"].shape == (4, 3)
    assert metadata["mul"].requires_grad
    assert metadata["output"]["both"][1].shape == (4, 2)


def test_module_from_a_dictionary():
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_module("inner.layer", (x,)))
    result = GraphModule({"inner.layer": nn.ReLU()}, graph)
    assert result(tl.tensor(-1.0)) == 0
    with pytest.raises(RuntimeError, match="was not provided"):
        GraphModule({}, graph)


def test_submodules():
    result = fx.symbolic_trace(Block())
    assert result.add_submodule("new.inner", nn.ReLU())
    assert result.get_submodule("new.inner")
    result.delete_all_unused_submodules()
    with pytest.raises(AttributeError):
        result.get_submodule("new")
    assert result.get_submodule("layers.0")
    assert not result.delete_submodule("nowhere")


def test_an_error_shows_the_generated_code():
    result = fx.symbolic_trace(lambda x, y: tl.add(x, y))
    with pytest.raises(RuntimeError) as caught:
        result(tl.ones(2), tl.ones(3))
    assert "add = torch.add(x, y)" in caught.value.__notes__[-1]


def test_module_stack_and_mutable_operations():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = nn.Sequential(nn.Tanh())

        def forward(self, x):
            return self.block(x)

    (node,) = fx.symbolic_trace(Outer()).graph.find_nodes(op="call_module")
    assert list(node.meta["nn_module_stack"]) == ["block", "block.0"]

    class Strict(fx.Tracer):
        check_mutable_operations = True

    with pytest.raises(RuntimeError, match=r"mutable operation aten::sigmoid\.out"):
        Strict().trace(lambda x: tl.sigmoid(x, out=x))


def test_functions_of_layers_that_are_operators_have_nothing_to_trace():
    for function in (functional.conv_tbc, functional.relu_, functional.linear, functional.pdist):
        with pytest.raises(AssertionError, match="nothing to trace"):
            fx.symbolic_trace(function)
    result = fx.symbolic_trace(lambda x: functional.conv_tbc(x, x, x))
    assert result.graph.find_nodes(op="call_function", target=functional.conv_tbc)
    assert inspect.signature(functional.relu).parameters["input"].annotation is tl.Tensor


def test_what_a_function_of_layers_is_made_of(monkeypatch):
    full = fx.symbolic_trace(functional.relu6)
    assert [node.target for node in full.graph.nodes if node.op == "call_function"] == [functional.relu6]
    monkeypatch.setattr(functional, "has_torch_function", lambda relevant_args: False)
    with pytest.raises(TraceError, match="inplace"):
        fx.symbolic_trace(functional.relu6)


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize(
    "name", ["soft_margin_loss", "nll_loss", "hinge_embedding_loss", "grid_sample", "upsample"]
)
def test_a_choice_by_an_argument_without_a_value_is_refused(monkeypatch, name):
    monkeypatch.setattr(functional, "has_torch_function", lambda relevant_args: False)
    with pytest.raises(TraceError, match="inputs to control flow"):
        fx.symbolic_trace(getattr(functional, name))


def test_older_names_of_interpolate_are_one_node():
    result = fx.symbolic_trace(lambda x: functional.upsample(x, scale_factor=2))
    assert [n.target for n in result.graph.nodes if n.op == "call_function"] == [functional.upsample]


def test_indices_without_a_value():
    table = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
    i = tl.tensor(1)
    with TransformGetItemToIndex():
        assert table[i, 0].item() == 3.0
        assert vmap(lambda j: table[j, 1])(tl.tensor([1, 0])).tolist() == [4.0, 2.0]
        assert table[0:1].tolist() == [[1.0, 2.0]]
