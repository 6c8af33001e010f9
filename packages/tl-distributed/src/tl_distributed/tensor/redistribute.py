"""From one layout to another: the cheapest chain of collectives.

On a dimension of the mesh, pieces become replicas by an all-gather, terms by an all-reduce; terms become pieces by a
reduce-scatter and pieces of one dimension those of another by an all-to-all. Replicas become pieces or terms without
communication. A cut can be undone or made only if no later cut of the same dimension is there. The chain with the
least bytes is found by a search over the placements, once for a layout and a target.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import tl_core
from tl_core import Tensor

from ..base.reduction import operation_named
from ..collectives import tensor_collectives as collectives
from ..groups.device_mesh import DeviceMesh
from ..nn.async_collective_tensor import AsyncCollectiveTensor
from .dtensor_spec import DTensorSpec
from .layout import compute_local_shape, cut_order, own_cut
from .placement_types import Partial, Placement, Replicate, Shard, _NormPartial

__all__ = ["chain_of", "redistribute_local_tensor"]

Placements = tuple[Placement, ...]

# The cost of a collective is the bytes that a rank moves; each has a latency that is worth so many elements.
_LATENCY = 4096.0
_CUT = 1e-3  # a cut moves nothing to other ranks


class Step(NamedTuple):
    """A change on one mesh dimension."""

    mesh_dim: int
    placements: Placements  # those before
    new: Placement


def redistribute_local_tensor(
    local: Tensor, current: DTensorSpec, target: Placements, is_async: bool = False
) -> Tensor:
    """The part of this rank in another layout.

    Args:
        local: what it holds now.
        current: the layout now.
        target: the placements then.
        is_async: whether the result of a last all-gather or all-reduce is an `AsyncCollectiveTensor`.
    """
    chain = chain_of(current, target)
    for step in chain:
        local = _apply(local, current, step, is_async and step is chain[-1])
    return local


def chain_of(current: DTensorSpec, target: Placements) -> list[Step]:
    """The cheapest steps from a layout to other placements.

    Args:
        current: the layout.
        target: the placements.

    Raises:
        RuntimeError: there is no way to the target.
    """
    if current.placements == target:
        return []
    chains = current.mesh._chains
    key = (current, target)
    if key not in chains:
        if len(chains) > 4096:
            chains.clear()
        chains[key] = _search(current, target)
    return chains[key]


def _search(current: DTensorSpec, target: Placements) -> list[Step]:
    """Dijkstra's algorithm over placements."""
    mesh, shape = current.mesh, current.shape
    choices = _choices(current.placements, target)
    costs: dict[Placements, float] = {current.placements: 0.0}
    before: dict[Placements, Step] = {}
    visited: set[Placements] = set()
    # Of chains at one cost, the first one that was reached: all ranks choose the same.
    numbers = itertools.count()
    queue: list[tuple[float, int, Placements]] = [(0.0, next(numbers), current.placements)]
    while queue:
        cost, _, placed = heapq.heappop(queue)
        if placed == target:
            return _backward(before, current.placements, target)
        if placed in visited:
            continue
        visited.add(placed)
        for step in _steps(mesh, placed, choices):
            then = (*placed[: step.mesh_dim], step.new, *placed[step.mesh_dim + 1 :])
            total = cost + _cost(mesh, shape, step, then)
            if total < costs.get(then, math.inf):
                costs[then], before[then] = total, step
                heapq.heappush(queue, (total, next(numbers), then))
    raise RuntimeError(f"DTensor: there is no way from {current.placements} to {target}")


def _backward(before: dict[Placements, Step], start: Placements, end: Placements) -> list[Step]:
    steps: list[Step] = []
    while end != start:
        steps.append(before[end])
        end = before[end].placements
    return steps[::-1]


def _choices(now: Placements, target: Placements) -> list[tuple[Placement, ...]]:
    """The placements that may be on the way, for each mesh dimension, in one order on all ranks."""
    pairs = zip(now, target, strict=True)
    return [tuple(dict.fromkeys((old, new, Replicate()))) for old, new in pairs]


