"""Questions about symbolic sizes: examples, guards, ranges, equality; the parts of an environment."""

import itertools
import math
import operator
import pickle

import pytest

import tl_core as tl
import tl_nn
from tl_compiler import fx
from tl_compiler.fx.experimental import dim_constraints, proxy_tensor, unbacked
from tl_compiler.fx.experimental import symbolic_shapes as shapes
from tl_compiler.symbolic import (
    canonical_forms,
    dims,
    expression,
    guards,
    node,
    ranges,
    symbol_maker,
    user_lines,
)
from tl_compiler.symbolic.canonical_forms import relation
from tl_compiler.symbolic.errors import GuardOnDataDependentSymNode, UserError, UserErrorType
from tl_compiler.symbolic.expression import Integer, Symbol
from tl_compiler.symbolic.facts import Facts
from tl_compiler.symbolic.parsing import parse
from tl_compiler.symbolic.printing import stored_text
from tl_compiler.symbolic.shape_env import ShapeEnv
from tl_compiler.tracer.make_fx import make_fx
from tl_core.symbolic.arithmetic import sym_float, sym_max, sym_min
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt


@pytest.fixture
def env():
    return ShapeEnv()


def size(env, value, name="n"):
    return env.create_symintnode(env.create_symbol(value, name), hint=value)


# ---- plain values


def test_the_example_of_a_number(env):
    n, u = size(env, 8), env.create_unbacked_symint()
    assert shapes.hint_int(n) == 8 and shapes.hint_int(n * 2 - 1) == 15 and shapes.hint_int(5) == 5
    assert shapes.hint_int(u, fallback=7) == 7 and shapes.hint_int(n, fallback=7) == 8
    with pytest.raises(GuardOnDataDependentSymNode):
        shapes.hint_int(u)
    assert shapes.has_hint(n) and shapes.has_hint(n > 3) and shapes.has_hint(3) and not shapes.has_hint(u)


def test_numbers_that_are_known(env):
    n = size(env, 8)
    five = SymInt(node.SymNode(Integer(5), env, int))
    half = SymFloat(node.SymNode(expression.Float(0.5), env, float))
    truth = SymBool(node.SymNode(expression.true, env, bool))
    assert shapes.is_concrete_int(5) and shapes.is_concrete_int(five) and not shapes.is_concrete_int(n)
    assert shapes.is_concrete_float(0.5) and shapes.is_concrete_float(half)
    assert not shapes.is_concrete_float(n * 0.5)
    assert (
        shapes.is_concrete_bool(True)
        and shapes.is_concrete_bool(truth)
        and not shapes.is_concrete_bool(n > 9)
    )
    assert shapes.is_symbolic(n) and not shapes.is_symbolic(5) and not shapes.is_symbolic(True)


def names(symbols):
    return {symbol.name for symbol in symbols}


def test_symbols_of_values(env):
    n, u = size(env, 8), env.create_unbacked_symint()
    tensor = tl.empty(2, 3)
    assert (
        names(shapes.free_symbols([n, {"a": (u, 3)}])) == {"s0", "u0"} and shapes.free_symbols(None) == set()
    )
    assert (
        names(shapes.free_symbols((n * u).node.expr)) == {"s0", "u0"} and shapes.free_symbols(tensor) == set()
    )
    assert names(shapes.free_unbacked_symbols((n, u, n + u))) == {"u0"}
    assert names(shapes.free_unbacked_symbols(env.create_unbacked_symfloat())) == {"zuf0"}
    assert shapes.has_free_symbols([n]) and not shapes.has_free_symbols([3])
    assert shapes.has_free_unbacked_symbols([u]) and not shapes.has_free_unbacked_symbols([n])
    graph = make_fx(lambda x: x + 1, tracing_mode="symbolic")(tl.ones(4, 3))
    (fake,) = shapes.fx_placeholder_vals(graph)
    assert shapes.has_symbolic_sizes_strides(fake) and not shapes.has_symbolic_sizes_strides(tensor)
    assert len(fake.shape) == 2 and shapes.fx_placeholder_targets(graph) == ["x_1"]


