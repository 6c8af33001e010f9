"""Patterns of graphs: what they match, what replaces it, and passes that `compile` runs. Counts are PyTorch 2.13's."""

from __future__ import annotations

import operator
from typing import Any

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import compiler
from tl_compiler.aot.aot_autograd import aot_function
from tl_compiler.aot.partitioners import default_partition
from tl_compiler.compat.inductor import config
from tl_compiler.compat.inductor.compile_fx import compile_fx
from tl_compiler.compat.inductor.fx_passes import joint_graph, post_grad
from tl_compiler.compat.inductor.pattern_matcher import (
    MULTIPLE,
    Arg,
    CallFunction,
    CallFunctionVarArgs,
    CallMethod,
    CallModule,
    ExclusiveKeywordArg,
    Ignored,
    KeywordArg,
    ListOf,
    Match,
    MultiOutputPattern,
    PatternMatcherPass,
    PatternPrettyPrinter,
    RepeatedExpr,
    filter_nodes,
    fwd_only,
    fx_to_pattern,
    gen_pattern,
    gen_register_replacement,
    get_arg_value,
    init_once_fakemode,
    is_mutation_op,
    joint_fwd_bwd,
    register_graph_pattern,
    register_lowering_pattern,
    register_replacement,
    stable_topological_sort,
)
from tl_compiler.compat.inductor.virtualized import V
from tl_compiler.compiler.counters import counters
from tl_compiler.fx import Graph, GraphModule, symbolic_trace
from tl_compiler.tracer.make_fx import make_fx
from tl_core import ops

aten = ops.aten


def targets(module: Any) -> list[str]:
    return [str(n.target) for n in module.graph.nodes if n.op == "call_function"]


def last(module: Any) -> Any:
    (value,) = module.graph.output_node().args
    return value


def replaced(search: Any, replace: Any, examples: Any, function: Any, inputs: Any, **options: Any) -> Any:
    """The graph of a function after a replacement, which computes what it computed."""
    table = PatternMatcherPass()
    register_replacement(search, replace, examples, fwd_only, table, **options)
    module = fwd_only(function, inputs)
    expected = module(*inputs)
    count = table.apply(module)
    module.graph.lint()
    module.recompile()
    tl.testing.assert_close(module(*inputs), expected)
    return count, targets(module)


