"""The environment of symbols: their ranges, what was learned of them, and the guards that a trace rests on."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tl_core.symbolic_numbers import SymBool, SymFloat, SymInt

from .dims import DimDynamic, StatelessSymbolicContext, StrictMinMaxConstraint
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
    call,
    expand,
    negated,
    relation,
    sympify,
    true,
)
from .node import SymNode
from .printing import source_text, text
from .ranges import ValueRanges, bounds, int_oo
from .user_lines import asked_by_program, user_line

__all__ = ["RuntimeAssert", "ShapeEnv", "ShapeEnvSettings", "ShapeGuard", "guard_text"]


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


class ShapeEnvSettings(NamedTuple):
    """How an environment makes symbols.

    Args:
        allow_scalar_outputs: whether numbers from elements become symbols.
        allow_dynamic_output_shape_ops: whether shapes from elements do.
        assume_static_by_default: whether sizes are numbers unless said otherwise.
        specialize_zero_one: whether sizes 0 and 1 are numbers.
        duck_shape: whether equal sizes share a symbol.
        prefer_deferred_runtime_asserts_over_guards: whether conditions are checked when the program runs.
        trace_asserts: whether asserts on sizes are recorded as nodes.

    Example:
        >>> type(ShapeEnv().settings).__name__
        'ShapeEnvSettings'
    """

    allow_scalar_outputs: bool
    allow_dynamic_output_shape_ops: bool
    assume_static_by_default: bool
    specialize_zero_one: bool
    duck_shape: bool
    prefer_deferred_runtime_asserts_over_guards: bool
    trace_asserts: bool = False


_STEPS = 2048  # so far from the example's size the end of a range is looked for


def _canonical(e: Expr) -> tuple[str, Expr] | None:
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


def _as_multiple(e: Expr) -> Expr:
    """A condition on a remainder as one that something is a multiple, where it says that."""
    remainder, rest = (e.lhs, e.rhs) if isinstance(e, Relation) else (None, None)
    if isinstance(remainder, Sum) and len(remainder.terms) == 1 and not remainder.constant and rest == 0:
        remainder = remainder.terms[0][0]
        e = relation(e.rel_op, remainder, Integer(0))  # type: ignore[attr-defined]
    if not isinstance(remainder, Call) or remainder.name not in ("Mod", "PythonMod"):
        return e
    of, modulus = remainder.args
    if not isinstance(modulus, Integer) or not isinstance(rest, Integer):
        return e
    if e.rel_op == "==" and 0 < rest.value < modulus.value:  # type: ignore[attr-defined]
        return relation("==", call("Mod", of - rest, modulus), Integer(0))
    if e.rel_op == "!=" and modulus == 2 and rest.value in (0, 1):  # type: ignore[attr-defined]
        return relation("==", call("Mod", of - (1 - rest.value), modulus), Integer(0))
    return e


class ShapeEnv:
    """Knows the symbols that stand for sizes, and collects the guards of one trace.

    Args:
        should_record_events: accepted; events aren't recorded.
        tracked_fakes: the inputs whose sizes were made symbolic, where a caller collects them.
        kwargs: fields of `ShapeEnvSettings`.

    Example:
        >>> env = ShapeEnv()
        >>> len(env.guards)
        0
    """

    def __init__(
        self,
        *,
        should_record_events: bool | None = None,
        tracked_fakes: list[Any] | None = None,
        **kwargs: Any,
    ) -> None:
        said = {
            "allow_scalar_outputs": True,
            "allow_dynamic_output_shape_ops": True,
            "assume_static_by_default": False,
            "specialize_zero_one": True,
            "duck_shape": True,
            "prefer_deferred_runtime_asserts_over_guards": False,
            "trace_asserts": False,
        }
        for name, value in kwargs.items():
            if name not in said and name not in ("co_fields", "allow_complex_guards_as_runtime_asserts"):
                raise TypeError(f"ShapeEnv() got an unexpected keyword argument {name!r}")
            if name in said and value is not None:
                said[name] = value
        self.settings = ShapeEnvSettings(**said)
        self.should_record_events = bool(should_record_events)
        self.tracked_fakes = tracked_fakes
        self.guards: list[ShapeGuard] = []
        self.var_to_val: dict[Symbol, Any] = {}
        self.var_to_range: dict[Symbol, ValueRanges] = {}
        self.var_to_sources: dict[Symbol, list[Any]] = {}
        self.var_to_stack: dict[Symbol, str] = {}
        self.source_to_symbol: dict[str, Symbol] = {}
        self.replacements: dict[Symbol, Expr] = {}
        self.divisible: set[Expr] = set()
        self.deferred_runtime_asserts: dict[Any, list[RuntimeAssert]] = {}
        self.size_like: set[Symbol] = set()
        self.pending_fresh_unbacked_symbols: list[Symbol] = []
        self.unbacked_bindings: dict[Symbol, Any] = {}
        self.val_to_var: dict[Any, Expr] = {}
        self.reasons: dict[Symbol, str] = {}  # where the program made a symbol what it is
        self.assumed: dict[Symbol, int] = {}  # sizes taken to be 2 or more, and the least that was promised
        self.of_results: set[Symbol] = set()  # sizes that only the running program tells
        self.frozen = self.runtime_asserts_frozen = False
        self.version = 0  # changes when something is learned of a symbol
        self._facts: set[tuple[str, Expr]] = set()
        self._counts: dict[str, int] = {}
        self._suppressed = 0
        self._replaced: dict[Expr, Expr] = {}

    # ---- settings
    def __getattr__(self, name: str) -> Any:
        if name in ShapeEnvSettings._fields:
            return getattr(self.settings, name)
        raise AttributeError(f"ShapeEnv has no attribute {name!r}")

    # ---- symbols
    def _fresh(self, prefix: str, positive: bool, integer: bool) -> Symbol:
        number = self._counts.get(prefix, 0)
        self._counts[prefix] = number + 1
        return Symbol(f"{prefix}{number}", positive, integer)

    def create_symbol(
        self,
        val: Any,
        source: Any,
        dynamic_dim: DimDynamic = DimDynamic.DUCK,
        constraint_dim: Any = None,
        positive: bool | None = True,
        do_not_specialize_zero_one: bool = False,
        symbolic_context: Any = None,
    ) -> Expr:
        """The expression for a size: a symbol, or a number where it is static.

        Args:
            val: the size in the example.
            source: where it comes from.
            dynamic_dim: how symbols are made.
            constraint_dim: what was said of it.
            positive: whether it is a size.
            do_not_specialize_zero_one: whether 0 and 1 are symbols as well.
            symbolic_context: accepted.

        Returns:
            The expression.
        """
        name = _source_name(source)
        if dynamic_dim in (DimDynamic.STATIC, DimDynamic.INFER_STRIDE):
            return sympify(val)
        if name in self.source_to_symbol and self.var_to_val.get(self.source_to_symbol[name]) == val:
            return self.source_to_symbol[name]
        specialize = bool(positive) and self.specialize_zero_one and not do_not_specialize_zero_one
        if specialize and val in (0, 1) and not isinstance(val, float):
            return sympify(val)
        if dynamic_dim is DimDynamic.DUCK and self.duck_shape and val in self.val_to_var:
            found = self.val_to_var[val]
            if isinstance(found, Symbol):
                self.var_to_sources[found].append(source)
                self.source_to_symbol[name] = found
            return found
        symbol = self._fresh(
            "zf" if isinstance(val, float) else "s", bool(positive), not isinstance(val, float)
        )
        self.add_var_to_val(symbol, val)
        self.var_to_sources[symbol] = [source]
        self.source_to_symbol[name] = symbol
        self.var_to_stack[symbol] = user_line()
        low = (2 if specialize else 0) if positive else -int_oo
        allowed = ValueRanges(low, int_oo) if not isinstance(val, float) else ValueRanges(-math.inf, math.inf)
        if isinstance(constraint_dim, StrictMinMaxConstraint):
            allowed = allowed & constraint_dim.vr
        self.var_to_range[symbol] = allowed
        if dynamic_dim is DimDynamic.DUCK and self.duck_shape:
            self.val_to_var[val] = symbol
        return symbol

    def create_unspecified_symbol(
        self,
        val: Any,
        source: Any,
        dynamic_dim: DimDynamic = DimDynamic.DUCK,
        constraint_dim: Any = None,
        symbolic_context: Any = None,
    ) -> Expr:
        """The expression for a number of which nothing is said, not even that it is positive."""
        return self.create_symbol(val, source, dynamic_dim, constraint_dim, None, True)

    def create_unspecified_symint_and_symbol(
        self, value: Any, source: Any, dynamic_dim: DimDynamic, excluded_value: Any = None
    ) -> Any:
        """A symbolic int of which nothing is said.

        Args:
            value: its value in the example.
            source: where it comes from.
            dynamic_dim: how symbols are made.
            excluded_value: accepted.

        Returns:
            The number.
        """
        return self.create_symintnode(
            self.create_unspecified_symbol(value, source, dynamic_dim), hint=value, source=source
        )

    def create_symbolic_sizes_strides_storage_offset(
        self, ex: Any, source: Any, *, symbolic_context: Any = None
    ) -> tuple[tuple[Any, ...], tuple[Any, ...], Any]:
        """The geometry of a tensor with symbols for its dynamic sizes.

        Args:
            ex: the tensor.
            source: where it comes from.
            symbolic_context: what is dynamic.

        Returns:
            Sizes, strides and offset, of ints and symbolic ints.
        """
        rank = ex.dim()
        if symbolic_context is None:
            kind = DimDynamic.STATIC if self.assume_static_by_default else DimDynamic.DUCK
            symbolic_context = StatelessSymbolicContext([kind] * rank)
        constraints = symbolic_context.constraint_sizes or [None] * rank
        sizes = [
            self.create_symbol(
                n,
                _of_dimension(source, "size", i),
                symbolic_context.dynamic_sizes[i],
                constraints[i],
                do_not_specialize_zero_one=False,
            )
            for i, n in enumerate(ex.shape)
        ]
        strides = self._strides_of(list(ex.shape), list(ex.stride()), sizes)
        offset = ex.storage_offset()
        made = [self.create_symintnode(e, hint=h) for e, h in zip(sizes, ex.shape, strict=True)]
        steps = [self.create_symintnode(e, hint=h) for e, h in zip(strides, ex.stride(), strict=True)]
        return tuple(made), tuple(steps), offset

    def _strides_of(self, sizes: list[int], strides: list[int], exprs: list[Expr]) -> list[Expr]:
        """Strides as products of sizes and strides where they are, else numbers."""
        found: list[Expr | None] = [None] * len(sizes)
        known: dict[int, Expr] = {1: Integer(1), 0: Integer(0)}
        order = sorted(range(len(sizes)), key=lambda i: (strides[i], sizes[i] != 1, -i))
        for i in order:
            e = known.get(strides[i], Integer(strides[i]))
            found[i] = e
            known.setdefault(strides[i] * sizes[i], exprs[i] * e)
        return found  # type: ignore[return-value]

    def add_var_to_val(self, expr: Symbol, val: Any) -> None:
        """Says what a symbol is in the example.

        Args:
            expr: the symbol.
            val: its value.
        """
        if expr in self.var_to_val:
            raise AssertionError(f"{expr} has a value already")
        self.var_to_val[expr] = val

    def create_symintnode(self, sym: Any, *, hint: Any, source: Any = None) -> Any:
        """A symbolic int, or a plain one where the expression is a number."""
        e = sympify(sym)
        return int(e) if isinstance(e, Integer) else SymInt(SymNode(e, self, int, hint))

    def create_symfloatnode(self, sym: Any, *, hint: Any, source: Any = None) -> Any:
        """A symbolic float, or a plain one where the expression is a number."""
        e = sympify(sym)
        return float(e) if isinstance(e, (Float, Integer)) else SymFloat(SymNode(e, self, float, hint))

    def create_symboolnode(self, sym: Any) -> Any:
        """A symbolic bool."""
        return SymBool(SymNode(sympify(sym), self, bool))

    def _unbacked(self, prefix: str, integer: bool) -> Symbol:
        symbol = self._fresh(prefix, False, integer)
        self.var_to_stack[symbol] = user_line()
        self.pending_fresh_unbacked_symbols.append(symbol)
        self.var_to_range[symbol] = ValueRanges(-int_oo, int_oo)
        return symbol

    def create_unbacked_symint(self, source: Any = None) -> SymInt:
        """A symbolic int whose value depends on data, so that it has no hint."""
        return SymInt(SymNode(self._unbacked("u", True), self, int))

    def new_dynamic_size(self, least: int = 0, most: int | None = None) -> SymInt:
        """A size that depends on data.

        Args:
            least: its least value.
            most: its greatest; None: any.
        """
        size = self.create_unbacked_symint()
        symbol = size.node.expr
        self.size_like.add(symbol)
        self.var_to_range[symbol] = ValueRanges(least, int_oo if most is None else most)
        return size

    def create_unbacked_symfloat(self) -> SymFloat:
        """A symbolic float whose value depends on data."""
        return SymFloat(SymNode(self._unbacked("zuf", False), self, float))

    def create_unbacked_symbool(self) -> SymBool:
        """A symbolic bool whose value depends on data."""
        symbol = self._unbacked("u", True)
        self.var_to_range[symbol] = ValueRanges(0, 1)
        return SymBool(SymNode(Relation("==", symbol, Integer(1)), self, bool))

    def is_unbacked_symint(self, symbol: Symbol) -> bool:
        """Whether a symbol's value depends on data."""
        return symbol not in self.var_to_val

    @contextlib.contextmanager
    def ignore_fresh_unbacked_symbols(self) -> Iterator[None]:
        """A region whose new symbols need not occur in results."""
        before = self.pending_fresh_unbacked_symbols[:]
        try:
            yield
        finally:
            self.pending_fresh_unbacked_symbols[:] = before

    # ---- what is known
    def replace(self, expr: Any) -> Any:
        """The expression with what was learned of its symbols put in.

        Args:
            expr: the expression.

        Returns:
            The expression.
        """
        if not isinstance(expr, Expr) or not self.replacements:
            return expr
        found = self._replaced.get(expr)
        if found is None:
            found = self._replaced[expr] = expr.xreplace(self.replacements)
        return found

    def _learned(self) -> None:
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
        return self._simplified(e)

    def _simplified(self, e: Expr) -> Expr:
        rebuilt = [self._simplified(a) for a in e.args]
        if rebuilt and any(a is not b for a, b in zip(rebuilt, e.args, strict=True)):
            e = e._rebuild(rebuilt)
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
        known = _canonical(e)
        if known is None:
            return None
        return self._by_facts(*known)

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

    # ---- guards
    def evaluate_sym_node(
        self, sym_node: Any, size_oblivious: bool = False, fallback_value: Any = None
    ) -> Any:
        """The value of a node, which from now on is a guard."""
        if sym_node.constant is not None:
            return sym_node.constant
        if self.assumed and sym_node.pytype is bool:
            self._check_assumed(self.replace(sym_node._expr))
        found = self.evaluate_expr(
            sym_node._expr, size_oblivious=size_oblivious, fallback_value=fallback_value
        )
        return sym_node.pytype(found)

    def evaluate_expr(
        self,
        orig_expr: Any,
        hint: Any = None,
        fx_node: Any = None,
        size_oblivious: bool = False,
        fallback_value: Any = None,
        *,
        forcing_spec: bool = False,
    ) -> Any:
        """The value of an expression in the example, which from now on is a guard unless it always is.

        Args:
            orig_expr: the expression.
            hint: its value, where the caller knows it.
            fx_node: accepted.
            size_oblivious: whether sizes without a hint count as neither 0 nor 1.
            fallback_value: the answer where it depends on data.
            forcing_spec: accepted.

        Returns:
            The number.

        Raises:
            GuardOnDataDependentSymNode: it depends on data.
        """
        e = self.simplify(orig_expr)
        known = self._statically(e, size_oblivious)
        if known is not None:
            return known
        value = self.size_hint(e, allow_none=True)
        if value is None:
            value = hint if hint is not None and not e.free_symbols - set(self.var_to_val) else None
        if value is None:
            if fallback_value is not None:
                return fallback_value
            raise self._data_dependent(e)
        guard = (e if value else negated(e)) if isinstance(value, bool) else Relation("==", e, sympify(value))
        guard = _as_multiple(guard)
        self._note(guard, size_oblivious)
        return value

    def _check_assumed(self, e: Expr) -> None:
        """Lets the program check an answer to a branch that holds only as sizes are taken to be 2 or more."""
        held = self.var_to_range
        promised = {s: n for s, n in self.assumed.items() if held[s].lower == 2 and s in e.free_symbols}
        known = self._statically(self.simplify(e)) if promised else None
        if known is None or not asked_by_program():
            return
        low, high = bounds(e, {**held, **{s: ValueRanges(n, held[s].upper) for s, n in promised.items()}})
        if low != high:
            self._check_at_run(e if known else negated(e))

    def _check_at_run(self, condition: Expr) -> None:
        checks = self.deferred_runtime_asserts.setdefault(None, [])
        if all(c.expr != condition for c in checks):
            checks.append(
                RuntimeAssert(condition, f"Expected {condition} to be True but got False", user_line())
            )

    def expect_true(self, expr: Any) -> bool:
        """A condition that the program asserts: known, a guard, or checked when the program runs."""
        e = self.simplify(expr)
        known = self._statically(e)
        if known is not None:
            return bool(known)
        unbacked = any(self.is_unbacked_symint(s) for s in e.free_symbols)
        if not unbacked and not self.prefer_deferred_runtime_asserts_over_guards:
            return bool(self.evaluate_expr(e))
        held = RuntimeAssert(e, f"Expected {e} to be True but got False", user_line())
        owner = max((s for s in e.free_symbols if self.is_unbacked_symint(s)), key=str, default=None)
        self.deferred_runtime_asserts.setdefault(owner, []).append(held)
        self._use(e)
        self._learned()
        return True

    @contextlib.contextmanager
    def branch(self) -> Iterator[Callable[[], list[RuntimeAssert]]]:
        """A region that may not run: what the program asserts there of numbers from around it holds only there.

        Guards, and what is known of symbols that were made in the region, are kept.

        Yields:
            A function that gives the checks of the region, which are its own to make.
        """
        before = {id(check) for check in self._checks()}
        symbols, guards = set(self.var_to_range), len(self.guards)
        known = self.replacements, dict(self.var_to_range), set(self._facts), set(self.divisible)

        def made() -> list[RuntimeAssert]:
            return [check for check in self._checks() if id(check) not in before]

        try:
            yield made
        finally:
            own = made()
            for owner, held in self.deferred_runtime_asserts.items():
                self.deferred_runtime_asserts[owner] = [c for c in held if id(c) in before]
            replaced, ranges = self.replacements, self.var_to_range
            self.replacements, self.var_to_range, self._facts, self.divisible = known
            self.replacements = {
                **{s: e for s, e in replaced.items() if s not in symbols},
                **self.replacements,
            }
            self.var_to_range.update({s: r for s, r in ranges.items() if s not in symbols})
            for guard in self.guards[guards:]:
                self._use(guard.expr)
            for check in own:
                if not check.expr.free_symbols & symbols:
                    self._use(check.expr)
            self._learned()

    def _checks(self) -> list[RuntimeAssert]:
        return [check for held in self.deferred_runtime_asserts.values() for check in held]

    def _note(self, guard: Expr, size_oblivious: bool = False) -> None:
        if self._suppressed:
            return
        if self.frozen and not isinstance(guard, Boolean):
            return
        self.guards.append(ShapeGuard(guard, user_line(), size_oblivious))
        if self.of_results and guard.free_symbols & self.of_results:
            self._check_at_run(guard)
        self._use(guard)
        self._learned()

    def _use(self, fact: Expr) -> None:
        """Learns from a condition that holds."""
        if isinstance(fact, Logic) and fact.op == "and":
            for part in fact.args:
                self._use(part)
            return
        known = _canonical(fact)
        if known is None:
            return
        op, d = known
        self._facts.add(known)
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
        held, hint = self.var_to_range.get(symbol), self.var_to_val.get(symbol)
        if len(symbols) != 1 or held is None or not isinstance(hint, int) or symbol in self.replacements:
            return
        low, high = (self._last_that_holds(fact, symbol, hint, end) for end in (held.lower, held.upper))
        for allowed in (
            ValueRanges(low, held.upper),
            ValueRanges(held.lower, high),
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
        held, divisible = self.var_to_range[symbol], self.divisible
        self.var_to_range[symbol], self.divisible = allowed, set()
        try:
            return bool(bounds(self._simplified(fact), self.var_to_range)[0])
        finally:
            self.var_to_range[symbol], self.divisible = held, divisible

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
        simple = self._simplified(value)
        if simple != value:
            del self.replacements[symbol]
            self._use_equality(expand(symbol - simple))

    def _use_bound(self, d: Expr) -> None:
        """Learns a bound of a symbol from an expression that is zero or less."""
        terms, constant = (d.terms, d.constant) if isinstance(d, Sum) else (((d, 1),), 0)
        if len(terms) != 1 or not isinstance(terms[0][0], Symbol):
            return
        (symbol, k), c = terms[0], int(constant)
        held = self.var_to_range.get(symbol, ValueRanges.unknown_int())  # type: ignore[call-overload]
        # k·s + c ≤ 0
        made = (held.lower, min(held.upper, -c // k)) if k > 0 else (max(held.lower, -(-c // -k)), held.upper)
        if made[0] <= made[1]:
            self._narrow(symbol, ValueRanges(*made))  # type: ignore[arg-type]
            if made[0] == made[1]:
                self._set(symbol, Integer(int(made[0])))  # type: ignore[arg-type]

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
        held = self.var_to_range.get(symbol)
        if held and held.lower == value < held.upper:
            self._narrow(symbol, ValueRanges(held.lower + 1, held.upper))
        elif held and held.upper == value > held.lower:
            self._narrow(symbol, ValueRanges(held.lower, held.upper - 1))

    def constrain_symbol_range(self, s: Symbol, compiler_min: Any, compiler_max: Any) -> None:
        """Narrows the range of a symbol, without a guard.

        Args:
            s: the symbol.
            compiler_min, compiler_max: the least and the greatest value.
        """
        held = self.var_to_range.get(s, ValueRanges.unknown_int())
        self.var_to_range[s] = held & ValueRanges(compiler_min, compiler_max)
        if self.var_to_range[s].is_singleton():
            self._set(s, Integer(int(self.var_to_range[s].lower)))
        self._learned()

    def _data_dependent(self, e: Expr) -> GuardOnDataDependentSymNode:
        unbacked = sorted((s for s in e.free_symbols if self.is_unbacked_symint(s)), key=str)
        made = "".join(
            f"\n  {s} was made at {self.var_to_stack[s]}" for s in unbacked if self.var_to_stack.get(s)
        )
        where = user_line()
        message = (
            f"Could not guard on data-dependent expression {e} (unhinted: {e}).  (Size-like symbols: "
            f"{', '.join(sorted(map(str, self.size_like & e.free_symbols))) or 'none'})\n\n"
            "The program branches on, or makes a size of, a value that only the data decide, at "
            f"{where or '?'}.{made}\n"
            "torch.cond(pred, true_fn, false_fn, operands) keeps both branches; torch._check(condition) states what "
            "always holds"
        )
        return GuardOnDataDependentSymNode(e, message)

    @contextlib.contextmanager
    def suppress_guards(self) -> Iterator[None]:
        """A region whose questions leave no guards."""
        self._suppressed += 1
        try:
            yield
        finally:
            self._suppressed -= 1

    def freeze(self) -> None:
        """No guard is noted from now on."""
        self.frozen = True

    def freeze_runtime_asserts(self) -> None:
        """No condition for the running program is noted from now on."""
        self.runtime_asserts_frozen = True

    # ---- what came of it
    def get_nontrivial_guards(self) -> list[Expr]:
        """The guards that aren't always true by what is known now."""
        found = [self.simplify(g.expr) for g in self.guards]
        return [e for e in found if self._nontrivial(e)]

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
        wanted = None if symbols is None else set(symbols)
        found = [g.expr for g in self.guards]
        found += [a.expr for held in self.deferred_runtime_asserts.values() for a in held]
        return tuple(e for e in found if wanted is None or e.free_symbols & wanted)

    def get_implications(self, e: Any) -> tuple[tuple[Expr, Any], ...]:
        """What follows from a condition.

        Args:
            e: the condition.

        Returns:
            Pairs of an expression and true or false.
        """
        return (e, true), (negated(e), sympify(False))

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
        reference = source_ref or _source_name
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
            e = self.simplify(guard.expr)
            if isinstance(e, Boolean) or not self._nontrivial_but_ranges(e):
                continue
            lines.append(source_text(e, lambda s: names.get(s, s.name)))
        for symbol, name in names.items():
            held = self.var_to_range.get(symbol)
            if held:
                low = f"{held.lower} <= " if held.lower not in (-int_oo, 0) else ""
                high = f" <= {held.upper}" if held.upper != int_oo else ""
                if low or high:
                    lines.append(f"{low}{name}{high}")
        return [_Exprs(list(dict.fromkeys(lines))) for _ in langs]

    def _nontrivial_but_ranges(self, e: Expr) -> bool:
        single = len(e.free_symbols) == 1 and isinstance(e, Relation) and _canonical(e) is not None
        return not (
            single and self._statically(e) is True and ("==", e) not in self._facts and not e.has(Call)
        )

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
            "__builtins__": {"max": max, "min": min},
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
        found: dict[Symbol, int] = {}
        for value, arg in zip(placeholders, args, strict=True):
            pairs = zip(_inputs_of(value, ""), _inputs_of(arg, ""), strict=True)
            for (e, _), (n, _) in pairs:
                if isinstance(e, Symbol):
                    found[e] = int(n)
        return found

    def evaluate_symexpr(self, code: str) -> Any:
        """The value in the example of an expression in text."""
        from .parsing import parse

        return parse(code, {s.name: s for s in self.var_to_val}).evaluate(self.var_to_val)

    def deserialize_symexpr(self, code: str) -> Any:
        """The symbolic number of an expression in text."""
        from .parsing import parse

        e = parse(code, {s.name: s for s in self.var_to_range})
        return self.create_symintnode(e, hint=self.size_hint(e, allow_none=True))

    def check_equal(self, other: ShapeEnv) -> None:
        """Raises unless another environment knows the same.

        Args:
            other: the environment.

        Raises:
            AssertionError: it does not.
        """
        for name in ("var_to_val", "var_to_range", "replacements", "divisible"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise AssertionError(f"ShapeEnv not equal: field {name}: {mine} and {theirs}")
        if [g.expr for g in self.guards] != [g.expr for g in other.guards]:
            raise AssertionError("ShapeEnv not equal: field guards")

    def cleanup(self) -> None:
        """Lets go of what refers to tensors."""
        self.tracked_fakes = None


class _Exprs:
    def __init__(self, exprs: list[str]) -> None:
        self.exprs = exprs


def _number_of(symbol: Symbol) -> int:
    digits = symbol.name.lstrip("abcdefghijklmnopqrstuvwxyz_")
    return int(digits) if digits.isdigit() else 0


def _source_name(source: Any) -> str:
    if isinstance(source, str):
        return source
    name = source.name
    return name() if callable(name) else str(name)


def _of_dimension(source: Any, kind: str, i: int) -> str:
    return f"{_source_name(source)}.{kind}()[{i}]"


def _inputs_of(value: Any, source: Any) -> list[tuple[Any, Any]]:
    """The numbers that an input brings with it: the sizes of a tensor, a number itself."""
    if hasattr(value, "shape") and hasattr(value, "stride"):
        name = _source_name(source)
        return [(_expr_of(n), f"{name}.size()[{i}]") for i, n in enumerate(value.shape)]
    if isinstance(value, (SymInt, SymFloat, int, float)) and not isinstance(value, bool):
        return [(_expr_of(value), source)]
    return []


def _expr_of(n: Any) -> Any:
    return sympify(n)


def guard_text(e: Expr, names: Mapping[Symbol, str]) -> str:
    """A guard as it is told: over the inputs' sizes.

    Args:
        e: the guard.
        names: the text of each symbol.

    Returns:
        The text.
    """
    return source_text(e, lambda s: names.get(s, s.name))