def test_a_node_that_is_a_symbol(env):
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    z = graph.call_function(max, (x, y))
    n = size(env, 8)
    x.meta["val"], y.meta["val"], z.meta["val"] = n, n + 1, n
    assert shapes.is_symbol_binding_fx_node(x) == n.node.expr
    assert shapes.is_symbol_binding_fx_node(y) is None and shapes.is_symbol_binding_fx_node(z) is None
    assert proxy_tensor.is_sym_node(x) and not proxy_tensor.is_sym_node(graph.placeholder("w"))


# ---- questions


@pytest.mark.parametrize(
    ("function", "make", "value", "holds"),
    [
        (shapes.guard_bool, lambda n: n > 5, True, lambda n: n > 5),
        (shapes.guard_int, lambda n: n + 1, 9, lambda n: n == 8),
        (shapes.guard_float, lambda n: n / 2, 4.0, lambda n: n == 8),
        (shapes.guard_scalar, lambda n: n < 5, False, lambda n: n >= 5),
        (shapes.guard_scalar, lambda n: n - 8, 0, lambda n: n == 8),
        (shapes.guard_size_oblivious, lambda n: n > 5, True, lambda n: n > 5),
        (shapes.expect_true, lambda n: n > 5, True, lambda n: n > 5),
    ],
)
def test_a_question_returns_the_example_and_leaves_a_guard(env, function, make, value, holds):
    n = size(env, 8)
    symbol = n.node.expr
    answer = function(make(n))
    assert answer == value and type(answer) is type(value) and function(value) == value
    assert len(env.guards) == 1
    for number in range(2, 12):
        assert bool(env.guards[0].expr.evaluate({symbol: number})) == holds(number)


def test_plain_numbers_have_no_guards():
    assert (
        shapes.guard_scalar(2.5) == 2.5
        and shapes.guard_scalar(3) == 3
        and shapes.guard_scalar(False) is False
    )
    assert shapes.guard_size_oblivious(True) is True and shapes.expect_true(1 > 2) is False


def test_conditions_on_data(env):
    u = env.create_unbacked_symint()
    assert shapes.definitely_true(u > 3) is False and shapes.guard_or_false(u > 3) is False
    assert shapes.definitely_false(u > 3) is False and shapes.guard_or_true(u > 3) is True
    with pytest.raises(GuardOnDataDependentSymNode):
        bool(u > 3)
    n = size(env, 8)
    assert shapes.definitely_true(n > 3) and shapes.definitely_false(n < 3) and shapes.guard_or_true(n > 3)
    assert not shapes.guard_or_true(n < 3) and shapes.definitely_true(True) and shapes.definitely_false(False)
    assert shapes.expect_true(u > 5) is True
    assert [a.expr for group in env.deferred_runtime_asserts.values() for a in group] == [(u > 5).node.expr]


def test_conditions_without_a_guard(env):
    n, m = size(env, 8, "n"), size(env, 5, "m")
    both, either = shapes.sym_and(n > 3, m > 3), shapes.sym_or(n > 9, m > 9)
    assert isinstance(both, SymBool) and isinstance(either, SymBool) and env.guards == []
    assert bool(both) is True and bool(either) is False and len(env.guards) >= 2
    assert shapes.sym_and() is True and shapes.sym_or() is False
    assert shapes.sym_and(True, False, True) is False and shapes.sym_or(False, True) is True
    assert shapes.statically_known_true(n >= 2) and not shapes.statically_known_true(m > 100)
    assert shapes.parallel_or(n > 100, m >= 2) and not shapes.parallel_or(False, False)
    assert not shapes.parallel_and(n > 100, m < 2) and shapes.parallel_and(True, m > 3)


def test_equality_of_shapes(env):
    n = size(env, 8)
    assert shapes.sym_eq((1, [2, 3]), (1, [2, 3])) is True and shapes.sym_eq((1, 2), (1, 3)) is False
    assert shapes.sym_eq((1,), (1, 2)) is False and shapes.sym_eq([], []) is True
    assert isinstance(shapes.sym_eq((n, 3), (8, 3)), SymBool) and env.guards == []
    assert shapes.sym_eq((n, 3), (n, 4)) == False  # noqa: E712 - a symbolic bool may be the result
    with pytest.raises(AssertionError, match="unexpected sym_eq"):
        shapes.sym_eq(1, (1,))


# ---- facts


