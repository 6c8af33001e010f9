"""Random expressions of integers beside the same operations on Python's numbers, and exact ranges of operations."""

import itertools
import math
import operator
import random

import pytest

from tl_compiler.symbolic.canonical_forms import call, expand, logic, negate, relation
from tl_compiler.symbolic.expression import Boolean, Call, Float, Integer, Symbol, sympify
from tl_compiler.symbolic.parsing import parse
from tl_compiler.symbolic.printing import source_text, stored_text
from tl_compiler.symbolic.ranges import ValueRanges, bounds, int_oo

A, B, U = Symbol("s0", True), Symbol("s1", True), Symbol("u0")
DOMAIN = {A: (1, 2, 5, 12), B: (1, 3, 4, 9), U: (-7, -1, 0, 2, 6)}
POINTS = [dict(zip(DOMAIN, values, strict=True)) for values in itertools.product(*DOMAIN.values())]
RANGES = {symbol: ValueRanges(values[0], values[-1]) for symbol, values in DOMAIN.items()}
NUMBERS = (-6, -3, -2, -1, 0, 1, 2, 3, 4, 6)
RELATIONS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Pair:
    """An expression, and its values at the points by Python's arithmetic."""

    def __init__(self, expression, values):
        self.expression, self.values = sympify(expression), tuple(values)

    def join(self, function, symbolic, *others):
        columns = zip(self.values, *(o.values for o in others), strict=True)
        expressions = [self.expression, *(o.expression for o in others)]
        return Pair(symbolic(*expressions), [function(*column) for column in columns])


def leaf(rng):
    symbol = rng.choice([A, B, U, None])
    number = rng.choice(NUMBERS)
    return (
        Pair(number, [number] * len(POINTS)) if symbol is None else Pair(symbol, [p[symbol] for p in POINTS])
    )


BINARY = {
    "+": (operator.add, operator.add),
    "-": (operator.sub, operator.sub),
    "*": (operator.mul, operator.mul),
    "Max": (max, lambda a, b: call("Max", a, b)),
    "Min": (min, lambda a, b: call("Min", a, b)),
}


def integer(rng, depth):
    """A random expression of integers."""
    if depth == 0:
        return leaf(rng)
    kind = rng.choice([*BINARY, *BINARY, "//", "%", "//", "%", "**", "neg", "Abs", "Piecewise"])
    first = integer(rng, depth - 1)
    if kind in BINARY:
        return first.join(*BINARY[kind], integer(rng, depth - 1))
    if kind in ("//", "%"):
        function = operator.floordiv if kind == "//" else operator.mod
        divisor = integer(rng, depth - 1)
        if 0 in divisor.values:
            number = rng.choice([n for n in NUMBERS if n])
            divisor = Pair(number, [number] * len(POINTS))
        return first.join(function, function, divisor)
    if kind == "**":
        exponent = rng.choice((0, 1, 2, 3))
        return first.join(lambda a: a**exponent, lambda a: a**exponent)
    if kind == "Piecewise":
        choice = condition(rng, depth - 1)
        return first.join(
            lambda a, c, b: a if c else b,
            lambda a, c, b: call("Piecewise", a, c, b),
            choice,
            integer(rng, depth - 1),
        )
    symbolic = operator.neg if kind == "neg" else lambda a: call("Abs", a)
    return first.join(operator.neg if kind == "neg" else abs, symbolic)


def condition(rng, depth):
    """A random comparison, or several joined."""
    op = rng.choice(list(RELATIONS))
    first = integer(rng, depth).join(RELATIONS[op], lambda a, b: relation(op, a, b), integer(rng, depth))
    if depth == 0 or rng.random() < 0.5:
        return first
    kind = rng.choice(["and", "or", "not"])
    if kind == "not":
        return first.join(operator.not_, negate)
    other = condition(rng, depth - 1)
    function = (lambda a, b: a and b) if kind == "and" else (lambda a, b: a or b)
    return first.join(function, lambda a, b: logic(kind, a, b), other)


