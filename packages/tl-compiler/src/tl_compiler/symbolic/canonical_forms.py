"""Canonical forms of expressions: every operation returns the one expression that stands for its values.

Products of sums stay products until `expand` multiplies them out.
"""

from __future__ import annotations

import math
from functools import reduce

from .expression import (
    FORMS,
    FUNCTIONS,
    NEGATED,
    RELATIONS,
    Boolean,
    Call,
    Expr,
    Float,
    Integer,
    Logic,
    Number,
    Product,
    Relation,
    Sum,
    Symbol,
    false,
    order_key,
    sympify,
    true,
)

__all__ = [
    "add", "call", "expand", "floor_div", "is_nonnegative", "logic", "mod", "mul", "negate", "power", "rebuild",
    "relation", "scale",
]  # fmt: skip


def _parts(e: Expr) -> tuple[dict[Expr, Number], Number]:
    if isinstance(e, Integer | Float):
        return {}, e.value
    if isinstance(e, Sum):
        return dict(e.terms), e.constant
    return {e: 1}, 0


def _sum_of(terms: dict[Expr, Number], constant: Number) -> Expr:
    nonzero = {t: c for t, c in terms.items() if c != 0}
    if not nonzero:
        return sympify(constant)
    if constant == 0 and len(nonzero) == 1:
        ((term, coefficient),) = nonzero.items()
        if coefficient == 1 and isinstance(coefficient, int):
            return term
    return Sum(tuple(sorted(nonzero.items(), key=lambda item: order_key(item[0]))), constant)


def add(a: Expr, b: Expr) -> Expr:
    """The sum of two expressions."""
    (terms, constant), (more, other) = _parts(a), _parts(b)
    merged = dict(terms)
    for term, coefficient in more.items():
        merged[term] = merged.get(term, 0) + coefficient
    return _sum_of(merged, constant + other)


def scale(e: Expr, factor: Number) -> Expr:
    """An expression times a number."""
    terms, constant = _parts(e)
    return _sum_of({t: c * factor for t, c in terms.items()}, constant * factor)


def _split(e: Expr) -> tuple[Number, dict[Expr, int]]:
    """A number and powers whose product it is; a sum of several terms is one factor."""
    if isinstance(e, (Integer, Float)):
        return e.value, {}
    if isinstance(e, Sum) and len(e.terms) == 1 and e.constant == 0:
        ((term, coefficient),) = e.terms
        number, factors = _split(term)
        return coefficient * number, factors
    if isinstance(e, Product):
        return 1, dict(e.factors)
    return 1, {e: 1}


def _product_of(number: Number, factors: dict[Expr, int]) -> Expr:
    powers = {b: n for b, n in factors.items() if n != 0}
    if number == 0:
        return sympify(number)
    if not powers:
        return sympify(number)
    if len(powers) == 1 and next(iter(powers.values())) == 1:
        return (
            scale(next(iter(powers)), number)
            if number != 1 or isinstance(number, float)
            else next(iter(powers))
        )
    product = Product(tuple(sorted(powers.items(), key=lambda item: order_key(item[0]))))
    return product if number == 1 and isinstance(number, int) else _sum_of({product: number}, 0)


def mul(a: Expr, b: Expr) -> Expr:
    """The product of two expressions; a number is distributed over a sum, sums stay factors."""
    (x, left), (y, right) = _split(a), _split(b)
    factors = dict(left)
    for base, exponent in right.items():
        factors[base] = factors.get(base, 0) + exponent
    return _product_of(x * y, factors)


def power(a: Expr, b: Expr) -> Expr:
    """An expression to a power."""
    if isinstance(b, Integer) and b.value >= 0:
        if isinstance(a, (Integer, Float)):
            return sympify(a.value**b.value)
        number, factors = _split(a)
        return _product_of(number**b.value, {f: n * b.value for f, n in factors.items()})
    integral = a.is_integer and b.is_integer
    return call("PowByNatural" if integral else "FloatPow", a, b)


def expand(e: Expr) -> Expr:
    """The expression with its products of sums multiplied out."""
    if isinstance(e, Sum):
        parts = [scale(expand(t), c) for t, c in e.terms]
        return reduce(add, parts, sympify(e.constant))
    if isinstance(e, Product):
        factors = [expand(b) for b, n in e.factors for _ in range(n)]
        return reduce(_distribute, factors)
    if isinstance(e, Call):
        return call(e.name, *(expand(a) for a in e.args))
    return e


def _distribute(a: Expr, b: Expr) -> Expr:
    (left, x), (right, y) = _parts(a), _parts(b)
    left_all = [*((t, c) for t, c in left.items()), (Integer(1), x)]
    right_all = [*((t, c) for t, c in right.items()), (Integer(1), y)]
    products = (scale(mul(s, t), c * d) for s, c in left_all for t, d in right_all if c != 0 and d != 0)
    return reduce(add, products, sympify(0))


