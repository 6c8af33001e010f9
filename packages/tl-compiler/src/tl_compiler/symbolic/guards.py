"""Guards: the conditions that a trace rests on, and the Python code that checks them for other inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tl_core.symbolic.numbers import SymFloat, SymInt

from .canonical_forms import call, relation
from .expression import (
    Boolean,
    Call,
    Expr,
    Integer,
    Relation,
    Sum,
    Symbol,
    sympify,
)
from .printing import source_text
from .ranges import bounds, int_oo
from .symbol_maker import ShapeEnvSettings, SymbolMaker, source_name

__all__ = ["GuardedSymbols", "RuntimeAssert", "ShapeGuard", "as_multiple", "guard_text"]


class ShapeGuard(NamedTuple):
    """A condition that the trace rests on, and where the program asked for it.

    Args:
        expr: the condition.
        sloc: where it was asked for.
        size_oblivious: whether sizes were taken to be at least 2.

    Example:
        >>> ShapeGuard(None, "model.py:3").sloc
        'model.py:3'
    """

    expr: Expr
    sloc: str
    size_oblivious: bool = False


class RuntimeAssert(NamedTuple):
    """A condition that is checked when the program runs.

    Args:
        expr: the condition.
        msg: the message.
        stack: the lines that asked for it.

    Example:
        >>> RuntimeAssert(None, "rows must be even", "").msg
        'rows must be even'
    """

    expr: Expr
    msg: str
    stack: str


class GuardedSymbols(SymbolMaker):
    """Symbols with the guards of one trace, and these as text and code.

    Args:
        settings: those of `SymbolMaker`.

    Example:
        >>> from tl_compiler.symbolic.shape_env import ShapeEnv
        >>> ShapeEnv().get_axioms()
        ()
    """

    def __init__(self, settings: ShapeEnvSettings) -> None:
        super().__init__(settings)
        self.guards: list[ShapeGuard] = []
        self.deferred_runtime_asserts: dict[Any, list[RuntimeAssert]] = {}

    def get_nontrivial_guards(self) -> list[Expr]:
        """The guards that aren't always true by what is known now."""
        conditions = [self.simplify(g.expr) for g in self.guards]
        return [e for e in conditions if self._nontrivial(e)]

    def _nontrivial(self, e: Expr) -> bool:
        low, high = bounds(e, self.var_to_range)
        return not (low == high == 1)

    def format_guards(self, verbose: bool = False) -> str:
        """The guards as text.

        Args:
            verbose: whether the lines that asked for them are told.

        Returns:
            A line for each.
        """
        return "\n".join(f" - {g.expr}{' ' + g.sloc if verbose else ''}" for g in self.guards)

    def get_axioms(self, symbols: Any = None, compute_hint: bool = False) -> tuple[Expr, ...]:
        """The conditions that hold when the program runs.

        Args:
            symbols: only those that occur with these.
            compute_hint: accepted.

        Returns:
            The conditions.
        """
        selection = None if symbols is None else set(symbols)
        conditions = [g.expr for g in self.guards]
        conditions += [a.expr for asserts in self.deferred_runtime_asserts.values() for a in asserts]
        return tuple(e for e in conditions if selection is None or e.free_symbols & selection)

    def get_pruned_guards(self, symints: Sequence[Any]) -> list[ShapeGuard]:
        """The guards in which only the symbols of some numbers occur.

        Args:
            symints: the numbers.

        Returns:
            The guards.
        """
        symbols = {s for i in symints if isinstance(i, SymInt) for s in i.node.expr.free_symbols}
        return [g for g in self.guards if g.expr.free_symbols <= symbols]

    def produce_guards(self, *args: Any, **kwargs: Any) -> list[str]:
        """The guards as Python code; `produce_guards_verbose` has the arguments."""
        return self.produce_guards_verbose(*args, **kwargs)[0].exprs

    def produce_guards_verbose(
        self,
        placeholders: Sequence[Any],
        sources: Sequence[Any],
        source_ref: Any = None,
        *,
        guards: list[ShapeGuard] | None = None,
        input_contexts: Any = None,
        equalities_inputs: Any = None,
        _simplified: bool = False,
        ignore_static: bool = True,
        langs: tuple[str, ...] = ("python", "verbose_python"),
    ) -> list[Any]:
        """The guards as Python code over the inputs.

        Args:
            placeholders: the inputs: tensors and numbers.
            sources: where they come from.
            source_ref: from a source to its text.
            guards: these instead of those of the trace.
            input_contexts, equalities_inputs: accepted.
            ignore_static: whether sizes that are always one number are left out.
            langs: for which languages; the first two are Python.

        Returns:
            For each language an object with the list `exprs`.
        """
        reference = source_ref or source_name
        names: dict[Symbol, str] = {}
        lines: list[str] = []
        for value, source in zip(placeholders, sources, strict=True):
            for e, n in _inputs_of(value, source):
                name = reference(n) if not isinstance(n, str) else n
                e = self.replace(e)
                if isinstance(e, Symbol) and e not in names:
                    names[e] = name
                elif not (ignore_static and isinstance(e, Integer)):
                    lines.append(f"{name} == {source_text(e, lambda s: names.get(s, s.name))}")
        for guard in self.guards if guards is None else guards:
            e = self.replace(guard.expr)  # what was learned of remainders holds by this guard alone
            if isinstance(e, Boolean) or not self._nontrivial(e):
                continue
            lines.append(source_text(e, lambda s: names.get(s, s.name)))
        for symbol, name in names.items():
            interval = self.var_to_range.get(symbol)
            if interval:
                low = f"{interval.lower} <= " if interval.lower not in (-int_oo, 0) else ""
                high = f" <= {interval.upper}" if interval.upper != int_oo else ""
                if low or high:
                    lines.append(f"{low}{name}{high}")
        return [_Exprs(list(dict.fromkeys(lines))) for _ in langs]

    def produce_guards_expression(
        self, placeholders: Sequence[Any], *, guards: Any = None, ignore_static: bool = True
    ) -> str | None:
        """The guards as one expression over `L['t_0']`, `L['t_1']`…

        Args:
            placeholders: the symbolic inputs.
            guards: these instead of those of the trace.
            ignore_static: whether sizes that are always one number are left out.

        Returns:
            The code, or None where nothing is guarded.
        """
        names = [f"L['t_{i}']" for i in range(len(placeholders))]
        lines = self.produce_guards_verbose(placeholders, names, guards=guards, ignore_static=ignore_static)[
            0
        ].exprs
        return " and ".join(f"({line})" for line in lines) if lines else None

    def evaluate_guards_expression(self, code: str, args: Sequence[Any]) -> bool:
        """Whether the guards of `produce_guards_expression` hold for arguments.

        Args:
            code: the expression.
            args: the arguments.

        Returns:
            Whether they hold.
        """
        env = {
            "L": {f"t_{i}": a for i, a in enumerate(args)},
            "math": math,
            "__builtins__": {"abs": abs, "float": float, "max": max, "min": min, "round": round},
        }
        return bool(eval(code, env))

    def evaluate_guards_for_args(
        self, placeholders: Sequence[Any], args: Sequence[Any], *, ignore_static: bool = True
    ) -> bool:
        """Whether the guards hold for arguments.

        Args:
            placeholders: the symbolic inputs.
            args: the arguments.
            ignore_static: whether sizes that are always one number are left out.

        Returns:
            Whether they hold.
        """
        code = self.produce_guards_expression(placeholders, ignore_static=ignore_static)
        return True if code is None else self.evaluate_guards_expression(code, args)

    def bind_symbols(self, placeholders: Sequence[Any], args: Sequence[Any]) -> dict[Symbol, int]:
        """The values of symbols from arguments.

        Args:
            placeholders: the symbolic inputs.
            args: the arguments.

        Returns:
            A number for each symbol.
        """
        values: dict[Symbol, int] = {}
        for value, arg in zip(placeholders, args, strict=True):
            pairs = zip(_inputs_of(value, ""), _inputs_of(arg, ""), strict=True)
            for (e, _), (n, _) in pairs:
                if isinstance(e, Symbol):
                    values[e] = int(n)
        return values


