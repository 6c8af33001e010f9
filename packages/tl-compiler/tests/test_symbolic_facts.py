"""Facts about symbols beside all values that satisfy them."""

import itertools
import operator
import random

import pytest

from tl_compiler.symbolic.canonical_forms import call, logic, negate, relation
from tl_compiler.symbolic.expression import Call, Integer, Symbol
from tl_compiler.symbolic.facts import Facts, canonical
from tl_compiler.symbolic.ranges import ValueRanges, bounds, int_oo

A, B, C = Symbol("s0", True), Symbol("s1", True), Symbol("s2", True)
SYMBOLS, LOW, HIGH = (A, B, C), 2, 8
POINTS = [dict(zip(SYMBOLS, p, strict=True)) for p in itertools.product(range(LOW, HIGH + 1), repeat=3)]
RELATIONS = ("==", "!=", "<", "<=", ">", ">=")


def facts_of(hints):
    facts = Facts()
    for symbol, hint in hints.items():
        facts.var_to_val[symbol] = hint
        facts.var_to_range[symbol] = ValueRanges(LOW, HIGH)
    return facts


def term(rng):
    symbol, number = rng.choice(SYMBOLS), rng.choice((2, 3, 4))
    return rng.choice(
        [symbol, symbol, symbol * number, symbol // number, symbol % number, rng.choice(SYMBOLS) * symbol,
         call("Max", symbol, rng.choice((*SYMBOLS, Integer(5)))), call("Min", symbol, Integer(rng.randrange(3, 9))),
         call("Abs", symbol - number)]
    )  # fmt: skip


def expression(rng):
    result = term(rng) + rng.randrange(-4, 5)
    return result + term(rng) * rng.choice((-2, -1, 1)) if rng.random() < 0.6 else result


def condition(rng, point):
    """A random condition that holds at a point."""
    result = relation(rng.choice(RELATIONS), expression(rng), Integer(rng.randrange(0, 14)))
    if rng.random() < 0.4:
        result = relation(
            rng.choice(RELATIONS), rng.choice(SYMBOLS), rng.choice((*SYMBOLS, 2 * A, B + 1, C - 2))
        )
    return result if result.evaluate(point) else negate(result)


@pytest.mark.parametrize("seed", range(20))
def test_answers_hold_for_all_values_that_satisfy_the_facts(seed):
    rng = random.Random(seed)
    hints = rng.choice(POINTS)
    facts, allowed = facts_of(hints), POINTS
    for _ in range(3):
        premise = condition(rng, hints)
        facts.learn(premise)
        allowed = [p for p in allowed if premise.evaluate(p)]
        ranges = {symbol: facts.bound_sympy(symbol) for symbol in SYMBOLS}
        inside = [p for p in allowed if all(p[symbol] in ranges[symbol] for symbol in SYMBOLS)]
        if not premise.has(Call):  # a range may be one of several in which a function's condition holds
            assert inside == allowed, premise
        allowed = inside
        assert facts._statically(facts.simplify(premise)) in (True, None)
        for _ in range(12):
            e = expression(rng)
            simple = facts.simplify(e)
            low, high = bounds(simple, facts.var_to_range)
            values = [e.evaluate(p) for p in allowed]
            assert [simple.evaluate(p) for p in allowed] == values, (premise, e)
            assert low <= min(values) and max(values) <= high, (premise, e)
            assert facts.size_hint(e) == e.evaluate(hints) and facts.has_hint(e)
            question = condition(rng, rng.choice(POINTS))
            answer = facts._statically(facts.simplify(question))
            assert answer is None or all(bool(question.evaluate(p)) == bool(answer) for p in allowed), (
                question
            )


@pytest.mark.parametrize("op", RELATIONS)
@pytest.mark.parametrize("number", range(LOW, HIGH + 1))
@pytest.mark.parametrize("factor", [1, -1, 2, -3])
def test_a_bound_of_one_symbol_narrows_its_range(op, number, factor):
    premise = relation(op, factor * A, Integer(factor * number))
    allowed = [v for v in range(LOW, HIGH + 1) if premise.evaluate({A: v})]
    if not allowed:
        return
    facts = facts_of({A: allowed[0]})
    facts.learn(premise)
    interval = facts.bound_sympy(A)
    assert (interval.lower, interval.upper) == (min(allowed), max(allowed))
    assert facts._statically(facts.simplify(premise)) is True
    if len(allowed) == 1:
        assert facts.replace(A + 1) == allowed[0] + 1
    before = facts.version
    facts.learn(premise)
    assert facts.version == before + 1 and facts.bound_sympy(A) == interval


@pytest.mark.parametrize("offset", range(-3, 4))
def test_a_known_comparison_answers_weaker_ones(offset):
    facts = Facts()
    facts.learn(A + offset <= B)
    for shift in range(-3, 4):
        assert facts._statically(A + offset + shift <= B) is (True if shift <= 0 else None)
        assert facts._statically(A + offset + shift > B) is (False if shift <= 0 else None)
        assert facts._statically(A + offset + shift > B) is (False if shift <= 0 else None)
    facts.learn(negate(relation("==", A * B, C + offset)))
    assert facts._statically(relation("==", C + offset, A * B)) is False
    assert facts._statically(relation("!=", A * B, C + offset)) is True
    assert facts._statically(relation("==", A * B, C + offset + 1)) is None
    facts.learn(relation("==", A * C, B * B + offset))
    assert facts._statically(relation("!=", A * C, B * B + offset)) is False
    assert (
        facts._statically(B * B + offset <= A * C) is True
        and facts._statically(B * B + offset > A * C) is False
    )


