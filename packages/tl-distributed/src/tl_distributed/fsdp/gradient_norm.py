"""The norm of gradients of which ranks have pieces."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module

from ..base.reduction import ReduceOp
from ..collectives import tensor_collectives as collectives
from ..groups.device_mesh import DeviceMesh
from ..groups.process_groups import get_rank
from ..tensor.dtensor import DTensor
from ..tensor.placement_types import Shard
from .flat_parameter import FlatEntry
from .flat_unit import FlatUnit
from .full_parameters import wrappers_of
from .unit_state import UnitState

__all__ = ["clip_gradients"]


def clip_gradients(root: Module, state: UnitState, max_norm: float, norm_type: float) -> Tensor:
    """Scales the gradients of all ranks so that their norm as one vector is at most a bound; returns the norm.

    Args:
        root: the outermost wrapper.
        state: its state.
        max_norm: the bound.
        norm_type: the exponent of the norm, or infinity.
    """
    norm_type = float(norm_type)
    pieces, wholes = _gradients(root)
    total = _sum_of_pieces(pieces, norm_type)
    group = state.layout.shard_group
    if group is not None and group.size() > 1:
        collectives.all_reduce(total, _reduction(norm_type), group)
    own = _power_sum(wholes, norm_type)
    if norm_type == float("inf"):
        norm = tl_core.maximum(total, own)
    else:
        norm = (total + own) ** (1.0 / norm_type)
    grads = [grad for several in pieces.values() for grad in several] + wholes
    if not grads:
        warnings.warn(
            f"Called FSDP.clip_grad_norm_() on rank {get_rank()} with no gradients -- returning the total norm in "
            f"the default dtype {norm.dtype}",
            stacklevel=3,
        )
        return norm
    factor = (float(max_norm) / (norm + 1e-6)).clamp(max=1.0)
    with tl_core.no_grad():
        for grad in grads:
            grad.mul_(factor.to(grad.dtype))
    return norm.to(functools.reduce(tl_core.promote_types, [grad.dtype for grad in grads]))


def _reduction(norm_type: float) -> Any:
    return ReduceOp.MAX if norm_type == float("inf") else ReduceOp.SUM


# The pieces of gradients by the dimensions of a mesh that cut their parameters before: those of tensor parallelism.
_Pieces = dict[tuple[tuple[DeviceMesh, int], ...], list[Any]]


def _gradients(root: Module) -> tuple[_Pieces, list[Any]]:
    """The gradients of pieces, and those that are equal on all ranks."""
    pieces: _Pieces = {}
    cut: set[int] = set()
    for _, state in wrappers_of(root):
        unit = state.unit
        if unit is None or (unit.is_replica and all(entry.spec is None for entry in unit.entries)):
            continue
        cut |= {id(entry.parameter) for entry in unit.entries} | {id(unit.flat)}
        for entry in unit.entries:
            grad = _gradient_of(unit, entry)
            if grad is not None:
                pieces.setdefault(_cuts(entry), []).append(grad)
    wholes = [p.grad for p in root.parameters() if p.grad is not None and id(p) not in cut]
    return pieces, wholes


def _gradient_of(unit: FlatUnit, entry: FlatEntry) -> Tensor | None:
    if unit.keeps_originals:
        return entry.parameter.grad
    return None if unit.flat.grad is None else unit.part(entry, unit.flat.grad)


def _cuts(entry: FlatEntry) -> tuple[tuple[DeviceMesh, int], ...]:
    if entry.spec is None:
        return ()
    placements = enumerate(entry.spec.placements)
    return tuple((entry.spec.mesh, mesh_dim) for mesh_dim, p in placements if isinstance(p, Shard))


def _sum_of_pieces(pieces: _Pieces, norm_type: float) -> Tensor:
    """The sum of the powers of a rank's pieces, and of those that the ranks of its tensor parallelism have."""
    total = tl_core.zeros(())
    for cuts, grads in pieces.items():
        own = _power_sum(grads, norm_type)
        for mesh, mesh_dim in cuts:
            if mesh.size(mesh_dim) > 1:
                collectives.all_reduce(own, _reduction(norm_type), mesh.get_group(mesh_dim))
        total = tl_core.maximum(total, own) if norm_type == float("inf") else total + own
    return total


def _power_sum(grads: list[Any], norm_type: float) -> Tensor:
    """The sum of the powers of all elements, or the largest one, in float32 at least."""
    total = tl_core.zeros(())
    with tl_core.no_grad():
        for grad in grads:
            if grad.numel() == 0:
                continue
            wide = tl_core.float64 if grad.dtype == tl_core.float64 else tl_core.float32
            norm = tl_core.linalg.vector_norm(grad, norm_type, dtype=wide)
            if isinstance(norm, DTensor):
                norm = norm.full_tensor()
            total = tl_core.maximum(total, norm) if norm_type == float("inf") else total + norm**norm_type
    return total