class TestReplacements:
    def test_operators_of_another_function_replace_them(self):
        count, names = replaced(
            lambda x, y: (x * y).relu(),
            lambda x, y: x.relu() * y.abs() if False else (x * y).clamp(min=0),
            [tl.ones(2), tl.ones(2)],
            lambda a, b: (a * b).relu() + 1,
            [tl.randn(3, 4), tl.randn(3, 4)],
        )
        assert count == 1
        assert names == ["aten.mul.Tensor", "aten.clamp.default", "aten.add.Tensor"]

    def test_sizes_are_those_of_the_match(self):
        sizes = []

        def replace(x):
            sizes.append(tuple(x.shape))
            return x.reshape(x.shape[0] * x.shape[1])

        count, names = replaced(
            lambda x: x.exp().log().view(x.shape[0] * x.shape[1]),
            replace,
            [tl.ones(2, 3)],
            lambda a: a.exp().log().view(20) * 2,
            [tl.rand(4, 5)],
        )
        assert count == 1 and sizes == [(4, 5)]
        assert names == ["aten.reshape.default", "aten.mul.Tensor"]

    def test_other_constants_are_no_match(self):
        inputs = [tl.rand(4, 5)]
        count, _ = replaced(
            lambda x: (x + 1).exp(), lambda x: x.exp(), [tl.ones(2)], lambda a: (a + 2).exp(), inputs
        )
        assert count == 0

    def test_numbers_are_arguments(self):
        count, names = replaced(
            lambda x, scale: (x * scale).tanh(),
            lambda x, scale: (x / (1 / scale)).tanh(),
            [tl.ones(2)],
            lambda a: (a * 8).tanh(),
            [tl.rand(3)],
            scalar_workaround={"scale": 2.5},
        )
        assert count == 1 and names == ["aten.div.Tensor", "aten.tanh.default"]

    def test_extra_check_decides(self):
        seen = []

        def check(match: Match) -> bool:
            seen.append(sorted(match.kwargs))
            return match.kwargs["x"].meta["val"].dtype == tl.float64

        for dtype, expected in ((tl.float32, 0), (tl.float64, 1)):
            count, _ = replaced(
                lambda x: x.exp().log(),
                lambda x: x * 1,
                [tl.ones(2)],
                lambda a: a.exp().log() + 1,
                [tl.rand(3, dtype=dtype)],
                extra_check=check,
            )
            assert count == expected
        assert seen == [["x"], ["x"]]

    def test_a_value_with_other_readers_stays(self):
        count, names = replaced(
            lambda x: x.exp().log(),
            lambda x: x * 1,
            [tl.ones(2)],
            lambda a: (lambda e: e.log() + e)(a.exp()),
            [tl.rand(3)],
        )
        assert count == 0 and names[0] == "aten.exp.default"

    def test_several_results(self):
        count, names = replaced(
            lambda x: (x.sin() * 2, x.cos() * 2),
            lambda x: ((x + 1 - 1).sin() * 2, x.cos() + x.cos()),
            [tl.ones(2)],
            lambda a: (a.sin() * 2).exp() + (a.cos() * 2).exp(),
            [tl.rand(3)],
        )
        assert count == 1
        assert names.count("aten.cos.default") == 2 and "aten.sub.Tensor" in names

    def test_an_argument_behind_the_first_result(self):
        """The nodes are sorted again, because an argument is computed after the first result."""
        count, _ = replaced(
            lambda x, y: (x.sin() * 2, x + y),
            lambda x, y: ((x.sin() + y - y) * 2, x + y),
            [tl.ones(2), tl.ones(2)],
            lambda a, b: (a.sin() * 2, a + b.exp()),
            [tl.rand(3), tl.rand(3)],
        )
        assert count == 1

    def test_gradients(self):
        table = PatternMatcherPass()
        examples = [tl.ones(2, requires_grad=True)]
        register_replacement(
            lambda x: x.sin().exp(), lambda x: x.sin().exp() * 1.0, examples, joint_fwd_bwd, table
        )
        counts = []

        def partition(joint, inputs, **options):
            counts.append(table.apply(joint))
            return default_partition(joint, inputs, **options)

        x = tl.rand(5, requires_grad=True)
        result = aot_function(lambda t: t.sin().exp(), lambda g, _: g, partition_fn=partition)(x)
        result.sum().backward()
        assert counts == [1]
        tl.testing.assert_close(x.grad, (x.sin().exp() * x.cos()).detach())

    def test_duplicates(self):
        table = PatternMatcherPass()
        arguments = (lambda x: x.exp().log(), lambda x: x * 1, [tl.ones(2)], fwd_only, table)
        assert register_replacement(*arguments)
        with pytest.raises(RuntimeError, match="Duplicate pattern"):
            register_replacement(*arguments)
        assert not register_replacement(*arguments, skip_duplicates=True)

    def test_unused_arguments_raise(self):
        table = PatternMatcherPass()
        register_replacement(lambda x, y: x.exp().log(), lambda x, y: x, [tl.ones(2)] * 2, fwd_only, table)
        with pytest.raises(RuntimeError, match="Not all inputs to pattern found"):
            table.apply(fwd_only(lambda a: a.exp().log(), [tl.ones(3)]))

    def test_replace_by_example(self):
        table = PatternMatcherPass()

        @register_graph_pattern(
            CallFunction(aten.addmm, Arg(), Arg(), Arg(), beta=KeywordArg("beta"), alpha=KeywordArg("alpha")),
            pass_dict=table,
        )
        def handle(match, inp, a, b, beta, alpha):
            with V.fake_mode:
                match.replace_by_example(lambda i, p, q: (p @ q) * alpha + i * beta, [inp, a, b])

        inputs = [tl.randn(4), tl.randn(3, 5), tl.randn(5, 4)]
        for options in ({}, {"beta": 1.0}, {"beta": 2.0, "alpha": 3.0}):
            module = make_fx(lambda i, a, b, o=options: aten.addmm(i, a, b, **o))(*inputs)
            expected = module(*inputs)
            assert table.apply(module) == 1
            module.recompile()
            assert "aten.addmm.default" not in targets(module) and "aten.mm.default" in targets(module)
            tl.testing.assert_close(module(*inputs), expected)

    def test_attributes_of_the_replacement_move(self):
        table = PatternMatcherPass()
        weight = tl.tensor([2.0, 3.0])
        register_replacement(lambda x: x.exp().log(), lambda x: x * weight, [tl.ones(2)], fwd_only, table)
        module = fwd_only(lambda a: a.exp().log() + 1, [tl.ones(2)])
        assert table.apply(module) == 1
        module.recompile()
        assert module(tl.tensor([1.0, 2.0])).tolist() == [3.0, 7.0]

    def test_names_of_files_are_accepted(self):
        table = PatternMatcherPass()
        gen_register_replacement(
            "some_name", lambda x: x.exp().log(), lambda x: x * 1, [tl.ones(2)], fwd_only, table
        )
        assert table.apply(fwd_only(lambda a: a.exp().log(), [tl.ones(3)])) == 1


