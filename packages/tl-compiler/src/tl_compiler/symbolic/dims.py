"""What is said of the sizes of inputs: how symbols are made for them, and what must hold."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

from .ranges import ValueRanges

__all__ = [
    "Constraint",
    "DimDynamic",
    "EqualityConstraint",
    "RelaxedUnspecConstraint",
    "StatefulSymbolicContext",
    "StatelessSymbolicContext",
    "StrictMinMaxConstraint",
    "SubclassSymbolicContext",
    "SymbolicContext",
]


class DimDynamic(enum.Enum):
    """The way in which a symbol is made for a size.

    Example:
        >>> DimDynamic.DYNAMIC.name
        'DYNAMIC'
    """

    DYNAMIC = 0  #: a symbol of its own
    DUCK = 1  #: equal sizes share one
    STATIC = 2  #: a number
    UNBACKED = 3  #: a symbol without a hint
    INFER_STRIDE = 4  #: from the sizes


@dataclass(frozen=True)
class Constraint:
    """What must hold of a size.

    Args:
        warn_only: whether a breach is a warning.

    Example:
        >>> RelaxedUnspecConstraint(warn_only=True).warn_only
        True
    """

    warn_only: bool


@dataclass(frozen=True)
class StrictMinMaxConstraint(Constraint):
    """A size lies in a range, all of it.

    Args:
        vr: the range.

    Example:
        >>> StrictMinMaxConstraint(False, None).warn_only
        False
    """

    vr: ValueRanges

    def render(self, source: Any) -> str:
        """The constraint as text.

        Args:
            source: where the size comes from.

        Returns:
            The text.
        """
        name = source.name() if callable(source.name) else source.name
        return f"{self.vr.lower} <= {name} <= {self.vr.upper}"


@dataclass(frozen=True)
class RelaxedUnspecConstraint(Constraint):
    """A size is dynamic, in whatever range the program takes.

    Example:
        >>> RelaxedUnspecConstraint(warn_only=False).warn_only
        False
    """

    def render(self, source: Any) -> str:
        """The constraint as text."""
        name = source.name() if callable(source.name) else source.name
        return f"RelaxedUnspecConstraint({name})"


@dataclass(frozen=True)
class EqualityConstraint(Constraint):
    """Sizes that are equal, or derived from others.

    Args:
        source_pairs: pairs of equal sources.
        derived_equalities: triples of a source, the one it is derived from, and the function.
        phantom_symbols: symbols that belong to no input.
        relaxed_sources: sources about which nothing is claimed.
        warn_only: whether a violation only warns.

    Example:
        >>> EqualityConstraint(False, [], [], [], set()).source_pairs
        []
    """

    source_pairs: list[Any]
    derived_equalities: list[Any]
    phantom_symbols: list[Any]
    relaxed_sources: set[Any]

    def is_equal(self, source1: Any, source2: Any) -> bool:
        """Whether two sources are claimed to be equal."""
        parent: dict[Any, Any] = {}

        def root(x: Any) -> Any:
            while parent.get(x, x) != x:
                x = parent[x]
            return x

        for a, b in self.source_pairs:
            parent[root(a)] = root(b)
        return bool(root(source1) == root(source2))

    def is_derived(self, src: Any, symbol_src: Any, fn: Any) -> bool:
        """Whether a source is claimed to be a function of another."""
        return any(s == src and self.is_equal(r, symbol_src) for s, r, _ in self.derived_equalities)


class SymbolicContext:
    """The way in which symbols are made for a tensor.

    Example:
        >>> issubclass(StatelessSymbolicContext, SymbolicContext)
        True
    """


@dataclass(frozen=True)
class StatelessSymbolicContext(SymbolicContext):
    """How symbols are made for a tensor, a word for each dimension.

    Args:
        dynamic_sizes: for each size.
        dynamic_strides: for each stride.
        constraint_sizes, constraint_strides: what must hold, or None.
        specialize_on, view_base_context, shape_ids, unbacked_bounds: accepted.

    Example:
        >>> StatelessSymbolicContext([DimDynamic.DYNAMIC, DimDynamic.STATIC]).dynamic_sizes[1].name
        'STATIC'
    """

    dynamic_sizes: Any
    dynamic_strides: Any = None
    constraint_sizes: Any = None
    constraint_strides: Any = None
    specialize_on: Any = None
    view_base_context: Any = None
    shape_ids: Any = None
    unbacked_bounds: Any = None

    def __post_init__(self) -> None:
        rank = len(self.dynamic_sizes)
        for name, value in (
            ("dynamic_strides", [DimDynamic.INFER_STRIDE] * rank),
            ("constraint_sizes", [None] * rank),
            ("constraint_strides", [None] * rank),
            ("specialize_on", [[] for _ in range(rank)]),
        ):
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)


@dataclass(frozen=True)
class StatefulSymbolicContext(StatelessSymbolicContext):
    """As `StatelessSymbolicContext`, with the symbols that were made before.

    Args:
        tensor_source: where the tensor comes from.
        shape_env_to_source_to_symbol_cache: the symbols.
        excluded_sizes: accepted.
        dynamic_sizes: which sizes are symbols.
        dynamic_strides: which strides are.
        constraint_sizes: what sizes must fulfil.
        constraint_strides: what strides must fulfil.
        specialize_on: sizes for which the program is specialized.
        view_base_context: the same of the tensor that this is a view of.
        shape_ids: dimensions that share a symbol.
        unbacked_bounds: bounds of symbols without an example.

    Example:
        >>> issubclass(StatefulSymbolicContext, StatelessSymbolicContext)
        True
    """

    tensor_source: Any = field(default=None, kw_only=True)
    shape_env_to_source_to_symbol_cache: dict[int, dict[str, Any]] = field(default_factory=dict, kw_only=True)
    excluded_sizes: Any = field(default=None, kw_only=True)


@dataclass(frozen=True)
class SubclassSymbolicContext(StatefulSymbolicContext):
    """As `StatefulSymbolicContext`, for a tensor that is made of others.

    Args:
        inner_contexts: those of the others, by attribute.
        track_outer_size_stride: accepted.
        dynamic_sizes: which sizes are symbols.
        dynamic_strides: which strides are.
        constraint_sizes: what sizes must fulfil.
        constraint_strides: what strides must fulfil.
        specialize_on: sizes for which the program is specialized.
        view_base_context: the same of the tensor that this is a view of.
        shape_ids: dimensions that share a symbol.
        unbacked_bounds: bounds of symbols without an example.
        tensor_source: where the tensor comes from.
        shape_env_to_source_to_symbol_cache: the symbols that were made, by environment and source.
        excluded_sizes: sizes that never occur.

    Example:
        >>> issubclass(SubclassSymbolicContext, StatefulSymbolicContext)
        True
    """

    inner_contexts: dict[str, Any] = field(default_factory=dict)
    track_outer_size_stride: bool = False
