"""`torch.distributed._shard.api`: parameters in boxes."""

from __future__ import annotations

from typing import Any

from .current_group import current_process_group, load_with_process_group
from .sharded_tensor import ShardedTensor, shard_tensor
from .sharding_spec import ShardingSpec

__all__ = ["_shard_tensor", "load_with_process_group", "shard_parameter"]


def _shard_tensor(
    tensor: Any, sharding_spec: ShardingSpec, src_rank: int = 0, process_group: Any = None
) -> ShardedTensor:
    """Cuts the tensor of one process, and gives each process its boxes."""
    result: ShardedTensor = sharding_spec.shard(tensor, src_rank, process_group)
    return result


def shard_parameter(
    module: Any, param_name: str, sharding_spec: ShardingSpec, src_rank: int = 0, process_group: Any = None
) -> None:
    """Replaces a parameter of a module by a sharded tensor of its elements.

    Args:
        module: the module.
        param_name: the name of the parameter.
        sharding_spec: the cut.
        src_rank: the process whose parameter is cut.
        process_group: the group.

    Raises:
        AttributeError: the module has no such attribute.
        ValueError: the attribute is no contiguous tensor.
    """
    if not hasattr(module, param_name):
        raise AttributeError(f"{module._get_name()} has no attribute `{param_name}`")
    tensor = getattr(module, param_name)
    if not hasattr(tensor, "is_contiguous"):
        raise ValueError(
            f"Expected {type(module).__name__}.{param_name} to be a Tensor, but found {type(tensor).__name__}"
        )
    if not tensor.is_contiguous():
        raise ValueError(f"param: {param_name} is not a contiguous Tensor")
    group = current_process_group() if process_group is None else process_group
    sharded = shard_tensor(
        tensor.detach().requires_grad_(tensor.requires_grad), sharding_spec, src_rank, group
    )
    delattr(module, param_name)
    setattr(module, param_name, sharded)
