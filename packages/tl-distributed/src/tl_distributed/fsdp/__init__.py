"""Sharded training: parameters, gradients and optimizer state in pieces, module by module or by a wrapper."""

from . import api
from .api import *
from .fully_shard import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method
from .fully_sharded_data_parallel import FlatParameter, FullyShardedDataParallel

__all__ = [
    "FSDPModule",
    "FlatParameter",
    "FullyShardedDataParallel",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
    *api.__all__,
]
