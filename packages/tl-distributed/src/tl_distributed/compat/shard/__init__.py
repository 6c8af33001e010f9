"""`torch.distributed._shard`: tensors in parts of their own sizes, before DTensor.

Checkpoints and libraries that read them know `ShardedTensor`. Operators on it are few: a program registers others.
"""

from __future__ import annotations

from .api import _shard_tensor, load_with_process_group, shard_parameter

__all__ = ["_shard_tensor", "load_with_process_group", "shard_parameter"]
