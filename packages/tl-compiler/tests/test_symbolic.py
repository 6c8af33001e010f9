"""Expressions of integers: canonical form, text, ranges; symbolic numbers and their guards."""

import itertools
import math

import pytest

from tl_compiler.symbolic.canonical_forms import call, expand, logic, negate, relation
from tl_compiler.symbolic.dims import DimDynamic
from tl_compiler.symbolic.errors import GuardOnDataDependentSymNode
from tl_compiler.symbolic.expression import Integer, Symbol
from tl_compiler.symbolic.parsing import parse
from tl_compiler.symbolic.printing import source_text, stored_text, text
from tl_compiler.symbolic.ranges import ValueRanges, bounds, int_oo
from tl_compiler.symbolic.shape_env import ShapeEnv
from tl_core.symbolic.arithmetic import sym_float, sym_int, sym_ite, sym_max, sym_min, sym_not, sym_sum
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

A, B = Symbol("s0", True), Symbol("s1", True)
EXPRESSIONS = [
    (A * 2, "2*s0"),
    (A + B, "s0 + s1"),
    (A - 1, "s0 - 1"),
    (B - 2 * A, "-2*s0 + s1"),
    (A // 2, "(s0//2)"),
    ((A + 1) // 2, "((s0 + 1)//2)"),
    ((A - 1) // 2 + 1, "(((s0 - 1)//2)) + 1"),
    (-(A // 2), "-((s0//2))"),
    (A % 3, "Mod(s0, 3)"),
    (A * B, "s0*s1"),
    (A * (B // 2), "((s1//2))*s0"),
    ((2 * A + 1) * (B - 4), "(2*s0 + 1)*(s1 - 4)"),
    (A**2, "s0**2"),
    (A * (B + 1), "s0*(s1 + 1)"),
    ((A + B) * (A + B), "(s0 + s1)**2"),
    (2 * (A + B), "2*s0 + 2*s1"),
    ((A + B) * 3 - 3 * B, "3*s0"),
    (A * 6 // 4, "((3*s0)//2)"),
    ((2 * A) % 2, "0"),
    (A * B // A, "s1"),
    (A - A, "0"),
    (call("Max", A, B), "Max(s0, s1)"),
    (call("Min", A, Integer(3)), "Min(3, s0)"),
    (call("Max", A, Integer(1)), "s0"),
    (call("IntTrueDiv", A, Integer(2)), "IntTrueDiv(s0, 2)"),
    (relation("==", A, Integer(5)), "Eq(s0, 5)"),
    (B + 1 <= A, "s1 + 1 <= s0"),
    (negate(A < B), "s0 >= s1"),
    (logic("and", A > 2, A < B), "(s0 > 2) & (s0 < s1)"),
    (A**2 + A * B + A + 3, "s0**2 + s0*s1 + s0 + 3"),
]


@pytest.mark.parametrize(("expression", "expected"), EXPRESSIONS, ids=[t for _, t in EXPRESSIONS])
def test_text_and_value(expression, expected):
    assert text(expression) == expected
    assert parse(stored_text(expression)) == expression
    for a, b in itertools.product((2, 3, 8), (2, 5, 9)):
        value = expression.evaluate({A: a, B: b})
        assert eval(source_text(expression), {"s0": a, "s1": b, "math": math}) == value
        low, high = bounds(expression, {A: ValueRanges(2, 8), B: ValueRanges(2, 9)})
        assert low <= value <= high


def test_expand_multiplies_out():
    assert expand((A + B) * (A - B)) == A**2 - B**2


@pytest.mark.parametrize(
    "source",
    [
        "__import__('os')",
        "Symbol(1)",
        "Integer('x'",
        "lambda: 0",
        "Pow(Symbol('a'), Integer(99999999))",
        "(" * 500,
        "f()",
    ],
)
def test_texts_that_are_no_expressions_are_refused(source):
    with pytest.raises(ValueError, match=r"."):
        parse(source)


def symbols(*hints):
    env = ShapeEnv()
    return env, [
        env.create_symintnode(env.create_symbol(h, f"x{i}", DimDynamic.DYNAMIC), hint=h)
        for i, h in enumerate(hints)
    ]


def test_numbers_compute_expressions():
    _, (a, b) = symbols(5, 7)
    assert [str(n) for n in (a + b, 2 * a, a // 2, a % 3, -a, a**2, abs(-a), a * b - 1)] == [
        *("s0 + s1", "2*s0", "(s0//2)", "Mod(s0, 3)", "-s0", "s0**2", "s0", "s0*s1 - 1"),
    ]
    assert isinstance(a + 1, SymInt)
    assert isinstance(a / 2, SymFloat)
    assert isinstance(a * 1.5, SymFloat)
    assert isinstance(a < b, SymBool)
    assert str(sym_sum([a, b, 1])) == "s0 + s1 + 1"
    assert str(sym_max(a, b)) == "Max(s0, s1)"
    assert str(sym_min(a, 3)) == "Min(3, s0)"
    assert str(sym_not(a < b)) == "s0 >= s1"
    assert str(sym_int(sym_float(a))) == "s0"
    assert str(sym_ite(a < b, a, b)) == "Piecewise((s0, s0 < s1), (s1, True))"


def test_a_question_is_a_guard_once():
    env, (a, b) = symbols(5, 7)
    assert a + b == 12
    assert [str(g.expr) for g in env.guards] == ["Eq(s0 + s1, 12)"]
    assert a == 12 - b
    assert len(env.guards) == 1


def test_bounds_answer_what_follows():
    env, (a,) = symbols(8)
    assert a <= 10
    assert a >= 4
    assert env.var_to_range[a.node.expr] == ValueRanges(4, 10)
    assert a < 11
    assert not a > 10
    assert len(env.guards) == 2


def test_equality_replaces_a_symbol():
    env, (a, b) = symbols(4, 5)
    assert b == a + 1
    assert str(b) == "s0 + 1"
    assert int(a) == 4
    assert str(b) == "5"
    assert [str(g.expr) for g in env.guards] == ["Eq(s1, s0 + 1)", "Eq(s0, 4)"]


def test_sizes_are_neither_zero_nor_one():
    env = ShapeEnv()
    assert env.create_symbol(1, "x", DimDynamic.DYNAMIC) == 1
    (a,) = (env.create_symintnode(env.create_symbol(3, "y", DimDynamic.DYNAMIC), hint=3),)
    assert a != 1
    assert env.guards == []


def test_what_data_decide_is_no_guard():
    env = ShapeEnv()
    u = env.create_unbacked_symint()
    with pytest.raises(GuardOnDataDependentSymNode, match=r"u0 > 3(.|\n)*torch\.cond"):
        bool(u > 3)
    env.constrain_symbol_range(u.node.expr, 4, int_oo)
    assert u > 3
