"""A system of constraints on the sizes of inputs, and what to say of them."""

from __future__ import annotations

from typing import Any

from tl_compiler.symbolic.canonical_forms import call, rebuild
from tl_compiler.symbolic.expression import Boolean, Call, Expr, Integer, Symbol, sympify
from tl_compiler.symbolic.printing import source_text
from tl_compiler.symbolic.ranges import ValueRanges, int_oo
from tl_compiler.symbolic.shape_env import ShapeEnv

__all__ = ["DimConstraints"]


class DimConstraints:
    """Collects conditions on symbols, and solves them: which sizes are numbers, which ranges remain.

    Args:
        symbol_to_source: where each symbol comes from.
        var_to_val: the values of the symbols in the example.
        marked_dynamic: the symbols that were said to be dynamic.
        source_name_to_debug_name: names for sources.
    """

    def __init__(
        self,
        symbol_to_source: dict[Symbol, list[Any]],
        var_to_val: dict[Symbol, int],
        marked_dynamic: set[Symbol],
        source_name_to_debug_name: dict[str, str],
    ) -> None:
        self._sources, self._values, self._marked = symbol_to_source, var_to_val, marked_dynamic
        self._names = source_name_to_debug_name
        self._env = ShapeEnv()
        for symbol, value in var_to_val.items():
            self._env.var_to_val[symbol] = value
            self._env.var_to_range[symbol] = ValueRanges(0 if symbol.positive else -int_oo, int_oo)
        self._static_results: set[str] = set()
        self._dynamic_results: set[str] = set()
        self._symbolic_equivalences: list[tuple[Any, Expr]] = []
        self._congruences: dict[Symbol, set[Expr]] = {}

    def rewrite_with_congruences(self, s: Symbol, expr: Any) -> Any:
        """An expression with what its quotients and remainders of a symbol are in the example, noted as congruences.

        Args:
            s: the symbol.
            expr: the expression.

        Returns:
            The expression.
        """
        if not isinstance(expr, Expr) or not expr.args:
            return expr
        result = rebuild(expr, [self.rewrite_with_congruences(s, a) for a in expr.args])
        if (
            not isinstance(result, Call)
            or result.name not in ("FloorDiv", "Mod", "PythonMod")
            or not result.has(s)
        ):
            return result
        base, divisor = result.args
        remainder = call("Mod", base, divisor).evaluate(self._values)
        congruence = call("Mod", base - remainder, divisor)
        if congruence != 0:
            self._congruences.setdefault(s, set()).add(congruence)
        if result.name == "FloorDiv":
            return call("FloorDiv", base - remainder, divisor) if remainder else result
        return sympify(remainder)

    def add_equality(self, source: Any, expr: Any) -> None:
        """Says that a size equals an expression.

        Args:
            source: where the size comes from.
            expr: the expression.
        """
        if isinstance(expr, Integer):
            self._static_results.add(f"{self._name(source)} == {expr}")
        else:
            self._symbolic_equivalences.append((source, expr))

    def add(self, expr: Any) -> bool:
        """Adds a condition.

        Args:
            expr: the condition.

        Returns:
            Whether it holds for all sizes, so that it adds nothing.
        """
        e = self._env.simplify(expr)
        if isinstance(e, Boolean):
            return bool(e)
        for symbol in e.free_symbols:
            self.rewrite_with_congruences(symbol, e)
        self._env.learn(e)
        self._dynamic_results.add(source_text(e, self._symbol_text))
        return False

    def _name(self, source: Any) -> str:
        name = source if isinstance(source, str) else source.name() if callable(source.name) else source.name
        return self._names.get(name, name)

    def _symbol_text(self, symbol: Symbol) -> str:
        sources = self._sources.get(symbol)
        return self._name(sources[0]) if sources else symbol.name

    def solve(self) -> None:
        """Works out which sizes are numbers."""
        for symbol, value in self._env.replacements.items():
            if isinstance(value, Integer):
                self._static_results.add(f"{self._symbol_text(symbol)} == {value}")
            else:
                self._dynamic_results.add(
                    f"{self._symbol_text(symbol)} == {source_text(value, self._symbol_text)}"
                )

    def forced_specializations(self) -> dict[str, Any]:
        """The sizes that are numbers, though they were said to be dynamic.

        Returns:
            From names to expressions.
        """
        return {
            self._symbol_text(s): e
            for s, e in self._env.replacements.items()
            if isinstance(e, Integer) and s in self._marked
        }

    def prettify_results(
        self,
        original_signature: Any,
        dynamic_shapes: Any,
        constraint_violation_error: Any,
        forced_specializations: dict[str, str],
    ) -> str:
        """What was found, as text.

        Args:
            original_signature: the function's.
            dynamic_shapes: what was said.
            constraint_violation_error: the error that is told.
            forced_specializations: the sizes that are numbers.

        Returns:
            The text.
        """
        lines = [f"  {name} = {value}" for name, value in forced_specializations.items()]
        for symbol, interval in self._env.var_to_range.items():
            if symbol in self._env.replacements or (interval.lower <= 2 and interval.upper == int_oo):
                continue
            low = f", min={interval.lower}" if interval.lower > 2 else ""
            high = f", max={interval.upper}" if interval.upper != int_oo else ""
            name = self._symbol_text(symbol)
            lines.append(f"  {name} = Dim('{name}'{low}{high})")
        return "\nSuggested fixes:\n" + "\n".join(lines) if lines else ""
