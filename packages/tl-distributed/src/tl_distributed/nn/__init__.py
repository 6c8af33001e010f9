"""Collectives through which gradients flow; needs the extra `nn`."""

from . import functional
from .functional import (
    all_gather,
    all_reduce,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "functional",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]
