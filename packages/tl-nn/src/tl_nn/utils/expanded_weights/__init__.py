"""Gradients of each sample of a batch in one backward: weights that remember the batch, functions that know them."""

from . import per_sample_function as per_sample_function  # what the functions do with such weights
from .expanded_weight import ExpandedWeight

__all__ = ["ExpandedWeight"]
