"""Ranges of integers, and those of expressions from those of their symbols."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .expression import Boolean, Call, Expr, Float, Integer, Logic, Product, Relation, Sum, Symbol

__all__ = ["IntInfinity", "NegativeIntInfinity", "ValueRanges", "bounds", "int_oo"]


class IntInfinity(float):
    """Greater than every integer."""

    def __repr__(self) -> str:
        return "int_oo"

    __str__ = __repr__

    def __neg__(self) -> NegativeIntInfinity:
        return NegativeIntInfinity(-math.inf)

    def __reduce__(self) -> Any:
        return type(self), (float(self),)


class NegativeIntInfinity(float):
    """Less than every integer."""

    def __repr__(self) -> str:
        return "-int_oo"

    __str__ = __repr__

    def __neg__(self) -> IntInfinity:
        return int_oo

    def __reduce__(self) -> Any:
        return type(self), (float(self),)


int_oo = IntInfinity(math.inf)


def _bound(x: Any) -> Any:
    if isinstance(x, Expr):
        x = x.evaluate({})
    if isinstance(x, float) and math.isinf(x):
        return int_oo if x > 0 else -int_oo
    return x


@dataclass(frozen=True)
class ValueRanges:
    """The values from one number to another, both included.

    Args:
        lower: the least.
        upper: the greatest; `int_oo` where there is none.
    """

    lower: Any
    upper: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", _bound(self.lower))
        object.__setattr__(self, "upper", _bound(self.upper))
        if self.lower > self.upper:
            raise ValueError(f"Invalid ranges [{self.lower}:{self.upper}]")

    def __and__(self, other: ValueRanges) -> ValueRanges:
        return ValueRanges(max(self.lower, other.lower), min(self.upper, other.upper))

    def __or__(self, other: ValueRanges) -> ValueRanges:
        return ValueRanges(min(self.lower, other.lower), max(self.upper, other.upper))

    def __contains__(self, x: Any) -> bool:
        return bool(self.lower <= x <= self.upper)

    def issubset(self, other: ValueRanges) -> bool:
        """Whether all of its values are in another range."""
        return bool(other.lower <= self.lower and self.upper <= other.upper)

    def is_singleton(self) -> bool:
        """Whether it has one value only."""
        return bool(self.lower == self.upper)

    @staticmethod
    def unknown_int() -> ValueRanges:
        """All integers."""
        return ValueRanges(-int_oo, int_oo)

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {self.upper}]"

    __str__ = __repr__


def _times(a: Any, b: Any) -> Any:
    return 0 if a == 0 or b == 0 else a * b


def _corners(f: Any, a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    values = [f(x, y) for x in a for y in b]
    return min(values), max(values)


def _floor(x: Any, y: Any) -> Any:
    if math.isinf(y):
        return 0 if x >= 0 else -1
    return x * math.copysign(1, y) if math.isinf(x) else x // y


def bounds(e: Expr, ranges: Mapping[Symbol, ValueRanges]) -> tuple[Any, Any]:
    """The least and the greatest value that an expression can have, at least.

    Args:
        e: the expression.
        ranges: those of its symbols.

    Returns:
        Two numbers; infinite where there is no bound.
    """
    if isinstance(e, (Integer, Float, Boolean)):
        value = e.evaluate({})
        return value, value
    if isinstance(e, Symbol):
        interval = ranges.get(e)
        return (interval.lower, interval.upper) if interval else (-math.inf, math.inf)
    if isinstance(e, Sum):
        low = high = e.constant
        for term, coefficient in e.terms:
            a, b = bounds(term, ranges)
            a, b = _times(a, coefficient), _times(b, coefficient)
            low, high = low + min(a, b), high + max(a, b)
        if any(_is_quotient(term) for term, _ in e.terms):
            low, high = (
                max(low, _quotient_free_bound(e, ranges, True)),
                min(high, _quotient_free_bound(e, ranges, False)),
            )
        return low, high
    if isinstance(e, Product):
        total: tuple[Any, Any] = (1, 1)
        for base, n in e.factors:
            one = bounds(base, ranges)
            for _ in range(n):
                total = _corners(_times, total, one)
        return total
    if isinstance(e, Call):
        return _call_bounds(e, [bounds(a, ranges) for a in e.args])
    if isinstance(e, Relation):
        return _relation_bounds(e, ranges)
    if isinstance(e, Logic):
        found_all = [bounds(a, ranges) for a in e.args]
        if e.op == "not":
            return not found_all[0][1], not found_all[0][0]
        join = all if e.op == "and" else any
        return join(a for a, _ in found_all), join(b for _, b in found_all)
    return -math.inf, math.inf


def _is_quotient(e: Expr) -> bool:
    return (
        isinstance(e, Call)
        and e.name == "FloorDiv"
        and isinstance(e.args[1], Integer)
        and e.args[1].value > 0
    )


def _quotient_free_bound(e: Sum, ranges: Mapping[Symbol, ValueRanges], least: bool) -> Any:
    """A bound of a sum in which a // q lies between (a - q + 1) / q and a / q, so that its terms meet the others'."""
    if not e.is_integer:
        return -math.inf if least else math.inf
    terms: dict[Expr, Any] = {}
    total: Any = Fraction(e.constant)
    for term, k in e.terms:
        factor: Any = k
        if not _is_quotient(term):
            terms[term] = terms.get(term, Fraction(0)) + factor
            continue
        a, q = term.args[0], term.args[1].value
        inner, constant = (a.terms, a.constant) if isinstance(a, Sum) else (((a, 1),), 0)
        total += Fraction(factor, q) * (constant - (q - 1 if (factor > 0) == least else 0))
        for t, c in inner:
            terms[t] = terms.get(t, Fraction(0)) + Fraction(factor * c, q)
    bound: Any = total
    for term, rate in terms.items():
        low, high = bounds(term, ranges)
        bound += _times(low if (rate > 0) == least else high, rate)
    if math.isinf(bound):
        return bound
    return math.ceil(bound) if least else math.floor(bound)