def test_ranges_are_narrowed(env):
    u = env.create_unbacked_symint()
    shapes.constrain_range(u, min=2, max=5)
    assert env.var_to_range[u.node.expr] == ranges.ValueRanges(2, 5)
    shapes.constrain_range(u, min=None, max=4)
    assert env.var_to_range[u.node.expr] == ranges.ValueRanges(2, 4)
    assert shapes.statically_known_true(u < 5) and not shapes.statically_known_true(u < 4)
    shapes.constrain_range(3, min=3, max=3)
    shapes.constrain_range(SymInt(node.SymNode(Integer(3), env, int)), min=0)
    for call in (lambda: shapes.constrain_range(3, min=4), lambda: shapes.constrain_range(3, min=0, max=2)):
        with pytest.raises(ValueError, match="Invalid value 3"):
            call()
    with pytest.raises(ValueError, match="can't be less than"):
        shapes.constrain_range(u, min=3, max=2)
    with pytest.raises(AssertionError, match="non-Symbols"):
        shapes.constrain_range(u + 1, min=0)


def test_sizes_become_equal(env):
    n, u = size(env, 8), env.create_unbacked_symint()
    shapes.constrain_unify(n, u)
    assert u.node.expr == n.node.expr and env.guards == []
    shapes.constrain_unify(3, 3)
    with pytest.raises(AssertionError, match="3 != 4"):
        shapes.constrain_unify(3, 4)
    v = env.create_unbacked_symint()
    shapes.constrain_unify(7, v)
    assert v.node.expr == 7


def test_a_comparison_has_its_constant_on_the_left():
    a, b = Symbol("a", True), Symbol("b", True)
    cases = {a > 3: ("<", 3, a), a <= b + 2: ("<=", -2, b - a), b >= a: ("<=", 0, b - a)}
    for condition, (op, lhs, rhs) in cases.items():
        result = shapes.canonicalize_bool_expr(condition)
        assert (result.rel_op, result.lhs, result.rhs) == (op, lhs, rhs)
        for i in range(6):
            for j in range(6):
                assert result.evaluate({a: i, b: j}) == condition.evaluate({a: i, b: j})
    assert shapes.canonicalize_bool_expr(a) is a


def test_values_of_the_same_sizes():
    shapes.check_consistent(tl.ones(2, 3), tl.zeros(2, 3))
    shapes.check_consistent(3, 3)
    for new, old in ((tl.ones(2, 3), tl.ones(3, 2)), (tl.ones(2), tl.ones(2, 1)), (3, 4), (0.5, 1.5)):
        with pytest.raises(AssertionError, match="old != new"):
            shapes.check_consistent(new, old)


def test_results_are_cached():
    calls = []
    function = shapes.lru_cache(2)(lambda x: calls.append(x) or -x)
    assert [function(x) for x in (1, 1, 2, 3, 1)] == [-1, -1, -2, -3, -1] and calls == [1, 2, 3, 1]


# ---- symbols of data in results


def test_keys_read_a_part_of_a_value():
    class Box:
        inner = "content"

        def item(self):
            return 5

    keys = [unbacked.ConvertIntKey(), unbacked.CallMethodKey("item"), unbacked.InnerTensorKey("inner")]
    assert [key.get(value) for key, value in zip(keys, (True, Box(), Box()), strict=True)] == [
        1,
        5,
        "content",
    ]
    assert unbacked.ConvertIntKey().get(False) == 0 and unbacked.DivideByKey(4).get(13) == 3
    texts = [".cast_symbool_to_symint_guardless()", ".item()", ".inner", ".__floordiv__(4)"]
    assert [str(key) for key in (*keys, unbacked.DivideByKey(4))] == texts
    assert unbacked.DivideByKey(4) == unbacked.DivideByKey(4) != unbacked.DivideByKey(5)