def _steps(mesh: DeviceMesh, placed: Placements, choices: list[tuple[Placement, ...]]) -> Iterator[Step]:
    for mesh_dim, old in enumerate(placed):
        if isinstance(old, Shard) and not _is_last_cut(mesh, placed, mesh_dim):
            continue
        for new in choices[mesh_dim]:
            if new == old or (isinstance(new, Partial) and not _may_be_term(old, new)):
                continue
            if isinstance(old, _NormPartial) and not isinstance(new, Replicate):
                continue
            if isinstance(old, Shard) and isinstance(new, Shard) and old.dim == new.dim:
                continue  # two cuts of one dimension: the way leads over the whole
            then = (*placed[:mesh_dim], new, *placed[mesh_dim + 1 :])
            if isinstance(new, Shard) and not _is_last_cut(mesh, then, mesh_dim):
                continue
            yield Step(mesh_dim, placed, new)


def _may_be_term(old: Placement, new: Partial) -> bool:
    """Whether a rank's part becomes a term without communication: a replica, or a piece among zeros."""
    return isinstance(old, Replicate) or (isinstance(old, Shard) and new.reduce_op == "sum")


def _is_last_cut(mesh: DeviceMesh, placed: Placements, mesh_dim: int) -> bool:
    """Whether no later cut is of the dimension that this one cuts."""
    own = placed[mesh_dim]
    order = cut_order(mesh, placed)
    return isinstance(own, Shard) and not any(
        placed[other].is_shard(own.dim) for other in order[order.index(mesh_dim) + 1 :]
    )


def _cost(mesh: DeviceMesh, shape: tl_core.Size, step: Step, then: Placements) -> float:
    old, count = step.placements[step.mesh_dim], mesh.size(step.mesh_dim)
    if isinstance(old, Replicate) or count == 1 or isinstance(step.new, Partial):
        return _CUT
    before, after = (_elements(mesh, shape, placed) for placed in (step.placements, then))
    share = (count - 1) / count
    if isinstance(old, Partial):
        return (1 if isinstance(step.new, Shard) else 2) * before * share + _LATENCY
    return (before if isinstance(step.new, Shard) else after) * share + _LATENCY


def _elements(mesh: DeviceMesh, shape: tl_core.Size, placed: Placements) -> float:
    pieces = math.prod(mesh.size(i) for i, p in enumerate(placed) if isinstance(p, Shard))
    return math.prod(shape) / pieces


# ---- the steps -------------------------------------------------------------------------------------------------------


def _apply(local: Tensor, current: DTensorSpec, step: Step, is_async: bool) -> Tensor:
    mesh, mesh_dim, new = current.mesh, step.mesh_dim, step.new
    old, count = step.placements[mesh_dim], mesh.size(mesh_dim)
    if isinstance(new, Shard):
        new = own_cut(mesh, (*step.placements[:mesh_dim], new, *step.placements[mesh_dim + 1 :]), mesh_dim)
    if isinstance(old, Replicate):
        return _from_replicas(local, mesh, mesh_dim, new)
    without = (*step.placements[:mesh_dim], Replicate(), *step.placements[mesh_dim + 1 :])
    if isinstance(old, Partial):
        if isinstance(new, Shard):
            return _reduce_scatter(local, mesh, mesh_dim, old, new)
        if isinstance(old, _NormPartial):
            return _norm_of_all(local, mesh, mesh_dim, old)
        total = local.contiguous().clone()
        if count == 1:
            return total
        group, operation = mesh.get_group(mesh_dim), operation_named(old.reduce_op)
        work = collectives.all_reduce(total, operation, group, async_op=is_async)
        return total if work is None else AsyncCollectiveTensor(total, work)
    sizes = compute_local_shape(current.shape, mesh, without)
    cut = own_cut(mesh, step.placements, mesh_dim)
    if isinstance(new, Shard):
        return _all_to_all(local, sizes, mesh, mesh_dim, cut, new)
    if isinstance(new, Partial):
        term = local.new_zeros(sizes)
        cut.write_piece(term, local, count, mesh.get_local_rank(mesh_dim))
        return term
    return _all_gather(local, mesh, mesh_dim, cut, sizes[cut.dim], is_async)


