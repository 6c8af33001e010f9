"""What is known of symbols: their values in the example, ranges, equalities and comparisons, and what follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .canonical_forms import call, expand, rebuild, relation
from .errors import GuardOnDataDependentSymNode
from .expression import (
    Boolean,
    Call,
    Expr,
    Float,
    Integer,
    Logic,
    Relation,
    Sum,
    Symbol,
    sympify,
)
from .printing import text
from .ranges import ValueRanges, bounds, int_oo
from .user_lines import user_line

__all__ = ["Facts", "canonical"]

_STEPS = 2048  # so far from the example's size the end of a range is looked for


def canonical(e: Expr) -> tuple[str, Expr] | None:
    """A comparison of integers as one sign and an expression compared with zero; `<` becomes `<=`."""
    if not isinstance(e, Relation) or not (e.lhs.is_integer and e.rhs.is_integer):
        return None
    op, d = e.rel_op, expand(e.lhs - e.rhs)
    if op in (">", ">="):
        op, d = {">": "<", ">=": "<="}[op], -d
    if op == "<":
        op, d = "<=", d + 1
    if op in ("==", "!=") and text(d).startswith("-"):
        d = -d
    return op, d


class Facts:
    """What is known of symbols, and learns from conditions that hold.

    Example:
        >>> Facts().replacements
        {}
    """

    def __init__(self) -> None:
        self.var_to_val: dict[Symbol, Any] = {}
        self.var_to_range: dict[Symbol, ValueRanges] = {}
        self.var_to_stack: dict[Symbol, str] = {}
        self.replacements: dict[Symbol, Expr] = {}
        self.divisible: set[Expr] = set()
        self.size_like: set[Symbol] = set()
        self.reasons: dict[Symbol, str] = {}  # where the program made a symbol what it is
        self.version = 0  # changes when something is learned of a symbol
        self._facts: set[tuple[str, Expr]] = set()
        self._replaced: dict[Expr, Expr] = {}

    # ---- what follows
    def is_unbacked_symint(self, symbol: Symbol) -> bool:
        """Whether a symbol's value depends on data."""
        return symbol not in self.var_to_val

    def replace(self, expr: Any) -> Any:
        """The expression with what was learned of its symbols put in.

        Args:
            expr: the expression.

        Returns:
            The expression.
        """
        if not isinstance(expr, Expr) or not self.replacements:
            return expr
        result = self._replaced.get(expr)
        if result is None:
            result = self._replaced[expr] = expr.xreplace(self.replacements)
        return result

    def _new_version(self) -> None:
        self.version += 1
        self._replaced = {}

    def simplify(self, expr: Any, size_oblivious: bool = False) -> Any:
        """The expression in a shorter form, by what is known of its symbols.

        Args:
            expr: the expression.
            size_oblivious: accepted.

        Returns:
            The expression.
        """
        e = self.replace(sympify(expr))
        if not self.divisible and not e.has(Call):
            return e
        return self._reduce(e)

    def _reduce(self, e: Expr) -> Expr:
        rebuilt = [self._reduce(a) for a in e.args]
        if rebuilt and any(a is not b for a, b in zip(rebuilt, e.args, strict=True)):
            e = rebuild(e, rebuilt)
        if isinstance(e, Call) and e.name in ("Mod", "PythonMod"):
            low, high = bounds(e.args[0], self.var_to_range)
            least = bounds(e.args[1], self.var_to_range)[0]
            if call("Mod", *e.args) in self.divisible:
                return Integer(0)
            if low >= 0 and high < least:
                return e.args[0]
        if isinstance(e, Call) and e.name == "FloorDiv":
            low, high = bounds(e, self.var_to_range)
            if low == high:
                return Integer(int(low))
        if isinstance(e, Call) and e.name in ("Max", "Min") and len(e.args) == 2:
            a, b = e.args
            d = bounds(a - b, self.var_to_range)
            if d[0] >= 0 or d[1] <= 0:
                return a if (d[0] >= 0) == (e.name == "Max") else b
        if isinstance(e, Call) and e.name == "Abs" and bounds(e.args[0], self.var_to_range)[0] >= 0:
            return e.args[0]
        return e

    def size_hint(self, expr: Any, *, allow_none: bool = False) -> Any:
        """The value of an expression in the example.

        Args:
            expr: the expression.
            allow_none: whether None is returned where there is none.

        Returns:
            The number.

        Raises:
            GuardOnDataDependentSymNode: it depends on data.
        """
        e = sympify(expr)
        try:
            return e.evaluate(self.var_to_val)
        except KeyError:
            pass
        e = self.simplify(e)
        try:
            return e.evaluate(self.var_to_val)
        except KeyError:
            if allow_none:
                return None
            raise self._data_dependent(e) from None

    def has_hint(self, expr: Any) -> bool:
        """Whether an expression has a value in the example."""
        return self.size_hint(expr, allow_none=True) is not None

    def bound_sympy(self, expr: Any, size_oblivious: bool = False) -> ValueRanges:
        """The range of an expression."""
        return ValueRanges(*bounds(self.replace(sympify(expr)), self._ranges(size_oblivious)))

    def _ranges(self, size_oblivious: bool) -> Mapping[Symbol, ValueRanges]:
        if not size_oblivious or not self.size_like:
            return self.var_to_range
        floor = ValueRanges(2, int_oo)
        wide = {s: self.var_to_range[s] for s in self.size_like if self.var_to_range[s].upper >= 2}
        return {**self.var_to_range, **{s: r & floor for s, r in wide.items()}}

    def _statically(self, e: Expr, size_oblivious: bool = False) -> Any:
        """The value that an expression has whatever the sizes are, or None."""
        if isinstance(e, (Integer, Float, Boolean)):
            return e.evaluate({})
        if isinstance(e, Logic):
            parts = [self._statically(a, size_oblivious) for a in e.args]
            if e.op == "not":
                return None if parts[0] is None else not parts[0]
            decided = e.op == "or"
            if any(p is not None and bool(p) is decided for p in parts):
                return decided
            return (not decided) if all(p is not None for p in parts) else None
        low, high = bounds(e, self._ranges(size_oblivious))
        if low == high:
            return low
        fact = canonical(e)
        if fact is None:
            return None
        return self._by_facts(*fact)

    def _by_facts(self, op: str, d: Expr) -> bool | None:
        """Whether a canonical comparison follows from one that is known, which may be stronger by a number."""
        if (op, d) in self._facts:
            return True
        if op == "==":
            return False if ("!=", d) in self._facts or ("!=", -d) in self._facts else None
        if op == "!=":
            return False if ("==", d) in self._facts else None
        (terms, constant) = (d.terms, d.constant) if isinstance(d, Sum) else (((d, 1),), 0)
        for sign, fact in self._facts:
            other = (fact.terms, fact.constant) if isinstance(fact, Sum) else (((fact, 1),), 0)
            if sign == "<=" and other[0] == terms and other[1] >= constant:
                return True
            flipped = tuple((t, -c) for t, c in other[0])
            if sign == "<=" and flipped == terms and -other[1] < constant:
                return False
        return None

    def _data_dependent(self, e: Expr) -> GuardOnDataDependentSymNode:
        unbacked = sorted((s for s in e.free_symbols if self.is_unbacked_symint(s)), key=str)
        origins = "".join(
            f"\n  {s} was made at {self.var_to_stack[s]}" for s in unbacked if self.var_to_stack.get(s)
        )
        where = user_line()
        message = (
            f"Could not guard on data-dependent expression {e} (unhinted: {e}).  (Size-like symbols: "
            f"{', '.join(sorted(map(str, self.size_like & e.free_symbols))) or 'none'})\n\n"
            "The program branches on, or makes a size of, a value that only the data decide, at "
            f"{where or '?'}.{origins}\n"
            "torch.cond(pred, true_fn, false_fn, operands) keeps both branches; torch._check(condition) states what "
            "always holds"
        )
        return GuardOnDataDependentSymNode(e, message)

    # ---- learning
    def learn(self, condition: Expr) -> None:
        """Learns from a condition that holds.

        Args:
            condition: the condition.
        """
        self._use(condition)
        self._new_version()

    def _use(self, fact: Expr) -> None:
        if isinstance(fact, Logic) and fact.op == "and":
            for part in fact.args:
                self._use(part)
            return
        normal = canonical(fact)
        if normal is None:
            return
        op, d = normal
        self._facts.add(normal)
        if op == "==":
            self._facts |= {("<=", d), ("<=", -d)}
            self._use_equality(d)
        elif op == "<=":
            self._use_bound(d)
        elif op == "!=":
            self._use_difference(d)
        if d.has(Call):
            self._use_range(fact)

    def _use_range(self, fact: Expr) -> None:
        """Learns the range of a symbol in which a condition of it alone is proved to hold, such as Min(5, s) == 5."""
        symbols = fact.free_symbols
        symbol = next(iter(symbols))
        current, hint = self.var_to_range.get(symbol), self.var_to_val.get(symbol)
        if len(symbols) != 1 or current is None or not isinstance(hint, int) or symbol in self.replacements:
            return
        low, high = (self._last_that_holds(fact, symbol, hint, end) for end in (current.lower, current.upper))
        for allowed in (
            ValueRanges(low, current.upper),
            ValueRanges(current.lower, high),
            ValueRanges(low, high),
        ):
            if allowed.lower < allowed.upper and self._proves(fact, symbol, allowed):
                self._narrow(symbol, allowed)
                return

    @staticmethod
    def _last_that_holds(fact: Expr, symbol: Symbol, hint: int, end: Any) -> Any:
        """The last number, from the example's to an end, to which a condition holds."""
        step = 1 if end > hint else -1
        value = hint
        while value != end and abs(value - hint) < _STEPS:
            if not fact.evaluate({symbol: value + step}):
                return value
            value += step
        return end

    def _proves(self, fact: Expr, symbol: Symbol, allowed: ValueRanges) -> bool:
        """Whether a range alone makes a condition hold."""
        current, divisible = self.var_to_range[symbol], self.divisible
        self.var_to_range[symbol], self.divisible = allowed, set()
        try:
            return bool(bounds(self._reduce(fact), self.var_to_range)[0])
        finally:
            self.var_to_range[symbol], self.divisible = current, divisible

    def _use_equality(self, d: Expr) -> None:
        if isinstance(d, Call) and d.name in ("Mod", "PythonMod"):
            self.divisible.add(call("Mod", *d.args))
            return
        if isinstance(d, Symbol):
            self._set(d, Integer(0))
            return
        if not isinstance(d, Sum):
            return
        symbols = [
            (t, c)
            for t, c in d.terms
            if isinstance(t, Symbol) and not any(o.has(t) for o, _ in d.terms if o is not t)
        ]
        symbols.sort(key=lambda item: (self.is_unbacked_symint(item[0]), _number_of(item[0])), reverse=True)
        for symbol, coefficient in symbols:
            rest = -(d - symbol * coefficient)
            if coefficient in (1, -1):
                self._set(symbol, rest * coefficient)
                return
            if isinstance(rest, Integer) and rest.value % coefficient == 0:
                self._set(symbol, Integer(rest.value // int(coefficient)))
                return

    def _set(self, symbol: Symbol, value: Expr) -> None:
        if symbol in self.replacements or value.has(symbol):
            return
        allowed = self.var_to_range.get(symbol, ValueRanges.unknown_int())
        self.replacements = {s: e.xreplace({symbol: value}) for s, e in self.replacements.items()}
        self.replacements[symbol] = value
        self.reasons[symbol] = user_line()
        if not value.is_number:
            if allowed.lower != -int_oo:
                self._use(relation(">=", value, Integer(int(allowed.lower))))
            if allowed.upper != int_oo:
                self._use(relation("<=", value, Integer(int(allowed.upper))))
            if symbol in self.replacements and value.has(Call):
                self._solve_again(symbol)

    def _solve_again(self, symbol: Symbol) -> None:
        """Replaces the newest symbol of an equality that became simpler by the ranges that it led to."""
        value = self.replacements[symbol]
        simple = self._reduce(value)
        if simple != value:
            del self.replacements[symbol]
            self._use_equality(expand(symbol - simple))

    def _use_bound(self, d: Expr) -> None:
        """Learns a bound of a symbol from an expression that is zero or less."""
        terms, constant = (d.terms, d.constant) if isinstance(d, Sum) else (((d, 1),), 0)
        if len(terms) != 1 or not isinstance(terms[0][0], Symbol):
            return
        (symbol, k), c = terms[0], int(constant)
        current = self.var_to_range.get(symbol, ValueRanges.unknown_int())  # type: ignore[call-overload]
        # k·s + c ≤ 0
        interval = (
            (current.lower, min(current.upper, -c // k))
            if k > 0
            else (max(current.lower, -(-c // -k)), current.upper)
        )
        if interval[0] <= interval[1]:
            self._narrow(symbol, ValueRanges(*interval))  # type: ignore[arg-type]
            if interval[0] == interval[1]:
                self._set(symbol, Integer(int(interval[0])))  # type: ignore[arg-type]

    def _narrow(self, symbol: Symbol, allowed: ValueRanges) -> None:
        """Learns a range, and which line of the program it comes from."""
        if allowed != self.var_to_range.get(symbol):
            self.var_to_range[symbol] = allowed
            self.reasons[symbol] = user_line()

    def _use_difference(self, d: Expr) -> None:
        terms, constant = (d.terms, d.constant) if isinstance(d, Sum) else (((d, 1),), 0)
        if len(terms) != 1 or not isinstance(terms[0][0], Symbol) or constant % terms[0][1]:
            return
        symbol, value = terms[0][0], -constant // terms[0][1]
        current = self.var_to_range.get(symbol)
        if current and current.lower == value < current.upper:
            self._narrow(symbol, ValueRanges(current.lower + 1, current.upper))
        elif current and current.upper == value > current.lower:
            self._narrow(symbol, ValueRanges(current.lower, current.upper - 1))

    def constrain_symbol_range(self, s: Symbol, compiler_min: Any, compiler_max: Any) -> None:
        """Narrows the range of a symbol, without a guard.

        Args:
            s: the symbol.
            compiler_min, compiler_max: the least and the greatest value.
        """
        current = self.var_to_range.get(s, ValueRanges.unknown_int())
        self.var_to_range[s] = current & ValueRanges(compiler_min, compiler_max)
        if self.var_to_range[s].is_singleton():
            self._set(s, Integer(int(self.var_to_range[s].lower)))
        self._new_version()


def _number_of(symbol: Symbol) -> int:
    digits = symbol.name.lstrip("abcdefghijklmnopqrstuvwxyz_")
    return int(digits) if digits.isdigit() else 0