def test_bindings_are_paths_to_new_symbols(env):
    u, v, b = env.create_unbacked_symint(), env.create_unbacked_symint(), env.create_unbacked_symbool()
    symbols = [u.node.expr, v.node.expr, *b.node.expr.free_symbols]
    value = (3, {"a": u}, [v, b])
    bindings = unbacked.compute_unbacked_bindings(env, value, peek=True)
    assert {*bindings} == {*symbols} and env.pending_fresh_unbacked_symbols == symbols
    for symbol, number in ((symbols[0], u), (symbols[1], v)):
        part = value
        for key in bindings[symbol]:
            part = key.get(part)
        assert part is number
    assert unbacked.compute_unbacked_bindings(env, value).keys() == bindings.keys()
    assert env.pending_fresh_unbacked_symbols == []
    assert unbacked.compute_unbacked_bindings(env, value) is None
    assert unbacked.compute_unbacked_bindings(None, value) is None
    env.create_unbacked_symint()
    with pytest.raises(shapes.PendingUnbackedSymbolNotFound, match="u3"):
        unbacked.compute_unbacked_bindings(env, value)


def test_bindings_of_a_node(env):
    node_ = fx.Graph().placeholder("x")
    u = env.create_unbacked_symint()
    unbacked.note_unbacked_bindings(env, node_, [u])
    assert [*node_.meta["unbacked_bindings"]] == [u.node.expr] and env.pending_fresh_unbacked_symbols == []
    again = env.create_unbacked_symint()
    unbacked.rebind_unbacked(env, node_, [again])
    assert again.node.expr == u.node.expr and env.pending_fresh_unbacked_symbols == []
    path = node_.meta["unbacked_bindings"][u.node.expr]
    assert unbacked.resolve_unbacked_bindings(env, {Symbol("u1", False): path}) == {u.node.expr: path}
    assert unbacked.resolve_unbacked_bindings(None, {1: 2}) == {1: 2}
    assert unbacked.resolve_unbacked_bindings(env, None) is None


def test_nodes_that_read_a_part():
    graph = fx.Graph()
    x = graph.placeholder("x")
    methods = {
        name: graph.call_method(name, (x,)) for name in ("size", "stride", "storage_offset", "item", "relu")
    }
    assert {name for name, n in methods.items() if unbacked.is_accessor_node(n)} == {*methods} - {"relu"}
    assert unbacked.is_accessor_node(graph.call_function(operator.getitem, (x, 0)))
    assert unbacked.is_accessor_node(graph.call_function(tl.ops.aten.sym_size.int, (x, 0)))
    assert not unbacked.is_accessor_node(graph.call_function(operator.add, (x, 0)))
    assert not unbacked.is_accessor_node(x)


def test_a_second_run_has_the_same_symbols(env):
    graph = fx.Graph()
    x = graph.placeholder("x")
    item = graph.call_function(lambda value: env.create_unbacked_symint(), (x,))
    graph.output(item)
    u = env.create_unbacked_symint()
    unbacked.note_unbacked_bindings(env, item, u)
    module = fx.GraphModule(tl_nn.Module(), graph)
    module.shape_env = env
    result = shapes.PropagateUnbackedSymInts(module).run(3)
    assert result.node.expr == u.node.expr


# ---- parts of an environment


def test_constraints_say_what_they_claim():
    strict = dims.StrictMinMaxConstraint(False, ranges.ValueRanges(2, 7))
    assert strict.render(type("Source", (), {"name": "x.size()[0]"})) == "2 <= x.size()[0] <= 7"
    relaxed = dims.RelaxedUnspecConstraint(warn_only=True)
    assert (
        relaxed.render(type("Source", (), {"name": staticmethod(lambda: "n")}))
        == "RelaxedUnspecConstraint(n)"
    )
    assert isinstance(strict, dims.Constraint) and relaxed.warn_only and not strict.warn_only
    equal = dims.EqualityConstraint(False, [("a", "b"), ("c", "b")], [("d", "a", None)], [], set())
    assert equal.is_equal("a", "c") and equal.is_equal("x", "x") and not equal.is_equal("a", "d")
    assert equal.is_derived("d", "c", None) and not equal.is_derived("a", "c", None)


