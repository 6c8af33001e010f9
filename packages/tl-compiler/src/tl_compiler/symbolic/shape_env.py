"""The environment of symbols: it answers what a program asks of sizes, and notes the guards that a trace rests on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from .canonical_forms import negate
from .expression import Boolean, Expr, Relation, Symbol, sympify, true
from .guards import GuardedSymbols, RuntimeAssert, ShapeGuard, as_multiple
from .ranges import ValueRanges, bounds
from .symbol_maker import ShapeEnvSettings
from .user_lines import asked_by_program, user_line

__all__ = ["ShapeEnv"]


class ShapeEnv(GuardedSymbols):
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
        settings = {
            "allow_scalar_outputs": True,
            "allow_dynamic_output_shape_ops": True,
            "assume_static_by_default": False,
            "specialize_zero_one": True,
            "duck_shape": True,
            "prefer_deferred_runtime_asserts_over_guards": False,
            "trace_asserts": False,
        }
        for name, value in kwargs.items():
            if name not in settings and name not in ("co_fields", "allow_complex_guards_as_runtime_asserts"):
                raise TypeError(f"ShapeEnv() got an unexpected keyword argument {name!r}")
            if name in settings and value is not None:
                settings[name] = value
        super().__init__(ShapeEnvSettings(**settings))
        self.should_record_events = bool(should_record_events)
        self.tracked_fakes = tracked_fakes
        self.assumed: dict[Symbol, int] = {}  # sizes taken to be 2 or more, and the least that was promised
        self.of_results: set[Symbol] = set()  # sizes that only the running program tells
        self.frozen = self.runtime_asserts_frozen = False
        self._suppressed = 0

    # ---- questions
    def evaluate_sym_node(
        self, sym_node: Any, size_oblivious: bool = False, fallback_value: Any = None
    ) -> Any:
        """The value of a node, which from now on is a guard."""
        if sym_node.constant is not None:
            return sym_node.constant
        if self.assumed and sym_node.pytype is bool:
            self._check_assumed(self.replace(sym_node._expr))
        value = self.evaluate_expr(
            sym_node._expr, size_oblivious=size_oblivious, fallback_value=fallback_value
        )
        return sym_node.pytype(value)

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
        static = self._statically(e, size_oblivious)
        if static is not None:
            return static
        value = self.size_hint(e, allow_none=True)
        if value is None:
            value = hint if hint is not None and not e.free_symbols - set(self.var_to_val) else None
        if value is None:
            if fallback_value is not None:
                return fallback_value
            raise self._data_dependent(e)
        guard = (e if value else negate(e)) if isinstance(value, bool) else Relation("==", e, sympify(value))
        guard = as_multiple(guard)
        self._note(guard, size_oblivious)
        return value

    def _check_assumed(self, e: Expr) -> None:
        """Lets the program check an answer to a branch that holds only as sizes are taken to be 2 or more."""
        ranges = self.var_to_range
        promised = {s: n for s, n in self.assumed.items() if ranges[s].lower == 2 and s in e.free_symbols}
        static = self._statically(self.simplify(e)) if promised else None
        if static is None or not asked_by_program():
            return
        low, high = bounds(e, {**ranges, **{s: ValueRanges(n, ranges[s].upper) for s, n in promised.items()}})
        if low != high:
            self._check_at_run(e if static else negate(e))

    def _check_at_run(self, condition: Expr) -> None:
        checks = self.deferred_runtime_asserts.setdefault(None, [])
        if all(c.expr != condition for c in checks):
            checks.append(
                RuntimeAssert(condition, f"Expected {condition} to be True but got False", user_line())
            )

    def expect_true(self, expr: Any) -> bool:
        """A condition that the program asserts: known, a guard, or checked when the program runs."""
        e = self.simplify(expr)
        static = self._statically(e)
        if static is not None:
            return bool(static)
        unbacked = any(self.is_unbacked_symint(s) for s in e.free_symbols)
        if not unbacked and not self.prefer_deferred_runtime_asserts_over_guards:
            return bool(self.evaluate_expr(e))
        check = RuntimeAssert(e, f"Expected {e} to be True but got False", user_line())
        owner = max((s for s in e.free_symbols if self.is_unbacked_symint(s)), key=str, default=None)
        self.deferred_runtime_asserts.setdefault(owner, []).append(check)
        self.learn(e)
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
        facts = self.replacements, dict(self.var_to_range), set(self._facts), set(self.divisible)

        def new_checks() -> list[RuntimeAssert]:
            return [check for check in self._checks() if id(check) not in before]

        try:
            yield new_checks
        finally:
            own = new_checks()
            for owner, checks in self.deferred_runtime_asserts.items():
                self.deferred_runtime_asserts[owner] = [c for c in checks if id(c) in before]
            replaced, ranges = self.replacements, self.var_to_range
            self.replacements, self.var_to_range, self._facts, self.divisible = facts
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
            self._new_version()

    def _checks(self) -> list[RuntimeAssert]:
        return [check for checks in self.deferred_runtime_asserts.values() for check in checks]

    def _note(self, guard: Expr, size_oblivious: bool = False) -> None:
        if self._suppressed:
            return
        if self.frozen and not isinstance(guard, Boolean):
            return
        self.guards.append(ShapeGuard(guard, user_line(), size_oblivious))
        if self.of_results and guard.free_symbols & self.of_results:
            self._check_at_run(guard)
        self.learn(guard)

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

    # ---- expressions
    def get_implications(self, e: Any) -> tuple[tuple[Expr, Any], ...]:
        """What follows from a condition.

        Args:
            e: the condition.

        Returns:
            Pairs of an expression and true or false.
        """
        return (e, true), (negate(e), sympify(False))

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
            mine, value = getattr(self, name), getattr(other, name)
            if mine != value:
                raise AssertionError(f"ShapeEnv not equal: field {name}: {mine} and {value}")
        if [g.expr for g in self.guards] != [g.expr for g in other.guards]:
            raise AssertionError("ShapeEnv not equal: field guards")

    def cleanup(self) -> None:
        """Lets go of what refers to tensors."""
        self.tracked_fakes = None
