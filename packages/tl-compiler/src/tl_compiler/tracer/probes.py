"""Sizes of results as expressions: an operator runs on meta at the example's sizes and at two others, and what fits
all three is the size."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

from ..symbolic.canonical_forms import floor_div
from ..symbolic.expression import Expr, Integer, Symbol, sympify
from ..symbolic.ranges import int_oo

__all__ = ["LANES", "Probes"]

LANES = 3  # the example, and two probes
_STEPS = (60, 24, 12, 6, 4, 2, 1)
_PRIMES = (
    7,
    11,
    13,
    17,
    19,
    23,
    29,
    31,
    37,
    41,
    43,
    47,
    53,
    59,
    61,
    67,
    71,
    73,
    79,
    83,
    89,
    97,
    101,
    103,
    107,
    109,
)
# What stands for the end of a range that has none, from the example on, by the number of sizes that are there together:
# an operator without a kernel on meta runs on as many elements as their product.
_FAR = {1: 60 * 1009, 2: 60 * 17, 3: 120, 4: 60}
_FAR_OF_MORE = 12
_REPAIRS = 16
_HINT_OF_UNKNOWN = 6  # stands for a size that only data decide

Lanes = tuple[Any, ...]


class Probes:
    """The values of symbols in each lane, and the expressions that were found.

    Args:
        shape_env: the environment of the symbols.
    """

    def __init__(self, shape_env: Any) -> None:
        self.env = shape_env
        self.values: list[dict[Symbol, Any]] = [{} for _ in range(LANES)]
        self.exprs: dict[Lanes, Expr] = {}
        # The sizes that nothing fits, from the values of other symbols; None: the operator raises there.
        self.defined: dict[Symbol, Callable[[dict[Symbol, Any]], int | None]] = {}
        self._version = -1
        self._choices = 0

    # ---- values of symbols
    def lane(self, number: int) -> dict[Symbol, Any]:
        """The values of all symbols in a lane.

        Args:
            number: which lane; 0 is the example.

        Returns:
            A number for each symbol.
        """
        self._refresh()
        return self.values[number]

    def fix(self, symbol: Symbol, lanes: Lanes) -> None:
        """Sets the values of a symbol that was made for a size which nothing fits."""
        for values, value in zip(self.values, lanes, strict=True):
            values[symbol] = value

    def _refresh(self) -> None:
        env = self.env
        if self._version == env.version and len(self.values[0]) >= len(env.var_to_range):
            return
        if self._version != env.version:
            self.exprs = {}
            self._version = env.version
        for symbol in list(env.var_to_range):
            if symbol not in self.values[0] and symbol not in env.replacements:
                for values, value in zip(self.values, self._choose(symbol), strict=True):
                    values[symbol] = value
        for symbol in env.replacements:
            e = env.replace(symbol)
            for values in self.values:
                values[symbol] = e.evaluate(values)

    def _choose(self, symbol: Symbol) -> Lanes:
        """The example's value, and two that leave the same remainders, within the symbol's range."""
        interval = self.env.var_to_range[symbol]
        hint = self.env.var_to_val.get(symbol)
        if isinstance(hint, float) or not symbol.is_integer:
            return (hint or 1.5, 2.75, 5.5)
        if hint is None:
            hint = (
                _HINT_OF_UNKNOWN
                if _HINT_OF_UNKNOWN in interval
                else int(max(interval.lower, min(interval.upper, 1)))
            )
        low, high = interval.lower, interval.upper
        index = self._choices
        self._choices += 1
        for step in _STEPS:
            probes = [hint + step * _PRIMES[(2 * index + i) % len(_PRIMES)] for i in (0, 1)]
            if all(w <= high for w in probes):
                return (hint, *probes)
        for step in _STEPS:
            room = [
                v
                for k in range(1, 40)
                for v in (hint + step * k, hint - step * k)
                if max(low, 1) <= v <= high
            ]
            if len(room) >= 2:
                first = index % (len(room) - 1)
                return (hint, room[first], room[first + 1])
        other = next((v for v in (hint + 1, hint - 1) if max(low, 1) <= v <= high), hint)
        return (hint, other, hint)

    # ---- the ends of ranges
    def at_end(self, low: bool, moved: Iterable[Symbol] | None = None) -> dict[Symbol, Any] | None:
        """Values at an end of the ranges, for which all guards hold.

        Args:
            low: whether it is the low end.
            moved: the symbols that have the end of their range, others have the example's value; None: all.

        Returns:
            A number for each symbol; None where the guards leave none.
        """
        self._refresh()
        ends = {s for s in self.values[0] if moved is None or s in moved}
        far = _FAR.get(sum(s.is_integer for s in ends), _FAR_OF_MORE)
        at = {s: self._end(s, low, far) if s in ends else value for s, value in self.values[0].items()}
        return self.complete(at)

    def beside(self, symbols: Iterable[Symbol]) -> Iterator[dict[Symbol, Any]]:
        """Values for which all guards hold, where one symbol after the other is next to the example's value.

        Args:
            symbols: the symbols.

        Yields:
            A number for each symbol.
        """
        self._refresh()
        for s in symbols:
            hint, interval = self.values[0].get(s), self.env.var_to_range.get(s)
            if s.is_integer and isinstance(hint, int) and interval is not None:
                other = hint + 1 if hint < interval.upper else max(hint - 1, int(interval.lower))
                at = self.complete({**self.values[0], s: other})
                if at is not None:
                    yield at

    def _end(self, symbol: Symbol, low: bool, far: int) -> Any:
        hint, interval = self.values[0][symbol], self.env.var_to_range.get(symbol)
        if interval is None or not symbol.is_integer or isinstance(hint, float):
            return hint
        if low:
            return hint if interval.lower == -int_oo else min(int(interval.lower), hint)
        return int(interval.upper) if interval.upper != int_oo else hint + far

    def complete(self, at: dict[Symbol, Any]) -> dict[Symbol, Any] | None:
        """Values for which all guards hold, next to some.

        Args:
            at: values of symbols; those that others decide are set.

        Returns:
            The values, or None.
        """
        for _ in range(_REPAIRS):
            for symbol, definition in self.defined.items():
                if symbol not in self.env.replacements:
                    size = definition(at)
                    if size is None:
                        return None
                    at[symbol] = size
            for symbol in self.env.replacements:
                at[symbol] = self.env.replace(symbol).evaluate(at)
            broken = self._broken(at)
            if broken is None:
                return at
            if not self._repair(broken, at):
                return None
        return None

    def _broken(self, at: dict[Symbol, Any]) -> Expr | None:
        """A guard that does not hold."""
        for guard in self.env.guards:
            e = self.env.replace(guard.expr)
            if isinstance(e, Expr) and e.free_symbols <= at.keys() and not e.evaluate(at):
                return e
        return None

    def _repair(self, guard: Expr, at: dict[Symbol, Any]) -> bool:
        """Moves a symbol towards the example until a guard holds."""
        for symbol in sorted(guard.free_symbols, key=str):
            value, hint = at[symbol], self.values[0][symbol]
            step = 1 if value < hint else -1
            for other in range(value, hint + step, step)[:4096]:
                at[symbol] = other
                if guard.evaluate(at):
                    return True
            at[symbol] = value
        moved = [s for s in guard.free_symbols if at[s] != self.values[0][s]]
        for symbol in moved:
            at[symbol] = self.values[0][symbol]
        return bool(moved)

    # ---- expressions
    def evaluate(self, e: Any, lane: int) -> Any:
        """The value of an expression in a lane."""
        return sympify(e).evaluate(self.lane(lane))

    def lanes_of(self, e: Expr) -> Lanes:
        """The values of an expression in all lanes."""
        return tuple(e.evaluate(self.lane(i)) for i in range(LANES))

    def remember(self, e: Expr) -> None:
        """Notes an expression, so that equal sizes get it.

        Args:
            e: the expression.
        """
        self._refresh()
        if not isinstance(e, Integer):
            self.exprs.setdefault(self.lanes_of(e), e)

    def fit(self, lanes: Lanes, candidates: list[Expr], again: Any = None) -> Expr | None:
        """The expression of a size.

        Args:
            lanes: the size in each lane.
            candidates: the expressions among the arguments.
            again: runs the operator at other values of the symbols, and returns the size, or None where it raises.

        Returns:
            The expression, or None if nothing fits.
        """
        if all(v == lanes[0] for v in lanes[1:]):
            return Integer(int(lanes[0]))
        self._refresh()
        expr = self.exprs.get(lanes)
        if expr is not None:
            return expr
        for e in candidates:
            if self.lanes_of(e) == lanes:
                return self._keep(lanes, e)
        e = self._combine(lanes, candidates)  # type: ignore[assignment]
        if e is None:
            e = self._affine(lanes, candidates, again)
        return None if e is None else self._keep(lanes, e)

    def _keep(self, lanes: Lanes, e: Expr) -> Expr:
        self.exprs[lanes] = e
        return e

    def _combine(self, lanes: Lanes, candidates: list[Expr]) -> Expr | None:
        """A product, sum or difference of what is known, times or over a number."""
        unique = list(dict.fromkeys(e for e in candidates if not isinstance(e, Integer)))[:8]
        values = [self.lanes_of(e) for e in unique]
        for n in (1, 2, 3):
            for subset in itertools.combinations(range(len(unique)), n):
                product, numbers = sympify(1), [1] * LANES
                for i in subset:
                    product = product * unique[i]
                    numbers = [a * b for a, b in zip(numbers, values[i], strict=True)]
                if any(v == 0 for v in numbers):
                    continue
                ratio = Fraction(lanes[0], numbers[0])
                if all(Fraction(a, b) == ratio for a, b in zip(lanes, numbers, strict=True)) and (
                    n > 1 or ratio > 0
                ):
                    multiple = product * ratio.numerator
                    return (
                        multiple
                        if ratio.denominator == 1
                        else floor_div(multiple, Integer(ratio.denominator))
                    )
        for i, j in itertools.permutations(range(len(unique)), 2):
            for sign in (1, -1):
                rest = {a - b - sign * c for a, b, c in zip(lanes, values[i], values[j], strict=True)}
                if len(rest) == 1:
                    return unique[i] + unique[j] * sign + rest.pop()
        return self._sum_of_all(lanes, [e for e in candidates if not isinstance(e, Integer)])

    def _sum_of_all(self, lanes: Lanes, candidates: list[Expr]) -> Expr | None:
        if len(candidates) < 2:
            return None
        total = sum(candidates[1:], candidates[0])
        rest = {a - b for a, b in zip(lanes, self.lanes_of(total), strict=True)}
        return total + rest.pop() if len(rest) == 1 else None

    def _affine(self, lanes: Lanes, candidates: list[Expr], again: Any) -> Expr | None:
        """A multiple of one symbol plus a number, or such a quotient rounded down."""
        symbols = sorted({s for e in candidates for s in e.free_symbols}, key=str)
        for symbol in symbols:
            values = self.lanes_of(symbol)
            if values[1] == values[0] or values[2] == values[1]:
                continue
            rate = Fraction(lanes[1] - lanes[0], values[1] - values[0])
            if Fraction(lanes[2] - lanes[1], values[2] - values[1]) != rate or rate == 0:
                continue
            p, q = rate.numerator, rate.denominator
            if q == 1:
                return symbol * p + (lanes[0] - p * values[0])
            if q > 64:
                continue
            quotient = self._quotient(symbol, p, q, lanes, values, again)
            if quotient is not None:
                return quotient
        return None

    def _quotient(
        self, symbol: Symbol, p: int, q: int, lanes: Lanes, values: Lanes, again: Any
    ) -> Expr | None:
        """(p·s + c) // q, with c from q sizes in a row."""
        fits = [q * lanes[0] - p * values[0] + t for t in range(q)]
        for step in range(1, q):
            base = {**self.lane(1), symbol: values[1] + step}
            size = again(base) if again is not None else None
            if size is None:
                continue
            fits = [c for c in fits if (p * (values[1] + step) + c) // q == size]
        if not fits:
            return None
        c = fits[0] if len(fits) == 1 else next((c for c in fits if (p * values[0] + c) % q == 0), fits[0])
        integer, rest = divmod(c, q)
        if rest:
            integer, rest = integer + 1, rest - q
        return floor_div(symbol * p + rest, Integer(q)) + integer