def agrees(pair):
    """Asserts the values, the ranges, the texts, and replaced symbols of an expression."""
    expression = pair.expression
    assert [expression.evaluate(p) for p in POINTS] == list(pair.values), expression
    code = compile(source_text(expression), "expression", "eval")
    names = [{"math": math, **{s.name: v for s, v in p.items()}} for p in POINTS]
    assert [eval(code, n) for n in names] == list(pair.values), expression
    assert parse(stored_text(expression)) == expression
    low, high = bounds(expression, RANGES)
    assert low <= min(pair.values) and max(pair.values) <= high, expression
    for point, value in list(zip(POINTS, pair.values, strict=True))[::7]:
        assert expression.xreplace(point) == value
        partly = expression.xreplace({A: point[A]}).xreplace({B: point[B], U: point[U]})
        assert partly == value
        renamed = expression.xreplace({A: B, B: A}).evaluate({A: point[B], B: point[A], U: point[U]})
        assert renamed == value


@pytest.mark.parametrize("seed", range(40))
def test_random_integers(seed):
    rng = random.Random(seed)
    for _ in range(5):
        pair = integer(rng, rng.choice((1, 2, 2, 3)))
        agrees(pair)
        assert pair.expression.is_integer
        expanded = expand(pair.expression)
        assert [expanded.evaluate(p) for p in POINTS] == list(pair.values)


@pytest.mark.parametrize("seed", range(25))
def test_random_conditions(seed):
    rng = random.Random(1000 + seed)
    for _ in range(5):
        pair = condition(rng, rng.choice((1, 2)))
        agrees(pair)
        agrees(pair.join(operator.not_, negate))


@pytest.mark.parametrize("seed", range(25))
def test_laws_of_integers(seed):
    rng = random.Random(2000 + seed)
    a, b, c = (integer(rng, rng.choice((0, 1, 2))).expression for _ in range(3))
    n, m = rng.choice((2, 3, 4, 6)), rng.choice((2, 3, 5))
    assert (a + b) + c == c + (b + a) and a - a == 0 and (a + b) - b == a
    assert a * b == b * a and (a * n) * m == a * (n * m) and n * (a + b) == n * a + n * b
    assert (a * n) // n == a and (a * n) % n == 0
    sums = (a + n * b) // n, a // n + b, (a + n * b) % n, a % n
    assert all(x.evaluate(p) == y.evaluate(p) for x, y in (sums[:2], sums[2:]) for p in POINTS)
    assert call("Max", a, b) == call("Max", b, a) and call("Min", a, a) == a
    assert call("Max", a, call("Max", b, c)) == call("Max", call("Max", c, a), b)
    assert relation("<=", a, a) == True and relation("!=", a, a) == False  # noqa: E712 - an expression
    assert negate(negate(relation("<", a, b))) == relation("<", a, b)
    assert expand((a + b) * (a - b)) == expand(a * a - b * b)
    both = relation("<", a, b), relation("<", b, c)
    assert logic("and", *both).evaluate(POINTS[0]) == (not negate(logic("and", *both)).evaluate(POINTS[0]))


@pytest.mark.parametrize(
    "expression",
    [
        relation("==", A < B, B < U),
        relation("!=", logic("or", A < B, U > 0), A > B),
        call("Piecewise", A, U > 0, B) * 2 + 1,
        call("Piecewise", call("Piecewise", A, U > 0, B), A < B, U) ** 2,
        call("PowByNatural", Integer(-2), A),
        call("FloatPow", A, Integer(-2)),
        call("IntTrueDiv", A - 1, Integer(-4)),
        call("BitwiseFn_bitwise_and", A + 1, B) + call("BitwiseFn_bitwise_xor", A, B * 2),
    ],
    ids=str,
)
def test_code_has_the_parentheses_of_python(expression):
    for point in POINTS:
        names = {"math": math, **{s.name: v for s, v in point.items()}}
        assert eval(source_text(expression), names) == expression.evaluate(point)