def test_answers_of_joined_conditions():
    facts = facts_of({A: 5, B: 5, C: 5})
    true, false, open_ = A >= LOW, A > HIGH, A > 5
    assert [facts._statically(e) for e in (true, false, open_)] == [True, False, None]
    parts = {
        "t": (relation(">", A * B, C - C * 1 - 50), True),
        "f": (B * C > 200, False),
        "o": (A * B > 30, None),
    }
    for (x, p), (y, q) in itertools.product(parts.values(), parts.values()):
        both, either = logic("and", x, y), logic("or", x, y)
        assert facts._statically(both) is (False if False in (p, q) else None if None in (p, q) else True)
        assert facts._statically(either) is (True if True in (p, q) else None if None in (p, q) else False)


@pytest.mark.parametrize(
    ("known", "symbol", "value"),
    [
        (relation("==", B, A + 1), B, A + 1),
        (relation("==", A + 1, B), B, A + 1),
        (relation("==", 2 * A, Integer(8)), A, 4),
        (relation("==", C - A - B, Integer(3)), C, A + B + 3),
        (relation("==", 2 * A, B - 3), B, 2 * A + 3),
        (relation("==", A, Integer(7)), A, 7),
    ],
    ids=str,
)
def test_an_equality_replaces_the_newest_symbol(known, symbol, value):
    facts = Facts()
    facts.var_to_val = {A: 4, B: 5, C: 12}
    facts.learn(known)
    assert facts.replacements == {symbol: value}
    assert facts.replace(symbol * 2 + A) == facts.replace(value * 2 + A)


@pytest.mark.parametrize("divisor", [2, 3, 8])
def test_a_divisible_size_has_no_remainder(divisor):
    facts = facts_of({A: 8 if divisor != 3 else 6})
    assert facts.simplify(A % divisor + 1) == A % divisor + 1
    facts.learn(relation("==", A % divisor, Integer(0)))
    assert facts.simplify(A % divisor + 1) == 1 and facts._statically(facts.simplify(A % divisor)) == 0
    assert facts.simplify(B % divisor) == B % divisor


def test_shorter_forms_by_ranges():
    facts = Facts()
    facts.var_to_range = {A: ValueRanges(2, 5), B: ValueRanges(6, 9), C: ValueRanges(0, int_oo)}
    assert facts.simplify(A % 6) == A and facts.simplify(A % 5) == A % 5 and facts.simplify(A % B) == A
    assert (
        facts.simplify(A // 6) == 0
        and facts.simplify(A // 5) == A // 5
        and facts.simplify(B // 4 - 1) == B // 4 - 1
    )
    assert facts.simplify(B // 10 + A) == A and facts.simplify((B + 6) // 4) == 3
    assert facts.simplify(call("Max", A, B)) == B and facts.simplify(call("Min", A, B)) == A
    assert facts.simplify(call("Max", B, A) * call("Min", B, A)) == A * B
    assert facts.simplify(call("Max", A, Integer(5))) == 5 and facts.simplify(call("Min", A, Integer(5))) == A
    assert facts.simplify(call("Max", A, Integer(4))) == call("Max", A, Integer(4))
    assert facts.simplify(call("Abs", A - 1)) == A - 1 and facts.simplify(call("Abs", A - 3)) == call(
        "Abs", A - 3
    )
    facts.size_like = {C}
    assert facts.bound_sympy(C) == ValueRanges(0, int_oo) and facts.bound_sympy(C + A) == ValueRanges(
        2, int_oo
    )
    assert facts.bound_sympy(C, size_oblivious=True) == ValueRanges(2, int_oo)
    assert facts._statically(relation("==", C, Integer(1)), True) is False
    assert facts._statically(relation("==", C, Integer(1))) is None


def test_a_range_that_is_set_meets_the_other():
    facts = Facts()
    facts.constrain_symbol_range(A, 3, int_oo)
    facts.constrain_symbol_range(A, -int_oo, 9)
    assert facts.bound_sympy(A) == ValueRanges(3, 9) and facts.version == 2 and facts.replacements == {}
    facts.constrain_symbol_range(A, 9, 20)
    assert facts.replace(A) == 9 and facts.is_unbacked_symint(A)
    with pytest.raises(ValueError, match="Invalid ranges"):
        facts.constrain_symbol_range(B, 3, 2)


@pytest.mark.parametrize("op", RELATIONS)
def test_a_canonical_comparison_means_the_same(op):
    for left, right in itertools.product(
        (A, B - 2, 2 * A + 1, A * B, Integer(3) - B), (B, C + 1, Integer(4))
    ):
        comparison = relation(op, left, right)
        if not comparison.free_symbols:
            continue
        sign, difference = canonical(comparison)
        compare = {"==": operator.eq, "!=": operator.ne, "<=": operator.le}[sign]
        for point in POINTS[::37]:
            assert compare(difference.evaluate(point), 0) == comparison.evaluate(point)
    assert canonical(A) is None and canonical(relation("<", call("IntTrueDiv", A, B), C)) is None
    assert canonical(relation("==", A, B)) == canonical(relation("==", B, A))