def _relation_bounds(e: Relation, ranges: Mapping[Symbol, ValueRanges]) -> tuple[bool, bool]:
    from .canonical_forms import expand

    low, high = bounds(expand(e.lhs - e.rhs), ranges)
    always = {
        "<": high < 0,
        "<=": high <= 0,
        ">": low > 0,
        ">=": low >= 0,
        "==": low == high == 0,
        "!=": low > 0 or high < 0,
    }
    never = {
        "<": low >= 0,
        "<=": low > 0,
        ">": high <= 0,
        ">=": high < 0,
        "==": low > 0 or high < 0,
        "!=": low == high == 0,
    }
    return always[e.rel_op], not never[e.rel_op]


def _call_bounds(e: Call, args: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    if e.name in ("Max", "Min"):
        pick = max if e.name == "Max" else min
        return pick(a for a, _ in args), pick(b for _, b in args)
    if e.name == "FloorDiv" and (args[1][0] > 0 or args[1][1] < 0):
        return _corners(_floor, args[0], args[1])
    if e.name in ("Mod", "PythonMod") and args[1][0] > 0:
        (low, high), (least, most) = args
        if low >= 0 and high < least:
            return low, high
        return 0, min(most - 1, high) if low >= 0 else most - 1
    if e.name in ("ToFloat", "TruncToInt", "FloorToInt", "CeilToInt", "RoundToInt"):
        rounding = {
            "FloorToInt": math.floor,
            "CeilToInt": math.ceil,
            "RoundToInt": round,
            "TruncToInt": math.trunc,
        }
        f = rounding.get(e.name, float)
        return tuple(x if math.isinf(x) else f(x) for x in args[0])  # type: ignore[operator,return-value]
    if e.name == "IntTrueDiv" and args[1][0] > 0:
        return _corners(lambda x, y: 0.0 if math.isinf(y) else x / y, args[0], args[1])
    if e.name == "Abs":
        low, high = args[0]
        return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))
    return -math.inf, math.inf
