"""Translations of operators that the function library lacks. Each module registers those of a family."""

from . import complex_numbers, indexing, layers, numbers, random_numbers, recurrent, reductions, sizes
from .registry import COMPLEX, OWN

__all__ = ["COMPLEX", "OWN"]

_FAMILIES = (
    complex_numbers,
    random_numbers,
    indexing,
    layers,
    numbers,
    recurrent,
    reductions,
    sizes,
)  # their functions enter the table