def test_contexts_have_a_word_for_each_dimension():
    words = [dims.DimDynamic.DYNAMIC, dims.DimDynamic.STATIC]
    context = dims.SubclassSymbolicContext(words, tensor_source="x", inner_contexts={"values": None})
    assert isinstance(context, dims.StatefulSymbolicContext) and isinstance(context, dims.SymbolicContext)
    assert context.dynamic_strides == [dims.DimDynamic.INFER_STRIDE] * 2
    assert context.constraint_sizes == [None, None] and context.specialize_on == [[], []]
    env = ShapeEnv()
    stateless = dims.StatelessSymbolicContext(words)
    sizes, strides, offset = env.create_symbolic_sizes_strides_storage_offset(
        tl.empty(4, 3), "x", symbolic_context=stateless
    )
    assert isinstance(sizes[0], SymInt) and sizes[1] == 3 and strides == (3, 1) and offset == 0
    _, strides, _ = env.create_symbolic_sizes_strides_storage_offset(
        tl.empty(5, 6), "y", symbolic_context=dims.StatelessSymbolicContext([dims.DimDynamic.DYNAMIC] * 2)
    )
    assert strides[0].node.expr.name == "s2" and strides[1] == 1


def test_settings_decide_how_symbols_are_made():
    assert symbol_maker.source_name("x") == "x"
    env = ShapeEnv(duck_shape=True)
    assert isinstance(env, symbol_maker.SymbolMaker) and isinstance(env, guards.GuardedSymbols)
    assert (
        isinstance(env, Facts) and isinstance(env.settings, symbol_maker.ShapeEnvSettings) and env.duck_shape
    )
    assert env.create_symbol(8, "a") == env.create_symbol(8, "b") != env.create_symbol(9, "c")
    assert env.create_symbol(1, "d") == 1 and env.create_symbol(0, "e") == 0
    plain = ShapeEnv(duck_shape=False, specialize_zero_one=False)
    assert plain.create_symbol(8, "a") != plain.create_symbol(8, "b")
    assert isinstance(plain.create_symbol(1, "c"), Symbol)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        print(env.nonsense)


def test_sizes_of_data_have_a_range(env):
    size_, few = env.new_dynamic_size(), env.new_dynamic_size(1, 6)
    assert env.var_to_range[size_.node.expr] == ranges.ValueRanges(0, ranges.int_oo)
    assert env.var_to_range[few.node.expr] == ranges.ValueRanges(1, 6)
    assert {size_.node.expr, few.node.expr} <= env.size_like


def test_guards_are_code_over_the_inputs(env):
    n, m = size(env, 8, "n"), size(env, 6, "m")
    assert n > 3 and m % 2 == 0
    assert [type(g) for g in env.guards] == [guards.ShapeGuard] * 2
    code = env.produce_guards_expression([n, m])
    holds = {(a, b): env.evaluate_guards_expression(code, [a, b]) for a in range(2, 8) for b in range(2, 8)}
    assert holds == {(a, b): a > 3 and b % 2 == 0 for a, b in holds}
    assert env.evaluate_guards_for_args([n, m], [5, 4]) and not env.evaluate_guards_for_args([n, m], [5, 5])
    assert env.bind_symbols([n, m], [5, 4]) == {n.node.expr: 5, m.node.expr: 4}
    assert [g.expr for g in env.get_pruned_guards([n])] == [(n > 3).node.expr]
    assert env.get_axioms([n.node.expr]) == ((n > 3).node.expr,) and len(env.get_axioms()) == 2
    assert guards.guard_text((n > 3).node.expr, {n.node.expr: "x.shape[0]"}) == "x.shape[0] > 3"
    assert env.format_guards().startswith(" - s0 > 3")
    assert guards.RuntimeAssert(None, "even", "here")._fields == ("expr", "msg", "stack")


@pytest.mark.parametrize(
    "condition",
    [
        lambda a, b: abs(a - b) > 2,
        lambda a, b: sym_max(a, b) - sym_min(a, 4) < 6,
        lambda a, b: round(a / 2) == 4,
        lambda a, b: math.trunc(b / 2) * 2 != b,
        lambda a, b: sym_float(a) * 1.5 < 13,
    ],
)
def test_the_code_of_guards_calls_functions_of_numbers(env, condition):
    a, b = size(env, 8, "a"), size(env, 5, "b")
    assert env.evaluate_guards_for_args([a, b], [3, 4]) is True  # without a guard
    assert condition(a, b)
    for x, y in itertools.product(range(2, 10), range(2, 10)):
        assert env.evaluate_guards_for_args([a, b], [x, y]) == bool(condition(x, y))


