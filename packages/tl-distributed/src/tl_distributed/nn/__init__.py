"""Collectives through which gradients flow; needs the extra `nn`."""

from tl_core.base.lazy_attributes import attach

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
    "RemoteModule",
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

__getattr__, __dir__, _ = attach(__name__, {"api.remote_module": ["RemoteModule"]}, ["api"])
