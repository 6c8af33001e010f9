"""Translations of operators that the function library lacks. Each module registers those of a family."""

from . import indexing, layers, numbers, recurrent, reductions, sizes
from .registry import OWN

__all__ = ["OWN"]

_FAMILIES = (indexing, layers, numbers, recurrent, reductions, sizes)  # their functions enter the table