@pytest.mark.parametrize("modulus", [2, 3, 4])
@pytest.mark.parametrize("rest", [0, 1, 2])
@pytest.mark.parametrize("op", ["==", "!="])
@pytest.mark.parametrize("factor", [1, 2, 6])
def test_a_condition_on_a_remainder_keeps_its_meaning(modulus, rest, op, factor):
    n = Symbol("n", True)
    condition = relation(op, canonical_forms.call("Mod", n * factor + 0, Integer(modulus)), Integer(rest))
    result = guards.as_multiple(condition)
    for number in range(30):
        assert bool(result.evaluate({n: number})) == bool(condition.evaluate({n: number}))
    assert guards.as_multiple(n) is n


def test_nodes_of_numbers(env):
    n = size(env, 8)
    constant = node.to_node(n.node, 3)
    assert node.wrap_node(constant) == 3 and node.wrap_node("text") == "text"
    assert node.to_node(n.node, n) is n.node and node.to_node(n.node, "text") is NotImplemented
    assert isinstance(node.wrap_node(n.node), SymInt) and isinstance((n > 3).node, node.SymNode)
    kinds = {node.wrap_node(x.node).__class__ for x in (n, n / 2, n > 3)}
    assert kinds == {SymInt, SymFloat, SymBool}
    assert {node.method_to_operator(name)(7, 2) for name in ("add", "mod")} == {9, 1}
    with pytest.raises(TypeError):
        n + "text"


@pytest.mark.parametrize("value", [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.0])
def test_rounding_of_symbolic_floats(env, value):
    x = env.create_symfloatnode(env.create_symbol(value, f"x{value}", positive=None), hint=value)
    assert shapes.guard_int(x.__floor__()) == math.floor(value) and shapes.guard_int(
        x.__ceil__()
    ) == math.ceil(value)
    assert shapes.guard_int(x.__trunc__()) == math.trunc(value) and shapes.guard_int(round(x)) == round(value)
    assert bool(x.is_integer()) == value.is_integer() and shapes.guard_float(-x) == -value
    assert shapes.guard_float(abs(x)) == abs(value)
    assert shapes.guard_float(abs(x) ** 2.0) == abs(value) ** 2 and shapes.guard_float(2.0**x) == 2.0**value


def test_infinities_of_integers():
    infinity = ranges.int_oo
    assert isinstance(infinity, ranges.IntInfinity) and isinstance(-infinity, ranges.NegativeIntInfinity)
    least = -infinity
    assert -least == infinity and -infinity < -(10**30) < 10**30 < infinity
    assert (
        pickle.loads(pickle.dumps(infinity)) == infinity
        and pickle.loads(pickle.dumps(-infinity)) == -infinity
    )
    full = ranges.ValueRanges.unknown_int()
    assert (
        10**40 in full
        and ranges.ValueRanges(2, 3).issubset(full)
        and not full.issubset(ranges.ValueRanges(2, 3))
    )
    joined = ranges.ValueRanges(2, 5) | ranges.ValueRanges(7, 9)
    assert (joined.lower, joined.upper) == (2, 9)
    common = ranges.ValueRanges(2, 5) & ranges.ValueRanges(4, 9)
    assert (common.lower, common.upper) == (4, 5)
    assert ranges.ValueRanges(3, 3).is_singleton() and not common.is_singleton()
    assert 5 in common and 6 not in common and 3 not in common


def test_expressions_of_numbers():
    a, b = Symbol("a", True), Symbol("b", True)
    assert expression.sympify(3) == Integer(3) and expression.sympify(a) is a
    assert isinstance(expression.sympify(True), expression.Boolean) and isinstance(
        expression.sympify(0.5), expression.Float
    )
    assert isinstance(a * b, expression.Product) and isinstance(a > b, expression.Relation)
    assert isinstance(canonical_forms.logic("and", a > 1, b > 1), expression.Logic) and isinstance(
        a // 2, expression.Call
    )
    assert isinstance(a + b, expression.Expr)
    for x in range(1, 9):
        for y in range(1, 5):
            assert canonical_forms.floor_div(a * b + x, b).evaluate({a: x, b: y}) == (x * y + x) // y
    with pytest.raises(ZeroDivisionError):
        canonical_forms.floor_div(a, Integer(0))
    assert canonical_forms.floor_div(Integer(-7), Integer(2)) == -4
    assert canonical_forms.is_nonnegative(a * b + 3) and not canonical_forms.is_nonnegative(a - b)
    assert canonical_forms.is_nonnegative(Integer(0)) and not canonical_forms.is_nonnegative(Integer(-1))
    assert not canonical_forms.is_nonnegative(Symbol("u", False))
    assert sorted([b, a], key=expression.order_key) == [a, b]


