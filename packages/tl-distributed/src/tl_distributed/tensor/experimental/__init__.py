"""Functions on distributed tensors that PyTorch's manual calls experimental."""

from ..replication import implicit_replication
from .attention import context_parallel, context_parallel_unshard
from .func_map import local_map
from .register import register_sharding

__all__ = [
    "context_parallel",
    "context_parallel_unshard",
    "implicit_replication",
    "local_map",
    "register_sharding",
]
