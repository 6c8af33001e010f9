"""Symbolic sizes: integer expressions, their ranges, and the environment that guards them."""

from __future__ import annotations

from . import canonical_forms as canonical_forms  # the operators of expressions
from . import printing as printing  # the text of expressions
from .expression import Expr, Integer, Symbol
from .ranges import ValueRanges, int_oo

__all__ = ["Expr", "Integer", "Symbol", "ValueRanges", "int_oo"]