def test_a_system_of_constraints():
    n, m, k = (Symbol(name, True) for name in "nmk")
    system = shapes.DimConstraints({n: ["x"], m: ["y"]}, {n: 8, m: 6, k: 9}, {n, m}, {"x": "rows"})
    assert system.add(relation("<=", n, n + 1)) is True
    assert system.add(n > 3) is False and system.add(relation("==", m, Integer(6))) is False
    assert system.forced_specializations() == {"y": 6}
    system.add_equality("z", Integer(4))
    system.solve()
    assert system._static_results == {"y == 6", "z == 4"} and "rows > 3" in system._dynamic_results
    rewritten = system.rewrite_with_congruences(k, k // 4)
    assert rewritten.evaluate({k: 9}) == 2 and (rewritten * 4 + 1).evaluate({k: 21}) == 21
    assert isinstance(system, dim_constraints.DimConstraints)


def test_the_line_of_the_program():
    line = user_lines.user_line()
    assert line.startswith(f"{__file__}:") and line.endswith("line = user_lines.user_line()")
    assert "test_the_line_of_the_program" in line and user_lines.user_line(0) == ""
    assert user_lines.asked_by_program() is True
    assert user_lines.user_stack("pytest_pyfunc_call")[-1][2] == "test_the_line_of_the_program"


def test_errors_of_users():
    error = UserError(UserErrorType.INVALID_INPUT, "a message", "case")
    assert (error.error_type, error.msg, error.case_name) == (
        UserErrorType.INVALID_INPUT,
        "a message",
        "case",
    )
    assert str(error) == "a message" and UserErrorType.INVALID_INPUT.name == "INVALID_INPUT"
    condition = Symbol("u0", False) > 3
    assert GuardOnDataDependentSymNode(condition).cond is condition
    assert "u0 > 3" in str(GuardOnDataDependentSymNode(condition))


# ---- recording


def test_regions_of_recording():
    x = tl.ones(2)

    def program(x):
        assert proxy_tensor.get_proxy_mode() is proxy_tensor.get_innermost_proxy_mode() is not None
        with proxy_tensor.disable_proxy_modes_tracing():
            constant = tl.ones(2) + 1
        with proxy_tensor.maybe_enable_thunkify(), proxy_tensor.maybe_disable_thunkify():
            return x * constant

    graph = make_fx(program)(x)
    assert tl.equal(graph(x * 3), x * 6)
    operators = [n.target for n in graph.graph.nodes if n.op == "call_function"]
    assert operators == [tl.ops.aten.mul.Tensor]
    with pytest.raises(AssertionError, match="nothing records"):
        proxy_tensor.handle_sym_dispatch(max, (1, 2), {})


def test_the_graph_of_a_call_with_containers():
    module = proxy_tensor.get_isolated_graphmodule(
        lambda pair, *, scale: pair[0] * scale + pair[1],
        ((tl.ones(2), tl.zeros(2)),),
        {"scale": tl.tensor(3.0)},
    )
    assert tl.equal(module(tl.ones(2), tl.ones(2), tl.tensor(5.0)), tl.tensor([6.0, 6.0]))
    fake = proxy_tensor.snapshot_fake(tl.ones(2, requires_grad=True))
    assert tl.equal(fake, tl.ones(2)) and not fake.requires_grad and proxy_tensor.snapshot_fake(3) == 3


def test_a_choice_between_two_values():
    a, b = Symbol("a", True), Symbol("b", True)
    assert canonical_forms.call("Piecewise", a, expression.true, b) == a
    assert canonical_forms.call("Piecewise", a, expression.false, b) == b
    choice = canonical_forms.call("Piecewise", a * 2, a > b, b + 1)
    for x in range(1, 5):
        for y in range(1, 5):
            assert choice.evaluate({a: x, b: y}) == (x * 2 if x > y else y + 1)
    assert parse(stored_text(choice)) == choice
    assert parse("Integer(-3)") == -3 and parse("Float(-0.5)") == -0.5
