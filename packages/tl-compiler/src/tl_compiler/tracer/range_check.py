"""Whether the sizes of a result hold at the ends of the ranges; where they do not, the ranges become narrower."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..symbolic.canonical_forms import relation
from ..symbolic.expression import Expr, Symbol, sympify
from ..symbolic.ranges import int_oo
from .probes import Probes

__all__ = ["RangeCheck"]

# Whether the sizes hold at values of the symbols; raises where the operator does.
Holds = Callable[[dict[Symbol, Any]], bool]


class RangeCheck:
    """The check of one call.

    Args:
        probes: the values of symbols.
        symbols: those of the call's arguments.
        holds: whether the sizes that were found hold at values of symbols.
        errors: what an operator raises that takes no such sizes.
        steps: so far from the example a bound is looked for one size after the other, from there on by halving.
    """

    def __init__(
        self,
        probes: Probes,
        symbols: list[Symbol],
        holds: Holds,
        errors: tuple[type[Exception], ...],
        steps: int = 2048,
    ) -> None:
        self.probes, self.env, self.errors, self.steps = probes, probes.env, errors, steps
        self.symbols = [s for s in symbols if s.is_integer]
        self._raw_holds = holds

    def run(self) -> bool:
        """Narrows ranges until the sizes hold in them.

        Returns:
            Whether they do; they do not where only data decide.
        """
        return all(self._end(low) for low in (True, False)) and self._beside()

    def _beside(self) -> bool:
        return all(self._agrees(at) for at in list(self.probes.beside(self.symbols)))

    def _agrees(self, at: dict[Symbol, Any]) -> bool:
        try:
            return self._raw_holds(at)
        except self.errors:
            return True

    def _end(self, low: bool) -> bool:
        for _ in range(2 * len(self.symbols) + 1):
            at = self.probes.at_end(low)
            if at is None or self._holds(at, low):
                return True
            if not self._narrow(low):
                return False
        return False

    def _holds(self, at: dict[Symbol, Any], low: bool) -> bool:
        """Whether the sizes hold; an error counts where the range ends, and a size is known before the program runs."""
        try:
            return self._raw_holds(at)
        except self.errors:
            return self._may_raise(low)

    def _may_raise(self, low: bool) -> bool:
        bounded = [s for s in self.symbols if self._has_hint(s)]
        if low:
            return not bounded
        return not any(self.env.var_to_range[s].upper != int_oo for s in bounded)

    def _has_hint(self, symbol: Symbol) -> bool:
        return symbol in self.env.var_to_val and symbol not in self.env.replacements

    def _narrow(self, low: bool) -> bool:
        """Makes a guard of the first bound that is found; whether there is one."""
        mine = [s for s in self.symbols if self._has_hint(s)]
        for together in [[s] for s in mine] + [mine]:
            at = self.probes.at_end(low, together)
            if together and at is not None and not self._holds(at, low):
                for symbol in together:
                    bound = self._bound(symbol, at[symbol], together, low)
                    guard = relation(">=" if low else "<=", symbol, sympify(bound))
                    if isinstance(guard, Expr) and not guard.is_number:
                        self.env.evaluate_expr(guard)
                return True
        return False

    def _bound(self, symbol: Symbol, end: int, together: list[Symbol], low: bool) -> int:
        """The last size, from the example's to the end, to which the sizes hold."""
        hint = self.probes.lane(0)[symbol]
        if len(together) > 1:
            return int(hint)

        def holds(value: int) -> bool:
            at = self.probes.complete({**self.probes.lane(0), symbol: value})
            return at is None or self._holds(at, low)

        step = -1 if low else 1
        if abs(end - hint) > self.steps:
            return _bisect(holds, hint, end)
        value = hint
        while value != end and holds(value + step):
            value += step
        return int(value)


def _bisect(holds: Callable[[int], bool], good: int, bad: int) -> int:
    while abs(good - bad) > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good