def test_logic_absorbs_its_constants():
    first, second = A > 3, B > 3
    true, false = Boolean(True), Boolean(False)
    assert logic("and", first, true) == first and logic("and", first, false) == false
    assert logic("or", first, false) == first and logic("or", first, true) == true
    assert logic("and") == true and logic("or") == false
    assert logic("and", first, negate(first)) == false and logic("or", first, negate(first)) == true
    assert logic("and", first, first) == first
    assert logic("and", first, logic("and", second, first)) == logic("and", first, second)


@pytest.mark.parametrize("divisor", [Integer(0), A - A])
def test_zero_divides_nothing(divisor):
    for function in (operator.floordiv, operator.mod):
        with pytest.raises(ZeroDivisionError):
            function(A, divisor)


@pytest.mark.parametrize("name", ["TruncToInt", "FloorToInt", "CeilToInt", "RoundToInt"])
def test_rounded_quotients(name):
    functions = {
        "TruncToInt": math.trunc,
        "FloorToInt": math.floor,
        "CeilToInt": math.ceil,
        "RoundToInt": round,
    }
    quotient = call("IntTrueDiv", U, Integer(4))
    rounded = call(name, quotient)
    assert rounded.is_integer and not quotient.is_integer
    for value in range(-9, 10):
        assert rounded.evaluate({U: value}) == functions[name](value / 4)
        assert rounded.xreplace({U: value}) == functions[name](value / 4)
    assert bounds(rounded, {U: ValueRanges(-9, 7)}) == (functions[name](-9 / 4), functions[name](7 / 4))
    assert call(name, U) == U and call(name, Float(-2.5)) == functions[name](-2.5)


# ---- ranges that are exact -------------------------------------------------------------------------------------------