class TestPatterns:
    def match(self, pattern: Any, function: Any) -> Any:
        module = symbolic_trace(function)
        return pattern.match(last(module))

    def test_arguments(self):
        match = self.match(
            CallFunction(operator.add, Arg(), CallFunction(tl.sin, KeywordArg("y"))), lambda x: x + tl.sin(x)
        )
        assert [n.name for n in match.args] == ["x"] and match.kwargs["y"].name == "x"
        assert [n.name for n in match.nodes] == ["sin", "add"]
        assert match.output_node().name == "add"

    def test_one_name_is_one_value(self):
        pattern = CallFunction(operator.add, KeywordArg("a"), CallFunction(tl.sin, KeywordArg("a")))
        assert self.match(pattern, lambda x, y: x + tl.sin(x))
        failure = self.match(pattern, lambda x, y: y + tl.sin(x))
        assert not failure and "kwarg mismatch" in str(failure)

    def test_one_part_is_one_node(self):
        part = CallFunction(tl.sin, KeywordArg("a"))
        pattern = CallFunction(operator.mul, part, part)
        assert self.match(pattern, lambda x: (lambda s: s * s)(tl.sin(x)))
        assert not self.match(pattern, lambda x: tl.sin(x) * tl.sin(x))

    def test_exclusive_arguments_differ(self):
        pattern = CallFunction(operator.add, ExclusiveKeywordArg("a"), ExclusiveKeywordArg("b"))
        assert self.match(pattern, lambda x, y: x + y)
        assert not self.match(pattern, lambda x, y: x + x)

    def test_users(self):
        def function(x):
            s = tl.sin(x)
            return tl.cos(s) + s

        for users, matches in ((1, False), (2, True), (MULTIPLE, True)):
            pattern = CallFunction(
                operator.add, CallFunction(tl.cos, CallFunction(tl.sin, Arg(), _users=users)), Ignored()
            )
            assert bool(self.match(pattern, function)) is matches

    def test_constants(self):
        pattern = CallFunction(operator.add, Arg(), 1)
        assert self.match(pattern, lambda x: x + 1)
        assert not self.match(pattern, lambda x: x + 2)
        assert not self.match(pattern, lambda x: x + x)

    def test_lists(self):
        whole = CallFunction(tl.cat, KeywordArg("parts"), Ignored())
        assert len(self.match(whole, lambda x, y: tl.cat([x, y], 0)).kwargs["parts"]) == 2
        each = CallFunction(tl.cat, ListOf(CallFunction(tl.sin, Arg())), 0)
        match = self.match(each, lambda x, y: tl.cat([tl.sin(x), tl.sin(y)], 0))
        assert [tuple(n.name for n in part) for part in match.args[0]] == [("x",), ("y",)]
        assert not self.match(each, lambda x, y: tl.cat([tl.sin(x), y], 0))
        some = CallFunction(tl.cat, ListOf(CallFunction(tl.sin, Arg()), partial=True), 0)
        assert self.match(some, lambda x, y: tl.cat([tl.sin(x), y], 0))
        pair = CallFunction(tl.cat, [Arg(), KeywordArg("second")], 0)
        assert self.match(pair, lambda x, y: tl.cat([x, y], 0)).kwargs["second"].name == "y"
        assert not self.match(pair, lambda x, y: tl.cat([x, y, x], 0))

    def test_methods_modules_and_any_arguments(self):
        assert self.match(CallMethod("relu", KeywordArg("x")), lambda x: x.relu())
        model = symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
        pattern = CallModule(nn.ReLU, CallModule(nn.Linear, KeywordArg("x")))
        assert pattern.match(last(model)).kwargs["x"].op == "placeholder"
        match = self.match(CallFunctionVarArgs(tl.sum), lambda x: tl.sum(x, 0, keepdim=True))
        assert match.args[1] == 0 and match.kwargs == {"keepdim": True}

    def test_repeated_calls(self):
        module = symbolic_trace(lambda x: (tl.sin(x), tl.sin(x)))
        match = RepeatedExpr(CallFunction(tl.sin, Arg())).match(last(module)[0])
        assert match and len(match.nodes) == 2

    def test_several_results(self):
        module = symbolic_trace(lambda x: (tl.sin(x), tl.cos(x)))
        x = KeywordArg("x")
        pattern = MultiOutputPattern([CallFunction(tl.sin, x), CallFunction(tl.cos, x)])
        match = pattern.match(last(module)[0])
        assert [n.name for n in match.output_nodes()] == ["sin", "cos"]
        with pytest.raises(TypeError, match="must begin with a call"):
            MultiOutputPattern([Arg()])

    def test_a_further_output_names_its_arguments(self):
        pattern = MultiOutputPattern([CallFunction(tl.sin, KeywordArg("x")), CallFunctionVarArgs(tl.cos)])
        module = symbolic_trace(lambda x: (tl.sin(x), tl.cos(x)))
        first = next(node for node in module.graph.nodes if node.target is tl.sin)
        with pytest.raises(NotImplementedError, match="matches any arguments"):  # PyTorch's type
            pattern.match(first)

    def test_patterns_of_graphs(self):
        pattern = gen_pattern(lambda x, y: (x * y + 3).sum(0), [tl.ones(2, 2)] * 2, fwd_only)
        assert (
            pattern.pattern_eq(gen_pattern(lambda a, b: (a * b + 3).sum(0), [tl.ones(4, 2)] * 2, fwd_only))
            is False
        )
        assert pattern.pattern_eq(gen_pattern(lambda x, y: (x * y + 3).sum(0), [tl.ones(4, 2)] * 2, fwd_only))
        names = {"aten": aten, "CallFunction": CallFunction, "KeywordArg": KeywordArg, "Ignored": Ignored}
        exec(PatternPrettyPrinter.run(pattern), names)
        assert pattern.pattern_eq(names["output"])

    def test_attributes_match_nothing(self):
        with pytest.raises(RuntimeError, match="attribute"):
            fx_to_pattern(symbolic_trace(_WithWeight()))


