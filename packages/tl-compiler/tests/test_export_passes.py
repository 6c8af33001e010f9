"""Passes over exported programs: parts cut and put back, switches, views, copies and tokens removed."""

import copy
import io
import operator

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import fx
from tl_compiler.export import Dim, export, load, save, unflatten
from tl_compiler.export._remove_auto_functionalized_pass import unsafe_remove_auto_functionalized_pass
from tl_compiler.export._remove_effect_tokens_pass import _remove_effect_tokens
from tl_compiler.export.constant_attributes import ConstantAttrMap, gather_constants
from tl_compiler.export.graph_signature import InputKind, InputSpec, OutputKind, OutputSpec, TokenArgument
from tl_compiler.export.passes.replace_set_grad_with_hop_pass import replace_set_grad_with_hop_pass
from tl_compiler.export.passes.replace_view_ops_with_view_copy_ops_pass import (
    ReplaceViewOpsWithViewCopyOpsPass,
    get_view_copy_of_view_op,
    is_view_op,
)
from tl_compiler.export.utils import node_inline_, node_replace_, nodes_count, nodes_filter, sequential_split
from tl_compiler.fx.experimental.proxy_tensor import make_fx
from tl_compiler.higher_order.auto_functionalize import auto_functionalized, can_auto_functionalize
from tl_compiler.higher_order.cond import cond
from tl_compiler.higher_order.effects import with_effects
from tl_compiler.higher_order.wrap import wrap_with_autocast, wrap_with_set_grad_enabled
from tl_core.dispatch import grad_mode
from tl_core.library import Library
from tl_core.operators.packets import aten


def names(graph):
    return [n.name for n in graph.nodes]


def is_switch(node):
    return node.target is grad_mode.switch


# ---- parts
def two_steps():
    """x + 1, then its sine and its cosine, with a switch before each."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(operator.add, (x, 1))
    graph.call_function(grad_mode.switch, (False,))
    z = graph.call_function(tl.sin, (y,))
    w = graph.call_function(tl.cos, (y,))
    graph.call_function(grad_mode.switch, (True,))
    graph.output((z, graph.call_function(operator.mul, (z, w))))
    return fx.GraphModule({}, graph)


def test_parts_begin_where_the_condition_holds():
    result = two_steps()
    parts = sequential_split(result, is_switch)
    assert [names(part.graph) for _, part in parts.named_children()] == [
        ["x", "add", "output"],
        ["add", "_set_grad_enabled", "sin", "cos", "output"],
        ["sin", "cos", "_set_grad_enabled_1", "mul", "output"],
    ]
    x = tl.tensor([0.5, -2.0])
    assert all(
        tl.equal(a, b) for a, b in zip(parts(x), ((x + 1).sin(), (x + 1).sin() * (x + 1).cos()), strict=True)
    )


def test_parts_that_are_put_back_leave_the_graph_as_it_was():
    result = two_steps()
    parts = sequential_split(result, is_switch)
    for call in nodes_filter(parts.graph.nodes, lambda n: n.op == "call_module"):
        assert node_inline_(call) is parts
    assert names(parts.graph) == names(result.graph)
    assert not list(parts.named_children())


def test_a_part_with_attributes_of_its_own():
    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = tl.tensor([3.0])

        def forward(self, x):
            return x * self.scale

    owner = nn.Module()
    owner.inner = fx.symbolic_trace(Inner())
    graph = fx.Graph()
    graph.output(graph.call_module("inner", (graph.placeholder("x"),)))
    result = fx.GraphModule(owner, graph)
    node_inline_(next(n for n in result.graph.nodes if n.op == "call_module"))
    assert nodes_count(result.graph.nodes, lambda n: n.op == "call_module") == 0
    assert result(tl.tensor([2.0])).tolist() == [6.0]
    with pytest.raises(AssertionError, match="calls no graph module"):
        node_inline_(next(iter(result.graph.nodes)))


def test_a_node_replaced_by_a_graph():
    result = fx.symbolic_trace(lambda x: x.sin() + 1)
    old = next(n for n in result.graph.nodes if n.target == "sin")
    with result.graph.inserting_before(old):
        new = result.graph.call_method("cos", old.args)
    node_replace_(old, new)
    result.recompile()
    assert result(tl.zeros(1)).tolist() == [2.0]


# ---- switches
def test_regions_without_derivatives_are_calls():
    result, _ = replace_set_grad_with_hop_pass(two_steps())
    assert [n.target for n in result.graph.nodes if n.op == "call_function"] == [
        *(operator.add, wrap_with_set_grad_enabled, operator.getitem, operator.getitem, operator.mul)
    ]
    z, product = result(tl.tensor([0.5], requires_grad=True))
    assert not z.requires_grad and not product.requires_grad
    assert tl.is_grad_enabled()


def test_a_region_that_only_writes_stays_a_region():
    graph = fx.Graph()
    x, state = graph.placeholder("x"), graph.placeholder("state")
    graph.call_function(grad_mode.switch, (False,))
    graph.call_function(aten.copy_.default, (state, x))
    graph.call_function(grad_mode.switch, (True,))
    graph.output((graph.call_function(tl.neg, (x,)),))
    result, _ = replace_set_grad_with_hop_pass(fx.GraphModule({}, graph))
    result.graph.eliminate_dead_code()
    result.recompile()
    state = tl.zeros(1)
    result(tl.tensor([2.0], requires_grad=True), state)
    assert state.tolist() == [2.0] and not state.requires_grad


def test_calls_in_another_setting():
    x = tl.ones(2, 2, requires_grad=True)
    assert not wrap_with_set_grad_enabled(False, lambda x: x * 2, x).requires_grad
    out = wrap_with_autocast("cpu", tl.bfloat16, True, None, tl.mm, x, x)
    assert out.dtype is tl.bfloat16
    assert tl.mm(x, x).dtype is tl.float32


class Frozen(nn.Module):
    """Features without derivatives, statistics and a count that are written in there, and a branch with a region."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        self.scale = nn.Parameter(tl.tensor([2.0, -1.0]))
        self.count = nn.Buffer(tl.zeros(1))

    def forward(self, x):
        with tl.no_grad():
            y = self.features(x)
            size = y * x.shape[0]
            self.count.add_(1)
        return cond(y.sum() > 0, self.doubled, lambda x: x.cos(), (x * self.scale + size,))

    def doubled(self, x):
        with tl.no_grad():
            y = x * x
        return y * x