X, Y = Symbol("x"), Symbol("y")
INTERVALS = [(-5, -2), (-3, 0), (-2, 4), (0, 0), (0, 3), (1, 1), (1, 6), (4, 9)]
OPERATIONS = {
    "sum": (X + Y, operator.add), "difference": (X - Y, operator.sub), "product": (X * Y, operator.mul),
    "combination": (3 * X - 2 * Y + 5, lambda x, y: 3 * x - 2 * y + 5),
    "maximum": (call("Max", X, Y), max), "minimum": (call("Min", X, Y), min),
    "absolute": (call("Abs", X), lambda x, y: abs(x)),
    **{f"relation {op}": (relation(op, X, Y), f) for op, f in RELATIONS.items()},
    **{f"relation {op} 2": (relation(op, X, Integer(2)), lambda x, y, f=f: f(x, 2)) for op, f in RELATIONS.items()},
    "both": (logic("and", X > 1, Y > 1), lambda x, y: x > 1 and y > 1),
    "either": (logic("or", X > 1, Y > 1), lambda x, y: x > 1 or y > 1),
    "quotient": (X // 3, lambda x, y: x // 3), "shifted quotient": ((X + 1) // 4, lambda x, y: (x + 1) // 4),
    "quotient by a negative number": (X // -2, lambda x, y: x // -2),
    "number": (Integer(7), lambda x, y: 7), "symbol": (Y, lambda x, y: y),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
def test_ranges_of_operations_are_exact(name):
    expression, function = OPERATIONS[name]
    for first, second in itertools.product(INTERVALS, INTERVALS):
        values = [
            function(x, y) for x in range(first[0], first[1] + 1) for y in range(second[0], second[1] + 1)
        ]
        exact = min(values), max(values)
        assert bounds(expression, {X: ValueRanges(*first), Y: ValueRanges(*second)}) == exact, (first, second)


@pytest.mark.parametrize(
    ("first", "second"), [*itertools.product(INTERVALS, [(1, 1), (2, 5), (3, 3), (-4, -2)])]
)
def test_ranges_of_quotients_and_remainders(first, second):
    ranges = {X: ValueRanges(*first), Y: ValueRanges(*second)}
    pairs = list(itertools.product(range(first[0], first[1] + 1), range(second[0], second[1] + 1)))
    quotients, remainders = [x // y for x, y in pairs], [x % y for x, y in pairs]
    assert bounds(X // Y, ranges) == (min(quotients), max(quotients))
    low, high = bounds(X % Y, ranges)
    assert low <= min(remainders) and max(remainders) <= high
    if second[0] > 0:
        if first[0] >= 0 and first[1] < second[0]:
            assert (low, high) == first
        else:
            assert (low, high) == (0, min(second[1] - 1, first[1]) if first[0] >= 0 else second[1] - 1)
    else:
        assert (low, high) == (-math.inf, math.inf)


def test_ranges_without_ends():
    free = {X: ValueRanges(0, int_oo), Y: ValueRanges(-int_oo, 3)}
    assert bounds(X + 1, free) == (1, math.inf) and bounds(-X, free) == (-math.inf, 0)
    assert bounds(X + Y, free) == (-math.inf, math.inf) and bounds(X - Y, free) == (-3, math.inf)
    assert bounds(X * 0 + 4, free) == (4, 4) and bounds(X * X, free) == (0, math.inf)
    assert bounds(call("Max", X, Y), free) == (0, math.inf) and bounds(call("Min", X, Y), free) == (
        -math.inf,
        3,
    )
    assert bounds(X // 2, free) == (0, math.inf) and bounds(call("Abs", Y), free) == (0, math.inf)
    assert bounds(X % 5, free) == (0, 4) and bounds(Y % 5, free) == (0, 4)
    assert bounds(Symbol("z"), free) == (-math.inf, math.inf)
    assert bounds(relation(">=", X, Integer(0)), free) == (True, True)
    assert bounds(relation(">", X, Integer(0)), free) == (False, True)
    assert bounds(relation("<", X, Integer(0)), free) == (False, False)


def test_quotients_meet_the_other_terms():
    ranges = {X: ValueRanges(2, 100), Y: ValueRanges(0, 50)}
    assert bounds(X - 2 * (X // 2), ranges) == (0, 1)
    assert bounds(X - 4 * ((X + 3) // 4), ranges) == (-3, 0)
    assert bounds((X + 1) // 2 - X // 2, ranges)[0] >= 0
    assert bounds(3 * (X // 3) - X + Y, ranges) == (-2, 50)


def test_sets_of_numbers():
    wide, narrow = ValueRanges(-2, 8), ValueRanges(3, 12)
    assert wide & narrow == ValueRanges(3, 8) and wide | narrow == ValueRanges(-2, 12)
    assert -2 in wide and 8 in wide and 9 not in wide and -3 not in wide
    assert ValueRanges(-2, 3).issubset(wide) and ValueRanges(0, 8).issubset(wide) and wide.issubset(wide)
    assert not narrow.issubset(wide) and not ValueRanges(-3, 0).issubset(wide)
    assert ValueRanges(4, 4).is_singleton() and not wide.is_singleton()
    assert (
        ValueRanges(math.inf, math.inf).lower is int_oo
        and repr(ValueRanges(-math.inf, 3)) == "VR[-int_oo, 3]"
    )
    assert ValueRanges(Integer(2), sympify(5)) == ValueRanges(2, 5)
    unknown = ValueRanges.unknown_int()
    assert (unknown.lower, unknown.upper) == (-int_oo, int_oo) and 10**30 in unknown
    with pytest.raises(ValueError, match="Invalid ranges"):
        ValueRanges(3, 2)


def test_parts_of_expressions():
    e = A * (B + 1) + U // 2
    assert e.free_symbols == {A, B, U} and e.has(A) and e.has(Call) and not e.has(Boolean)
    assert not e.is_number and (e - e).is_number and A.is_symbol and not e.is_symbol
    assert e.subs(A, 2) == 2 * B + 2 + U // 2 and e.subs({U: 4, B: 0}) == A + 2
    with pytest.raises(TypeError, match="isn't known"):
        int(e)
    assert int(Integer(3) + 4) == 7 and float(Integer(3)) == 3.0 and bool(Integer(2)) and not bool(Integer(0))
    assert 3 - A == -(A - 3) and sympify(7) // A == 7 // A and sympify(7) % A == 7 % A
    assert [f(A, 2) for f in RELATIONS.values()][2:] == [
        relation(op, A, Integer(2)) for op in list(RELATIONS)[2:]
    ]
    with pytest.raises(TypeError, match="numbers and symbols"):
        sympify("s0")