def _quotient(a: Expr, b: Expr) -> Expr | None:
    """`a / b` where it is an expression without a remainder."""
    if isinstance(a, Sum) and (len(a.terms) > 1 or a.constant):
        parts = [_quotient(scale(t, c), b) for t, c in a.terms]
        parts += [_quotient(Integer(int(a.constant)), b)] if a.constant else []
        exact = [p for p in parts if p is not None]
        return reduce(add, exact, sympify(0)) if len(exact) == len(parts) else None
    (x, top), (y, below) = _split(a), _split(b)
    if not (isinstance(x, int) and isinstance(y, int)) or y == 0 or x % y:
        return None
    left = dict(top)
    for base, exponent in below.items():
        if left.get(base, 0) < exponent:
            return None
        left[base] -= exponent
    return _product_of(x // y, left)


def _content(e: Expr) -> int:
    """The largest number that divides every coefficient."""
    terms, constant = _parts(e)
    numbers = [*terms.values(), constant]
    return math.gcd(*(int(n) for n in numbers)) if all(isinstance(n, int) for n in numbers) else 1


def floor_div(a: Expr, b: Expr) -> Expr:
    """The quotient of integers, rounded down."""
    if b == 0:
        raise ZeroDivisionError("division by zero")
    if isinstance(a, Integer) and isinstance(b, Integer):
        return Integer(a.value // b.value)
    if not (a.is_integer and b.is_integer):
        return call("FloorToInt", call("FloatTrueDiv", a, b))
    exact = _quotient(a, b)
    if exact is not None:
        return exact
    if (
        isinstance(a, Call)
        and a.name == "FloorDiv"
        and isinstance(b, Integer)
        and isinstance(a.args[1], Integer)
    ):
        return floor_div(a.args[0], mul(a.args[1], b))
    if isinstance(b, Integer) and isinstance(a, Sum):
        multiples: dict[Expr, Number] = {
            t: c // b.value for t, c in a.terms if isinstance(c, int) and c % b.value == 0
        }
        if multiples:
            rest = _sum_of({t: c for t, c in a.terms if t not in multiples}, a.constant)
            return add(_sum_of(multiples, 0), floor_div(rest, b))
    common = math.gcd(_content(a), _content(b))
    if common > 1:
        top, below = _quotient(a, Integer(common)), _quotient(b, Integer(common))
        if top is not None and below is not None:
            a, b = top, below
    return Call("FloorDiv", (a, b))


def mod(a: Expr, b: Expr) -> Expr:
    """The remainder of integers, with the sign of the divisor."""
    if b == 0:
        raise ZeroDivisionError("modulo by zero")
    if isinstance(a, Integer) and isinstance(b, Integer):
        return Integer(a.value % b.value)
    if _quotient(a, b) is not None:
        return Integer(0)
    if isinstance(b, Integer) and isinstance(a, Sum):
        reduced = {t: c % b.value if isinstance(c, int) else c for t, c in a.terms}
        constant = a.constant % b.value
        a = _sum_of(reduced if any(v == 0 for v in reduced.values()) else dict(a.terms), constant)
        if isinstance(a, Integer):
            return Integer(a.value % b.value)
        inner = _without_remainders(a, b) if isinstance(a, Sum) else a
        if inner is not a:
            return mod(inner, b)
    common = math.gcd(_content(a), _content(b))
    if common > 1:
        top, below = _quotient(a, Integer(common)), _quotient(b, Integer(common))
        if top is not None and below is not None:
            return scale(mod(top, below), common)
    nonnegative = is_nonnegative(a) and is_nonnegative(b)
    return Call("Mod" if nonnegative else "PythonMod", (a, b))


def _without_remainders(a: Sum, b: Expr) -> Expr:
    """A sum with x in place of its terms x % b, which leaves the same remainder."""
    terms = [
        (t.args[0] if isinstance(t, Call) and t.name in ("Mod", "PythonMod") and t.args[1] == b else t, c)
        for t, c in a.terms
    ]
    if all(x is y for (x, _), (y, _) in zip(terms, a.terms, strict=True)):
        return a
    return reduce(add, (scale(t, c) for t, c in terms), sympify(a.constant))


def is_nonnegative(e: Expr) -> bool:
    """Whether an expression is known to be zero or more from what is known of its symbols."""
    if isinstance(e, (Integer, Float)):
        return e.value >= 0
    if isinstance(e, Symbol):
        return e.positive
    if isinstance(e, Sum):
        if all(isinstance(t, Symbol) and t.positive and c >= 0 for t, c in e.terms):
            return sum(c for _, c in e.terms) + e.constant >= 0
        return e.constant >= 0 and all(c >= 0 and is_nonnegative(t) for t, c in e.terms)
    if isinstance(e, Call) and e.name in ("Max",):
        return any(is_nonnegative(a) for a in e.args)
    if isinstance(e, (Product, Call)):
        return all(is_nonnegative(a) for a in e.args)
    return False


def _extreme(name: str, operands: tuple[Expr, ...]) -> Expr:
    flat: dict[Expr, None] = {}
    for e in operands:
        flat.update(dict.fromkeys(e.args if isinstance(e, Call) and e.name == name else (e,)))
    pick = FUNCTIONS[name]
    numbers = [e.value for e in flat if isinstance(e, (Integer, Float))]
    symbolic = [e for e in flat if not isinstance(e, (Integer, Float))]
    survivors = [a for a in symbolic if not any(_dominates(name, b, a) for b in symbolic if b is not a)]
    if numbers:
        number = sympify(pick(numbers))
        if not any(_dominates(name, e, number) for e in survivors):
            survivors = [e for e in survivors if not _dominates(name, number, e)]
            survivors.append(number)
    if len(survivors) == 1:
        return survivors[0]
    return Call(name, tuple(sorted(survivors, key=lambda e: (not isinstance(e, Integer), order_key(e)))))


def _dominates(name: str, a: Expr, b: Expr) -> bool:
    """Whether an extreme of both is always the first."""
    difference = a - b if name == "Max" else b - a
    if isinstance(difference, Integer) and difference.value == 0:
        return False
    return is_nonnegative(difference)


def call(name: str, *operands: Expr) -> Expr:
    """A function of expressions, in canonical form.

    Args:
        name: a name of `FUNCTIONS`.
        operands: its arguments.

    Returns:
        The expression; a number if all of them are.
    """
    if name in ("Max", "Min"):
        return _extreme(name, operands)
    if name in ("FloorDiv", "CleanDiv"):
        return floor_div(*operands)
    if name in ("Mod", "PythonMod"):
        return mod(*operands)
    if name == "Piecewise" and isinstance(operands[1], Boolean):
        return operands[0] if operands[1]._key[0] else operands[2]
    if operands and all(isinstance(o, (Integer, Float, Boolean)) for o in operands):
        return sympify(FUNCTIONS[name](*(o.evaluate({}) for o in operands)))
    if name.endswith("ToInt") and operands[0].is_integer:
        return operands[0]
    if name == "TruncToInt" and isinstance(operands[0], Call) and operands[0].name == "ToFloat":
        return operands[0].args[0]
    if name == "Abs" and is_nonnegative(operands[0]):
        return operands[0]
    if name == "Abs" and is_nonnegative(-operands[0]):
        return -operands[0]
    if name == "LShift":
        return mul(operands[0], power(Integer(2), operands[1]))
    if name == "RShift":
        return floor_div(operands[0], power(Integer(2), operands[1]))
    return Call(name, tuple(operands))


def relation(op: str, lhs: Expr, rhs: Expr) -> Expr:
    """A comparison; true or false where the difference of its sides is a number."""
    difference = lhs - rhs if not isinstance(lhs, (Relation, Logic, Boolean)) else None
    if difference is not None and not isinstance(difference, Integer | Float):
        difference = expand(difference)
    if isinstance(difference, (Integer, Float)):
        return sympify(RELATIONS[op](difference.value, 0))
    if difference is None and lhs == rhs:
        return sympify(op in ("==", "<=", ">="))
    return Relation(op, lhs, rhs)


def logic(op: str, *operands: Expr) -> Expr:
    """Conditions joined by `and` or `or`."""
    absorbing = op == "or"
    flat: dict[Expr, None] = {}
    for e in operands:
        flat.update(dict.fromkeys(e.args if isinstance(e, Logic) and e.op == op else (e,)))
    if any(isinstance(e, Boolean) and e._key[0] is absorbing for e in flat):
        return sympify(absorbing)
    conditions = [e for e in flat if not isinstance(e, Boolean)]
    if any(negate(e) in flat for e in conditions):
        return sympify(absorbing)
    if len(conditions) < 2:
        return conditions[0] if conditions else sympify(not absorbing)
    return Logic(op, tuple(conditions))


def negate(e: Expr) -> Expr:
    """The condition that holds where another doesn't."""
    if isinstance(e, Boolean):
        return false if e._key[0] else true
    if isinstance(e, Relation):
        return relation(NEGATED[e.rel_op], e.lhs, e.rhs)
    if isinstance(e, Logic):
        if e.op == "not":
            return e.args[0]
        return logic("or" if e.op == "and" else "and", *(negate(a) for a in e.args))
    return Logic("not", (e,))


def rebuild(e: Expr, args: list[Expr]) -> Expr:
    """An expression with other arguments, in canonical form.

    Args:
        e: the expression.
        args: as many expressions as `e.args`.
    """
    if isinstance(e, Sum):
        parts = [scale(a, c) for a, (_, c) in zip(args, e.terms, strict=True)]
        return reduce(add, parts, sympify(e.constant))
    if isinstance(e, Product):
        powers = [power(a, Integer(n)) for a, (_, n) in zip(args, e.factors, strict=True)]
        return reduce(mul, powers)
    if isinstance(e, Call):
        return call(e.name, *args)
    if isinstance(e, Relation):
        return relation(e.rel_op, *args)
    if isinstance(e, Logic):
        return negate(args[0]) if e.op == "not" else logic(e.op, *args)
    return e


FORMS.update(
    add=add,
    floor_div=floor_div,
    mod=mod,
    mul=mul,
    power=power,
    rebuild=rebuild,
    relation=relation,
    scale=scale,
)
