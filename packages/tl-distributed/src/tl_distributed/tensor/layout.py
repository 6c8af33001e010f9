"""Sizes and offsets of what a rank holds, and the size of the whole."""

from __future__ import annotations

from collections.abc import Sequence

import tl_core
from tl_core import Tensor

from ..groups.device_mesh import DeviceMesh
from .placement_types import Placement, Shard, _StridedShard

__all__ = [
    "compute_global_tensor_info",
    "compute_local_shape",
    "compute_local_shape_and_global_offset",
    "cut_order",
    "local_runs",
    "own_cut",
]


def cut_order(mesh: DeviceMesh, placements: Sequence[Placement]) -> list[int]:
    """The mesh dimensions that cut the tensor, in the order of their cuts.

    They cut from left to right, but a `_StridedShard` after those to its right that have cut the same dimension into
    `split_factor` pieces: parameters are cut by tensor parallelism first, and then by data parallelism.

    Args:
        mesh: the mesh.
        placements: one for each of its dimensions.
    """
    order: list[int] = []
    late: list[tuple[int, int]] = []  # the mesh dimension after which a strided one cuts, and that one
    for mesh_dim, placement in enumerate(placements):
        if not isinstance(placement, Shard):
            continue
        after = _last_before(mesh, placements, mesh_dim)
        if after is None:
            order.append(mesh_dim)
        else:
            late.append((after, mesh_dim))
    for after, mesh_dim in sorted(late, key=lambda pair: -pair[1]):
        order.insert(order.index(after) + 1, mesh_dim)
    return order


def _last_before(mesh: DeviceMesh, placements: Sequence[Placement], mesh_dim: int) -> int | None:
    placement = placements[mesh_dim]
    if not isinstance(placement, _StridedShard):
        return None
    pieces = 1
    for other in range(mesh_dim + 1, len(placements)):
        if placements[other].is_shard(placement.dim):
            pieces *= mesh.size(other)
            if pieces == placement.split_factor:
                return other
    return None


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
    runs = local_runs(global_shape, mesh, placements)
    return tuple(sum(size for size, _ in own) for own in runs), tuple(own[0][1] for own in runs)


def local_runs(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> list[list[tuple[int, int]]]:
    """The runs of each dimension that this rank holds, each by its size and its beginning in the whole.

    Args:
        global_shape: the size of the whole.
        mesh: the mesh.
        placements: one for each of its dimensions.

    Raises:
        RuntimeError: this rank isn't in the mesh.
    """
    result = [[(length, 0)] for length in global_shape]
    for mesh_dim in cut_order(mesh, placements):
        cut = own_cut(mesh, placements, mesh_dim)
        before = result[cut.dim]
        length = sum(size for size, _ in before)
        pieces = cut.runs(length, mesh.size(mesh_dim), mesh.get_local_rank(mesh_dim))
        result[cut.dim] = _parts(before, pieces)
    return result


def _parts(runs: Sequence[tuple[int, int]], pieces: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The parts of runs that pieces of their sequence consist of; an empty one if the pieces are empty."""
    result = []
    for size, start in pieces:
        position = 0
        for length, offset in runs:
            begin, end = max(start - position, 0), min(start + size - position, length)
            if end > begin:
                result.append((end - begin, offset + begin))
            position += length
    last_size, last_offset = runs[-1]
    return result or [(0, runs[0][1] + pieces[0][1] if len(runs) == 1 else last_offset + last_size)]


def own_cut(mesh: DeviceMesh, placements: Sequence[Placement], mesh_dim: int) -> Shard:
    """The cut of a mesh dimension in what the cuts before it leave.

    A `_StridedShard` after which another mesh dimension has cut the same pieces is a plain cut of the rank's own piece.

    Args:
        mesh: the mesh.
        placements: one for each of its dimensions, that of `mesh_dim` a `Shard`.
        mesh_dim: the dimension of the mesh.
    """
    placement = placements[mesh_dim]
    assert isinstance(placement, Shard)
    return placement if _last_before(mesh, placements, mesh_dim) is None else Shard(placement.dim)


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
