"""Symbols that stand for sizes and numbers: how they are made, and from which example and source."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from .dims import DimDynamic, StatelessSymbolicContext, StrictMinMaxConstraint
from .expression import Expr, Float, Integer, Relation, Symbol, sympify
from .facts import Facts
from .node import SymNode
from .ranges import ValueRanges, int_oo
from .user_lines import user_line

__all__ = ["ShapeEnvSettings", "SymbolMaker", "source_name"]


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
        >>> from tl_compiler.symbolic.shape_env import ShapeEnv
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


class SymbolMaker(Facts):
    """Makes symbols for the sizes of inputs and for numbers that only data decide.

    Args:
        settings: how they are made.

    Example:
        >>> from tl_compiler.symbolic.shape_env import ShapeEnv
        >>> ShapeEnv().create_unbacked_symint()
        u0
    """

    def __init__(self, settings: ShapeEnvSettings) -> None:
        super().__init__()
        self.settings = settings
        self.var_to_sources: dict[Symbol, list[Any]] = {}
        self.source_to_symbol: dict[str, Symbol] = {}
        self.val_to_var: dict[Any, Expr] = {}
        self.pending_fresh_unbacked_symbols: list[Symbol] = []
        self.unbacked_bindings: dict[Symbol, Any] = {}
        self._counts: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        if name in ShapeEnvSettings._fields:
            return getattr(self.settings, name)
        raise AttributeError(f"ShapeEnv has no attribute {name!r}")

    # ---- of the example
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
        name = source_name(source)
        if dynamic_dim in (DimDynamic.STATIC, DimDynamic.INFER_STRIDE):
            return sympify(val)
        if name in self.source_to_symbol and self.var_to_val.get(self.source_to_symbol[name]) == val:
            return self.source_to_symbol[name]
        specialize = bool(positive) and self.specialize_zero_one and not do_not_specialize_zero_one
        if specialize and val in (0, 1) and not isinstance(val, float):
            return sympify(val)
        if dynamic_dim is DimDynamic.DUCK and self.duck_shape and val in self.val_to_var:
            expr = self.val_to_var[val]
            if isinstance(expr, Symbol):
                self.var_to_sources[expr].append(source)
                self.source_to_symbol[name] = expr
            return expr
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
        lengths = [self.create_symintnode(e, hint=h) for e, h in zip(sizes, ex.shape, strict=True)]
        steps = [self.create_symintnode(e, hint=h) for e, h in zip(strides, ex.stride(), strict=True)]
        return tuple(lengths), tuple(steps), offset

    def _strides_of(self, sizes: list[int], strides: list[int], exprs: list[Expr]) -> list[Expr]:
        """Strides as products of sizes and strides where they are, else numbers."""
        result: list[Expr | None] = [None] * len(sizes)
        products: dict[int, Expr] = {1: Integer(1), 0: Integer(0)}
        order = sorted(range(len(sizes)), key=lambda i: (strides[i], sizes[i] != 1, -i))
        for i in order:
            e = products.get(strides[i], Integer(strides[i]))
            result[i] = e
            products.setdefault(strides[i] * sizes[i], exprs[i] * e)
        return result  # type: ignore[return-value]

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

    # ---- of data
    def _unbacked_symbol(self, prefix: str, integer: bool) -> Symbol:
        symbol = self._fresh(prefix, False, integer)
        self.var_to_stack[symbol] = user_line()
        self.pending_fresh_unbacked_symbols.append(symbol)
        self.var_to_range[symbol] = ValueRanges(-int_oo, int_oo)
        return symbol

    def create_unbacked_symint(self, source: Any = None) -> SymInt:
        """A symbolic int whose value depends on data, so that it has no hint."""
        return SymInt(SymNode(self._unbacked_symbol("u", True), self, int))

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
        return SymFloat(SymNode(self._unbacked_symbol("zuf", False), self, float))

    def create_unbacked_symbool(self) -> SymBool:
        """A symbolic bool whose value depends on data."""
        symbol = self._unbacked_symbol("u", True)
        self.var_to_range[symbol] = ValueRanges(0, 1)
        return SymBool(SymNode(Relation("==", symbol, Integer(1)), self, bool))

    @contextlib.contextmanager
    def ignore_fresh_unbacked_symbols(self) -> Iterator[None]:
        """A region whose new symbols need not occur in results."""
        before = self.pending_fresh_unbacked_symbols[:]
        try:
            yield
        finally:
            self.pending_fresh_unbacked_symbols[:] = before


def source_name(source: Any) -> str:
    """The text of a source, which is an object with a name or the text itself."""
    if isinstance(source, str):
        return source
    name = source.name
    return name() if callable(name) else str(name)


def _of_dimension(source: Any, kind: str, i: int) -> str:
    return f"{source_name(source)}.{kind}()[{i}]"
