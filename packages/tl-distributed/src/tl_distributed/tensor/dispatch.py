"""Calls of operators with distributed tensors: the layout that is chosen, what is moved, and what is computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.pytree import tree_flatten, tree_map, tree_unflatten
from tl_core.schemas.tags import Tag

from ..collectives import tensor_collectives as collectives
from ..groups.device_mesh import DeviceMesh
from . import list_operators
from .dtensor_spec import DTensorSpec, meta_of
from .placement_types import Partial, Placement, Replicate, Shard
from .redistribute import redistribute_local_tensor
from .strategies import Strategy, strategies_of

__all__ = ["call"]


def call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], kind: type[Any]) -> Any:
    """Calls an operator with distributed tensors.

    Args:
        func: the operator.
        args: its arguments.
        kwargs: its arguments by name.
        kind: the class of distributed tensors.

    Raises:
        RuntimeError: a tensor of elements is among the operands, or the operands' meshes differ.
        NotImplementedError: the operator writes to a tensor in a layout in which it can't be computed.
    """
    if list_operators.is_elementwise_on_lists(func):
        return list_operators.call(func, args, kwargs, kind)
    flat, tree = tree_flatten((args, kwargs))
    indices = [i for i, value in enumerate(flat) if isinstance(value, Tensor)]
    mesh = _mesh_of([flat[i] for i in indices if isinstance(flat[i], kind)])
    operands = [_distribute(flat[i], mesh, kind, func) for i in indices]
    metas = [_without_elements(operand._spec) for operand in operands]
    called = tree_unflatten(
        [metas[indices.index(i)] if i in indices else v for i, v in enumerate(flat)], tree
    )
    results = func(*called[0], **called[1])
    output = _output_of(func, args, operands)
    strategies = strategies_of(func, metas, *called)
    choices = [_cheapest(strategies, operands, mesh_dim, output, func) for mesh_dim in range(mesh.ndim)]
    for index, operand in enumerate(operands):
        placements = tuple(strategy.operands[index] for strategy in choices)
        flat[indices[index]] = redistribute_local_tensor(operand._local_tensor, operand._spec, placements)
    local_args, local_kwargs = tree_unflatten(flat, tree)
    computed = func(*local_args, **local_kwargs)
    if output is not None:
        return output
    return _wrapped(func, computed, results, mesh, tuple(s.results for s in choices), kind)


def _mesh_of(operands: Sequence[Any]) -> DeviceMesh:
    mesh: DeviceMesh = operands[0]._spec.mesh
    if any(operand._spec.mesh != mesh for operand in operands):
        raise RuntimeError(
            "DTensor: all operands must be on one mesh; redistribute does not go to another mesh"
        )
    return mesh


def _distribute(value: Tensor, mesh: DeviceMesh, kind: type[Any], func: Any) -> Any:
    if isinstance(value, kind):
        return value
    if value.numel() != 1 or value.dim() > 0:
        raise RuntimeError(
            f"{func}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling "
            "distributed operators!"
        )
    return kind(value, DTensorSpec(mesh, (Replicate(),) * mesh.ndim, meta_of(value)), requires_grad=False)


def _without_elements(spec: DTensorSpec) -> Tensor:
    meta = spec.tensor_meta
    return tl_core.empty_strided(meta.shape, meta.stride, dtype=meta.dtype, device="meta")


def _output_of(func: Any, args: tuple[Any, ...], operands: Sequence[Any]) -> Any:
    """The operand that an operator writes to; None if it writes to none."""
    if not func._schema.is_mutable:
        return None
    if not func._schema.name.endswith("_") or not args or args[0] is not operands[0]:
        raise NotImplementedError(
            f"{func}: DTensor computes operators that write to their first operand alone"
        )
    return operands[0]


def _cheapest(
    strategies: Sequence[Strategy], operands: Sequence[Any], mesh_dim: int, written: Any, func: Any
) -> Strategy:
    now = [operand._spec.placements[mesh_dim] for operand in operands]
    sizes = [math.prod(operand._spec.shape) for operand in operands]
    usable = [s for s in strategies if written is None or s.operands[0] == s.results == now[0]]
    if not usable:
        raise NotImplementedError(
            f"{func}: writes to a DTensor that is {now[0]!r}; make it Replicate() or a Shard with redistribute first"
        )
    return min(usable, key=lambda s: sum(map(_cost, now, s.operands, sizes)))


# What a change of layout moves, as a share of the tensor; cutting moves nothing, and is next to nothing.
_CUTTING, _GATHERING, _SUMMING, _NEVER = 0.01, 1.0, 2.0, 1e6


def _cost(now: Placement, then: Placement, size: int) -> float:
    if now == then:
        return 0.0
    if isinstance(now, Replicate):
        return _CUTTING * size + _CUTTING
    if isinstance(now, Shard) and isinstance(then, Partial):
        return _NEVER
    return (
        _SUMMING if isinstance(now, Partial) and isinstance(then, Replicate) else _GATHERING
    ) * size + _GATHERING


def _wrapped(
    func: Any,
    computed: Any,
    results: Any,
    mesh: DeviceMesh,
    placements: tuple[Placement, ...],
    kind: type[Any],
) -> Any:
    is_random = Tag.nondeterministic_seeded in func.tags

    def wrap(value: Any, meta: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        for mesh_dim in range(mesh.ndim if is_random else 0):  # one process's numbers are everybody's
            value = value.contiguous()
            collectives.broadcast(value, group=mesh.get_group(mesh_dim), group_src=0)
        return kind(value, DTensorSpec(mesh, placements, meta_of(meta)), requires_grad=False)

    return tree_map(wrap, computed, results)
