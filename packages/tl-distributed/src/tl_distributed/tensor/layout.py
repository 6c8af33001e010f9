"""Sizes and offsets of what a rank holds, and the size of the whole."""

from __future__ import annotations

from collections.abc import Sequence

import tl_core
from tl_core import Tensor

from ..groups.device_mesh import DeviceMesh
from .placement_types import Placement, Shard

__all__ = ["compute_global_tensor_info", "compute_local_shape", "compute_local_shape_and_global_offset"]


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The size of what this rank holds, and where in the whole it begins.

    Args:
        global_shape: the size of the whole.
        mesh: the mesh.
        placements: one for each of its dimensions.

    Raises:
        RuntimeError: this rank isn't in the mesh.

    Example:
        >>> import tl_distributed as dist
        >>> from tl_distributed.tensor import Shard
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> compute_local_shape_and_global_offset((4, 3), mesh, [Shard(0)])
        ((4, 3), (0, 0))
        >>> dist.destroy_process_group()
    """
    shape, offset = list(global_shape), [0] * len(global_shape)
    for mesh_dim, placement in enumerate(placements):
        if isinstance(placement, Shard):
            size, start = placement.local_shard_size_and_offset(
                shape[placement.dim], mesh.size(mesh_dim), mesh.get_local_rank(mesh_dim)
            )
            shape[placement.dim] = size
            offset[placement.dim] += start
    return tuple(shape), tuple(offset)


def compute_local_shape(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[int, ...]:
    """The size of what this rank holds.

    Args:
        global_shape: the size of the whole.
        mesh: the mesh.
        placements: one for each of its dimensions.
    """
    return compute_local_shape_and_global_offset(global_shape, mesh, placements)[0]


def compute_global_tensor_info(
    tensor: Tensor, mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[list[int], list[int]]:
    """Size and strides of the whole, if all ranks hold pieces of one size.

    Args:
        tensor: what this rank holds.
        mesh: the mesh.
        placements: one for each of its dimensions.
    """
    shape, stride = list(tensor.shape), list(tensor.stride())
    for mesh_dim, placement in enumerate(placements):
        if isinstance(placement, Shard):
            count, own = mesh.size(mesh_dim), stride[placement.dim]
            shape[placement.dim] *= count
            stride = [s * count if s > own else s for s in stride]
    return shape, stride


def whole_stride(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous tensor.

    Args:
        shape: its size.
    """
    return tuple(tl_core.empty(tuple(shape), device="meta").stride())