def _norm_of_all(local: Tensor, mesh: DeviceMesh, mesh_dim: int, old: _NormPartial) -> Tensor:
    """The norm of the vector whose pieces have the ranks' norms."""
    total = old.power(local.contiguous()).clone()
    if mesh.size(mesh_dim) > 1:
        collectives.all_reduce(total, operation_named(old.reduce_op), mesh.get_group(mesh_dim))
    return old.root(total)


def _from_replicas(local: Tensor, mesh: DeviceMesh, mesh_dim: int, placement: Placement) -> Tensor:
    size, rank = mesh.size(mesh_dim), mesh.get_local_rank(mesh_dim)
    if isinstance(placement, Shard):
        return placement.piece(local, size, rank).contiguous()
    return placement.term(local, size, rank) if isinstance(placement, Partial) else local


def _all_gather(
    local: Tensor, mesh: DeviceMesh, mesh_dim: int, old: Shard, length: int, is_async: bool
) -> Tensor:
    """The pieces of all ranks, each filled up to the size of the first."""
    count, dim = mesh.size(mesh_dim), old.dim
    if count == 1:
        return local
    sizes = [old.piece_size(length, count, rank) for rank in range(count)]
    own = _fill(local, dim, sizes[0])
    block = own.new_empty((count * own.shape[0], *own.shape[1:]) if own.dim() else (count,))
    is_in_place = dim == 0 and type(old) is Shard  # all but the last pieces are full
    group = mesh.get_group(mesh_dim)
    work = collectives.all_gather_into_tensor(block, own, group, async_op=is_async and is_in_place)
    if is_in_place:
        result = block.narrow(0, 0, length)
        return result if work is None else AsyncCollectiveTensor(result, work)
    parts = block.chunk(count)
    return old.join([part.narrow(dim, 0, size) for part, size in zip(parts, sizes)], length)


def _fill(local: Tensor, dim: int, size: int) -> Tensor:
    missing = size - local.shape[dim]
    if missing == 0:
        return local.contiguous()
    shape = [*local.shape[:dim], missing, *local.shape[dim + 1 :]]
    return tl_core.cat([local, local.new_zeros(shape)], dim)


def _reduce_scatter(local: Tensor, mesh: DeviceMesh, mesh_dim: int, old: Partial, new: Shard) -> Tensor:
    count, rank = mesh.size(mesh_dim), mesh.get_local_rank(mesh_dim)
    if count == 1:
        return local
    pieces = [new.piece(local, count, i) for i in range(count)]
    sizes = [piece.shape[new.dim] for piece in pieces]
    filled = [_fill(piece, new.dim, sizes[0]) for piece in pieces]
    total = tl_core.empty_like(filled[0])
    collectives.reduce_scatter(total, filled, operation_named(old.reduce_op), mesh.get_group(mesh_dim))
    return total.narrow(new.dim, 0, sizes[rank]).contiguous()


def _all_to_all(
    local: Tensor, sizes: tuple[int, ...], mesh: DeviceMesh, mesh_dim: int, old: Shard, new: Shard
) -> Tensor:
    count, rank = mesh.size(mesh_dim), mesh.get_local_rank(mesh_dim)
    inputs = [new.piece(local, count, i).contiguous() for i in range(count)]
    own = new.piece_size(sizes[new.dim], count, rank)
    outputs = []
    for i in range(count):
        shape = list(local.shape)
        shape[new.dim], shape[old.dim] = own, old.piece_size(sizes[old.dim], count, i)
        outputs.append(local.new_empty(shape))
    collectives.all_to_all(outputs, inputs, mesh.get_group(mesh_dim))
    return old.join(outputs, sizes[old.dim])