class _Exprs:
    def __init__(self, exprs: list[str]) -> None:
        self.exprs = exprs


def _inputs_of(value: Any, source: Any) -> list[tuple[Any, Any]]:
    """The numbers that an input brings with it: the sizes of a tensor, a number itself."""
    if hasattr(value, "shape") and hasattr(value, "stride"):
        name = source_name(source)
        return [(sympify(n), f"{name}.size()[{i}]") for i, n in enumerate(value.shape)]
    if isinstance(value, (SymInt, SymFloat, int, float)) and not isinstance(value, bool):
        return [(sympify(value), source)]
    return []


def as_multiple(e: Expr) -> Expr:
    """A condition on a remainder as one that something is a multiple, where it says that."""
    if not isinstance(e, Relation):
        return e
    op, remainder, rest = e.rel_op, e.lhs, e.rhs
    result: Expr = e
    if isinstance(remainder, Sum) and len(remainder.terms) == 1 and not remainder.constant and rest == 0:
        remainder = remainder.terms[0][0]
        result = relation(op, remainder, Integer(0))
    if not isinstance(remainder, Call) or remainder.name not in ("Mod", "PythonMod"):
        return result
    of, modulus = remainder.args
    if not isinstance(modulus, Integer) or not isinstance(rest, Integer):
        return result
    if op == "==" and rest.value == 0 and isinstance(of, Sum) and len(of.terms) == 1 and not of.constant:
        term, factor = of.terms[0]
        if isinstance(factor, int):
            step = Integer(modulus.value // math.gcd(factor, modulus.value))
            return relation("==", call("Mod", term, step), Integer(0))
    if op == "==" and 0 < rest.value < modulus.value:
        return relation("==", call("Mod", of - rest, modulus), Integer(0))
    if op == "!=" and modulus == 2 and rest.value in (0, 1):
        return relation("==", call("Mod", of - (1 - rest.value), modulus), Integer(0))
    return result


def guard_text(e: Expr, names: Mapping[Symbol, str]) -> str:
    """A guard as it is told: over the inputs' sizes.

    Args:
        e: the guard.
        names: the text of each symbol.

    Returns:
        The text.
    """
    return source_text(e, lambda s: names.get(s, s.name))
