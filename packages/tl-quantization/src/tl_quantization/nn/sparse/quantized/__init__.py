"""Linear layers of integers with weights that are zero in blocks."""

from . import dynamic
from .linear import Linear, LinearPackedParams

__all__ = ["Linear", "LinearPackedParams", "dynamic"]
