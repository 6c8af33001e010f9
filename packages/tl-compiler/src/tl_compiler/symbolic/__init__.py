"""Symbolic sizes: integer expressions, their ranges, and the environment that guards them."""

from __future__ import annotations

from . import printing as printing
from .expression import Expr, Integer, Symbol
from .ranges import ValueRanges, int_oo

__all__ = ["Expr", "Integer", "Symbol", "ValueRanges", "int_oo"]
