"""From one layout to another: the collectives that turn what a rank holds.

On a dimension of the mesh, shards become replicas by an all-gather, terms by an all-reduce; replicas become shards or
terms without communication. Where nothing else is cut along the dimensions in question, terms become shards by a
reduce-scatter and shards of one dimension those of another by an all-to-all.
"""

from __future__ import annotations

import tl_core
from tl_core import Tensor

from ..base.reduction import operation_named
from ..collectives import tensor_collectives as collectives
from ..groups.device_mesh import DeviceMesh
from .dtensor_spec import DTensorSpec
from .layout import compute_local_shape
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["redistribute_local_tensor"]


def redistribute_local_tensor(local: Tensor, current: DTensorSpec, target: tuple[Placement, ...]) -> Tensor:
    """The part of this rank in another layout.

    Args:
        local: what it holds now.
        current: the layout now.
        target: the placements then.
    """
    mesh, now = current.mesh, list(current.placements)
    changed = _changes(now, target)
    if len(changed) == 1 and not _is_nested(now, target, changed[0]):
        return _one_step(local, current, changed[0], target[changed[0]])
    for mesh_dim in reversed(changed):
        local = _to_replicas(local, current, now, mesh_dim)
        now[mesh_dim] = Replicate()
    for mesh_dim in changed:
        local = _from_replicas(local, mesh, mesh_dim, target[mesh_dim])
    return local


def _changes(now: list[Placement], target: tuple[Placement, ...]) -> list[int]:
    """The mesh dimensions that change, and those that cut what one to their left cuts or will cut."""
    changed: list[int] = []
    cut: set[int] = set()
    for mesh_dim, (old, new) in enumerate(zip(now, target)):
        if old != new or (isinstance(old, Shard) and old.dim in cut):
            changed.append(mesh_dim)
            cut |= {p.dim for p in (old, new) if isinstance(p, Shard)}
    return changed


def _is_nested(now: list[Placement], target: tuple[Placement, ...], mesh_dim: int) -> bool:
    """True if another mesh dimension cuts a dimension that this one cuts or will cut."""
    own = {p.dim for p in (now[mesh_dim], target[mesh_dim]) if isinstance(p, Shard)}
    return any(isinstance(p, Shard) and p.dim in own for i, p in enumerate(now) if i != mesh_dim)


def _one_step(local: Tensor, current: DTensorSpec, mesh_dim: int, new: Placement) -> Tensor:
    mesh, old = current.mesh, current.placements[mesh_dim]
    if isinstance(old, Shard) and isinstance(new, Shard):
        return _all_to_all(local, current, mesh_dim, old, new)
    if isinstance(old, Partial) and isinstance(new, Shard) and old.reduce_op == "sum":
        return _reduce_scatter(local, mesh, mesh_dim, new)
    return _from_replicas(
        _to_replicas(local, current, list(current.placements), mesh_dim), mesh, mesh_dim, new
    )


def _to_replicas(local: Tensor, current: DTensorSpec, now: list[Placement], mesh_dim: int) -> Tensor:
    placement, mesh = now[mesh_dim], current.mesh
    if isinstance(placement, Partial):
        total = local.contiguous().clone()
        collectives.all_reduce(total, operation_named(placement.reduce_op), mesh.get_group(mesh_dim))
        return total
    if not isinstance(placement, Shard):
        return local
    outer = [p if i < mesh_dim else Replicate() for i, p in enumerate(now)]
    size = compute_local_shape(current.shape, mesh, outer)[placement.dim]
    return _all_gather(local, mesh, mesh_dim, placement.dim, size)


def _from_replicas(local: Tensor, mesh: DeviceMesh, mesh_dim: int, placement: Placement) -> Tensor:
    size, rank = mesh.size(mesh_dim), mesh.get_local_rank(mesh_dim)
    if isinstance(placement, Shard):
        return placement.piece(local, size, rank).contiguous()
    return placement.term(local, size, rank) if isinstance(placement, Partial) else local


def _all_gather(local: Tensor, mesh: DeviceMesh, mesh_dim: int, dim: int, whole: int) -> Tensor:
    """The pieces of all ranks, each filled up to the size of the first."""
    count = mesh.size(mesh_dim)
    sizes = [Shard.local_shard_size_and_offset(whole, count, rank)[0] for rank in range(count)]
    own = _fill(local, dim, sizes[0])
    parts = [tl_core.empty_like(own) for _ in range(count)]
    collectives.all_gather(parts, own, mesh.get_group(mesh_dim))
    return tl_core.cat([part.narrow(dim, 0, size) for part, size in zip(parts, sizes)], dim)


def _fill(local: Tensor, dim: int, size: int) -> Tensor:
    missing = size - local.shape[dim]
    if missing == 0:
        return local.contiguous()
    shape = [*local.shape[:dim], missing, *local.shape[dim + 1 :]]
    return tl_core.cat([local, local.new_zeros(shape)], dim)


def _reduce_scatter(local: Tensor, mesh: DeviceMesh, mesh_dim: int, new: Shard) -> Tensor:
    count, rank = mesh.size(mesh_dim), mesh.get_local_rank(mesh_dim)
    pieces = [new.piece(local, count, i) for i in range(count)]
    sizes = [piece.shape[new.dim] for piece in pieces]
    filled = [_fill(piece, new.dim, sizes[0]) for piece in pieces]
    total = tl_core.empty_like(filled[0])
    collectives.reduce_scatter(total, filled, group=mesh.get_group(mesh_dim))
    return total.narrow(new.dim, 0, sizes[rank]).contiguous()


def _all_to_all(local: Tensor, current: DTensorSpec, mesh_dim: int, old: Shard, new: Shard) -> Tensor:
    mesh = current.mesh
    count, rank = mesh.size(mesh_dim), mesh.get_local_rank(mesh_dim)
    inputs = [new.piece(local, count, i).contiguous() for i in range(count)]
    placements = [p if i != mesh_dim else Replicate() for i, p in enumerate(current.placements)]
    sizes = compute_local_shape(current.shape, mesh, placements)
    own = new.local_shard_size_and_offset(sizes[new.dim], count, rank)[0]
    outputs = []
    for i in range(count):
        shape = list(local.shape)
        shape[new.dim], shape[old.dim] = own, old.local_shard_size_and_offset(sizes[old.dim], count, i)[0]
        outputs.append(local.new_empty(shape))
    collectives.all_to_all(outputs, inputs, mesh.get_group(mesh_dim))
    return tl_core.cat(outputs, old.dim)