def learnt(model, x):
    """What a step of training sees: the result, gradients, and buffers."""
    out = model(x)
    out.sum().backward()
    grads = {name: p.grad for name, p in model.named_parameters()}
    return {"out": out.detach(), **grads, **dict(model.named_buffers())}


def assert_same(found, wanted):
    for name, value in wanted.items():
        assert (value is None) == (found[name] is None), name
        assert value is None or tl.allclose(found[name], value), name


def reread(ep):
    file = io.BytesIO()
    save(ep, file)
    file.seek(0)
    return load(file).module()


@pytest.mark.parametrize(
    "way",
    [
        lambda ep, x: ep.module(),
        lambda ep, x: reread(ep),
        lambda ep, x: unflatten(ep),
        lambda ep, x: export(ep.module(), (x,)).module(),
    ],
    ids=["module", "read", "unflattened", "again"],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_programs_learn_what_their_modules_learn(way, sign):
    tl.manual_seed(0)
    model, x = Frozen(), tl.randn(3, 2)
    model.features[1].bias.data += sign
    clone = way(copy.deepcopy(export(model, (x,), dynamic_shapes={"x": {0: Dim("batch")}})), x)
    last_copy = learnt(copy.deepcopy(model), x)
    assert last_copy["scale"] is not None and last_copy["features.0.weight"] is None
    assert_same(learnt(clone, x), last_copy)


def test_a_program_without_writes_has_no_regions():
    model, x = Frozen(), tl.randn(3, 2)
    ep = export(model, (x,))
    result = ep.run_decompositions()
    assert any(n.target is wrap_with_set_grad_enabled for n in ep.graph.nodes)
    assert not any(n.target is wrap_with_set_grad_enabled for n in result.graph.nodes)
    assert set(result.graph_signature.buffers_to_mutate.values()) >= {"count", "features.1.running_mean"}
    assert tl.allclose(result.module()(x), copy.deepcopy(model)(x))


def test_modules_of_a_region_are_noted():
    ep = export(Frozen(), (tl.randn(3, 2),))
    region = next(n for n in ep.graph.nodes if n.target is wrap_with_set_grad_enabled)
    inner = getattr(ep.graph_module, region.args[1].target).graph

    def paths(node):
        return [path for path, _ in node.meta["nn_module_stack"].values()]

    assert paths(region) == [""]
    linear = next(n for n in inner.nodes if n.target is aten.linear.default)
    assert paths(linear) == ["", "features", "features.0"]


def test_graphs_switch_where_the_function_does():
    def f(x):
        with tl.no_grad():
            y = x * 2
        z = y + x
        with tl.no_grad():
            return y, z, z * 3

    result = make_fx(f, pre_dispatch=True)(tl.ones(2))
    assert [n.args[0] for n in result.graph.nodes if is_switch(n)] == [False, True, False, True]
    assert "torch._C._set_grad_enabled(False)" in result.code
    x = tl.ones(2, requires_grad=True)
    assert [t.requires_grad for t in result(x)] == [False, True, False]
    assert tl.is_grad_enabled()
    copied = copy.deepcopy(result)
    copied.graph.eliminate_dead_code()
    assert sum(map(is_switch, copied.graph.nodes)) == 4
    assert not any(map(is_switch, make_fx(f)(tl.ones(2)).graph.nodes))  # below autograd nothing is recorded


# ---- views
def test_views_become_copies():
    class Views(nn.Module):
        def forward(self, x):
            return x.view(6).unsqueeze(0).transpose(0, 1) + x.sum()

    x = tl.arange(6.0).view(2, 3)
    ep = export(Views(), (x,))._transform_do_not_use(ReplaceViewOpsWithViewCopyOpsPass())
    targets = [str(n.target) for n in ep.graph.nodes if n.op == "call_function"]
    assert targets[:3] == ["aten.view_copy.default", "aten.unsqueeze_copy.default", "aten.transpose_copy.int"]
    assert ep.module()(x).flatten().tolist() == [15.0 + i for i in range(6)]


@pytest.mark.parametrize(
    ("name", "view"),
    [("view.default", True), ("add.Tensor", False), ("add_.Tensor", False), ("split.Tensor", True)],
)
def test_which_operators_are_views(name, view):
    packet, _, overload = name.partition(".")
    schema = getattr(getattr(aten, packet), overload)._schema
    assert is_view_op(schema) is view
    assert (get_view_copy_of_view_op(schema) is not None) is view


# ---- copies
def fill(y):
    y.fill_(7.0)


@pytest.fixture
def mutator():
    """z = x + (y += 1); z and x * y are returned."""
    lib = Library("passes_of_export", "DEF")  # goes at the end
    lib.define("mutator(Tensor x, Tensor(a!) y, *, float by=1.0) -> (Tensor, Tensor)")
    lib.define("filler(Tensor(a!) y) -> ()")
    lib.define("shown(Tensor(a!) y) -> Tensor(a!)")
    lib.impl("mutator", lambda x, y, by=1.0: (x + y.add_(by), x * y), "CompositeExplicitAutograd")
    lib.impl("filler", fill, "CPU")
    lib.impl("filler", lambda y: None, "Meta")
    yield tl.ops.passes_of_export
    del lib


class State(nn.Module):
    def __init__(self, op, by):
        super().__init__()
        self.op, self.by = op, by
        self.state = nn.Buffer(tl.zeros(2))

    def forward(self, x):
        a, b = self.op(x, self.state, by=self.by)
        return a - b


def test_an_operator_that_writes_becomes_one_that_returns_copies(mutator):
    ep = export(State(mutator.mutator, 2.0), (tl.ones(2),)).run_decompositions({})
    (call,) = [n for n in ep.graph.nodes if n.target is auto_functionalized]
    assert call.args == (mutator.mutator.default,)
    assert dict(call.kwargs, x=0, y=0) == {"x": 0, "y": 0, "by": 2.0}
    assert list(ep.graph_signature.buffers_to_mutate.values()) == ["state"]
    module = ep.module()
    for count in (1, 2):  # x = 3, y = 2 count: x + y - x y
        assert module(tl.full((2,), 3.0)).tolist() == [3.0 + 2 * count - 6 * count] * 2
        assert module.state.tolist() == [2.0 * count] * 2


def test_copies_are_given_up(mutator):
    ep = export(State(mutator.mutator, 2.0), (tl.ones(2),)).run_decompositions({})
    result = unsafe_remove_auto_functionalized_pass(ep)
    (call,) = [n for n in result.graph.nodes if n.target is mutator.mutator.default]
    assert [getattr(a, "name", a) for a in call.args] == ["x", "b_state"] and call.kwargs == {"by": 2.0}
    assert not any(n.target is auto_functionalized for n in result.graph.nodes)
    module = result.module()
    assert module(tl.full((2,), 3.0)).tolist() == [-1.0, -1.0]
    assert module.state.tolist() == [2.0, 2.0]
    assert any(n.target is auto_functionalized for n in ep.graph.nodes)  # the other is as it was


def test_a_write_to_a_view_reaches_its_base(mutator):
    class Row(nn.Module):
        def forward(self, x):
            y = x.clone()
            mutator.filler(y[1])
            return y

    ep = export(Row(), (tl.zeros(3, 2),)).run_decompositions({})
    assert not any("filler" in str(n.target) for n in ep.graph.nodes)
    assert ep.module()(tl.zeros(3, 2)).tolist() == [[0.0, 0.0], [7.0, 7.0], [0.0, 0.0]]


def test_which_operators_can_be_called_with_copies(mutator):
    assert can_auto_functionalize(mutator.mutator.default) and can_auto_functionalize(mutator.filler.default)
    for other in (mutator.shown.default, aten.add_.Tensor, aten.add.Tensor, tl.sin):
        assert not can_auto_functionalize(other)
    with pytest.raises(AssertionError, match="can't be called with copies"):
        auto_functionalized(mutator.shown.default, y=tl.ones(1))
    y = tl.zeros(2)
    nothing, copy = auto_functionalized(mutator.filler.default, y=y)
    assert nothing is None and copy.tolist() == [7.0, 7.0] and y.tolist() == [0.0, 0.0]


# ---- tokens
def with_tokens(ep):
    """A program whose operators take and return tokens."""
    graph = ep.graph
    calls = [n for n in graph.nodes if n.op == "call_function" and n.target is not operator.getitem]
    with graph.inserting_before(next(iter(graph.nodes))):
        token = graph.placeholder("token")
    for call in calls:
        with graph.inserting_before(call):
            result = graph.call_function(with_effects, (token, call.target, *call.args), dict(call.kwargs))
            result.meta["val"] = (None, call.meta["val"])
            token, out = (graph.call_function(operator.getitem, (result, i)) for i in range(2))
            out.meta["val"] = call.meta["val"]
        node_replace_(call, out)
    output = graph.output_node()
    output.args = ((token, *output.args[0]),)
    signature = ep.graph_signature
    signature.input_specs.insert(0, InputSpec(InputKind.TOKEN, TokenArgument("token"), None))
    signature.output_specs[-1].arg.name = out.name
    signature.output_specs.insert(0, OutputSpec(OutputKind.TOKEN, TokenArgument(token.name), None))
    ep.graph_module.recompile()
    return ep


def test_tokens_are_removed():
    class Steps(nn.Module):
        def forward(self, x):
            return x.sin().mul(2)

    x = tl.tensor([0.25])
    plain = export(Steps(), (x,))
    ep = with_tokens(export(Steps(), (x,)))
    ep.validate()
    result = _remove_effect_tokens(ep)
    assert [n.target for n in result.graph.nodes if n.op == "call_function"] == [
        n.target for n in plain.graph.nodes if n.op == "call_function"
    ]
    assert not result.graph_signature.input_tokens and not result.graph_signature.output_tokens
    assert tl.equal(result.module()(x), x.sin() * 2)
    assert _remove_effect_tokens(plain) is plain


# ---- constants
def test_constants_by_identity():
    shared = tl.ones(1)
    model = nn.Module()
    model.inner = nn.Linear(1, 1)
    model.a, model.inner.b, model.other = shared, shared, tl.ones(1)
    result = gather_constants(model)
    assert result[shared] == ["a", "inner.b"] and len(result) == 2
    assert tl.ones(1) not in result and model.inner.weight not in result
    del result[shared]
    assert list(result.values()) == [["other"]]
    with pytest.raises(KeyError):
        result[shared]
    with pytest.raises(TypeError):
        ConstantAttrMap()[shared] = "a"