class _WithWeight(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(tl.ones(2))

    def forward(self, x):
        return x * self.weight


class TestPasses:
    def test_functions_instead_of_a_pattern(self):
        table = PatternMatcherPass()

        @register_lowering_pattern(
            CallFunction(tl.exp, CallFunction(tl.log, KeywordArg("x"))), pass_dict=table
        )
        def identity(match, x):
            return x.clone()

        module = symbolic_trace(lambda x: tl.exp(tl.log(x)) + 1)
        assert table.apply(module) == 1
        module.recompile()
        assert len(module.graph.nodes) == 4 and module(tl.tensor([2.0])).tolist() == [3.0]

    def test_no_match_reaches_over_a_write(self):
        table, count = PatternMatcherPass(pass_name="test"), []

        @register_graph_pattern(
            CallFunction(tl.add, KeywordArg("x"), CallFunction(tl.sin, KeywordArg("x"))), pass_dict=table
        )
        def note(match, x):
            count.append(1)

        def plain(x, y):
            return tl.add(x, tl.sin(x))

        def written(x, y):
            a = tl.sin(x)
            x.copy_(y)
            return tl.add(x, a)

        def seeded(x, y):
            a = tl.sin(x)
            tl.manual_seed(1234)
            return tl.add(x, a)

        def out(x, y):
            a = tl.sin(x)
            tl.add(y, 1, out=x)
            return tl.add(x, a)

        for function, expected in ((plain, 1), (written, 0), (seeded, 0), (out, 0)):
            count.clear()
            graph = _traced_in_order(function)
            table.apply(graph)
            assert len(count) == expected, function.__name__

    def test_counts(self):
        counters.clear()
        table = PatternMatcherPass()
        register_replacement(lambda x: x.exp().log(), lambda x: x * 1, [tl.ones(2)], fwd_only, table)
        table.apply(fwd_only(lambda a: a.exp().log() + a.exp().log(), [tl.ones(3)]))
        assert counters["inductor"]["pattern_matcher_count"] == 2
        assert counters["inductor"]["pattern_matcher_nodes"] == 4
        table.clear()
        assert table.apply(Graph()) == 0

    @pytest.mark.parametrize("shape", [(3, 5, 7)])
    def test_pointless_pairs(self, shape):
        x = tl.randn(15, 7)
        once = make_fx(lambda t: aten.view.default(aten.view.default(t, list(shape)), [15, 7]))(x)
        assert len(targets(once)) == 2
        joint_graph.joint_graph_passes(once)
        assert targets(once) == []

        def both(t):
            first = aten.view.default(t, list(shape))
            return first, aten.view.default(first, [15, 7])

        twice = make_fx(both)(x)
        joint_graph.joint_graph_passes(twice)
        assert len(targets(twice)) == 2
        moved = make_fx(lambda t: aten.permute.default(aten.permute.default(t, [1, 0]), [1, 0]))(x)
        joint_graph.joint_graph_passes(moved)
        assert targets(moved) == []

    def test_pointless_conversions(self):
        convert = ops.prims.convert_element_type.default
        for dtype, left in ((tl.float16, 1), (tl.int32, 2)):
            module = fwd_only(lambda x, d=dtype: convert(convert(x, d), tl.float32), [tl.ones(2)])
            joint_graph.joint_graph_passes(module)
            assert len(targets(module)) == left

    def test_views_become_reshapes(self):
        module = make_fx(lambda x: aten.view.default(x, [6]) + 0)(tl.ones(2, 3))
        post_grad.post_grad_passes(module, True)
        assert targets(module) == ["aten.reshape.default"]


def _traced_in_order(function: Any) -> Graph:
    """The graph of a function of two tensors, with calls that have no reader."""
    graph = symbolic_trace(function).graph
    if function.__name__ == "seeded":  # symbolic tracing runs it, so it is added by hand
        add = next(n for n in graph.nodes if n.target is tl.add)
        with graph.inserting_before(add):
            graph.call_function(tl.manual_seed, (1234,))
    return graph


class TestCompile:
    @pytest.mark.parametrize(
        "name",
        [
            "post_grad_custom_pre_pass",
            "post_grad_custom_post_pass",
            "joint_custom_pre_pass",
            "joint_custom_post_pass",
        ],
    )
    def test_custom_passes_run(self, name):
        def replace_sine(graph: Graph) -> None:
            for node in graph.nodes:
                if node.target is aten.sin.default:
                    node.target = aten.cos.default

        x = tl.rand(4)
        with config.patch({name: replace_sine}):
            result = compiler.compile(lambda t: t.sin() + 1)(x)
        tl.testing.assert_close(result, x.cos() + 1)
        tl.testing.assert_close(compiler.compile(lambda t: t.sin() + 1)(x), x.sin() + 1)

    def test_a_pass_of_patterns_with_gradients(self):
        table = PatternMatcherPass()
        register_replacement(lambda x: x.exp().log(), lambda x: x * 1.0, [tl.ones(2)], fwd_only, table)
        counts = []
        with config.patch(post_grad_custom_post_pass=lambda graph: counts.append(table.apply(graph))):
            x = tl.rand(4, requires_grad=True)
            compiler.compile(lambda t: (t.sin().exp().log() * 2).sum())(x).backward()
            compiler.compile(lambda t: t.exp().log() * 2)(tl.rand(4))
        assert sum(counts) >= 1
        tl.testing.assert_close(x.grad, 2 * x.detach().cos())

    def test_passes_before_gradients(self):
        def drop(graph: Graph) -> None:
            for node in list(graph.nodes):
                if node.target in (tl.neg, aten.neg.default, "neg"):
                    node.replace_all_uses_with(node.args[0])
                    graph.erase_node(node)

        with config.patch(pre_grad_custom_pass=drop):
            run = compile_fx(symbolic_trace(lambda x: (tl.neg(x) + 1,)), [tl.ones(2)])
            assert run(tl.ones(2))[0].tolist() == [2.0, 2.0]

    def test_passes_as_patches(self):
        names = []
        patches = {"post_grad_custom_post_pass": lambda graph: names.append(len(graph.nodes))}
        run = compile_fx(symbolic_trace(lambda x: (x + 1,)), [tl.ones(2)], config_patches=patches)
        assert run(tl.ones(2))[0].tolist() == [2.0, 2.0] and names == [3]
        assert config.post_grad_custom_post_pass is None


_TENSOR = tl.ones(1)
# Of PyTorch's own test.
_MUTATIONS = [
    ("call_method", lambda: "copy_", (_TENSOR, _TENSOR), {}, True),
    ("call_method", lambda: "relu_", (_TENSOR,), {}, True),
    ("call_method", lambda: "relu", (_TENSOR,), {}, False),
    ("call_function", lambda: tl.manual_seed, (0,), {}, True),
    ("call_function", lambda: aten.set_.source_Tensor, (_TENSOR, _TENSOR), {}, True),
    ("call_function", lambda: tl.add, (_TENSOR, _TENSOR), {"out": _TENSOR}, True),
    ("call_function", lambda: aten.__rshift__.Scalar, (_TENSOR, 2), {}, False),
    ("call_function", lambda: aten.add.Tensor, (_TENSOR, _TENSOR), {}, False),
]


@pytest.mark.parametrize("case", range(len(_MUTATIONS)))
def test_writes(case: int) -> None:
    kind, target, args, kwargs, expected = _MUTATIONS[case]
    graph = Graph()
    assert is_mutation_op(getattr(graph, kind)(target(), args, kwargs)) is expected


def test_orders() -> None:
    graph = Graph()
    b, a = graph.placeholder("y"), graph.placeholder("x")
    c = graph.call_function(max, (a, b))
    stable_topological_sort(graph)
    assert list(graph.nodes) == [b, a, c]
    c.append(a)
    stable_topological_sort(graph)
    assert list(graph.nodes) == [b, a, c]
    a.args = (c,)
    with pytest.raises(AssertionError, match="circle"):
        stable_topological_sort(graph)


def test_nodes_and_arguments() -> None:
    module = make_fx(lambda x: aten.add(x, 1) * 2)(tl.ones(2))
    (node,) = filter_nodes(module.graph.nodes, aten.add)
    assert get_arg_value(node, 1) == 1 and get_arg_value(node, 5, "alpha") is None
    assert isinstance(module, GraphModule)


def test_once_with_fakes() -> None:
    calls = []
    run = init_once_fakemode(lambda: calls.append(type(tl.ones(2)).__name__))
    run()
    run()
    assert calls == ["FakeTensor"]
