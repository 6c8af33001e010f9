"""Gradients of each sample of a batch in one backward: weights with a batch size, and functions that support them."""

from . import per_sample_function as per_sample_function  # the rules of the functions for such weights
from .expanded_weight import ExpandedWeight

__all__ = ["ExpandedWeight"]
