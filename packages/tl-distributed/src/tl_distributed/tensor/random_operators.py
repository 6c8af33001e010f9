"""Operators that draw numbers: a rank's part is its piece of the draw for the whole tensor.

The mesh's first rank tells all others the state of its generator. Each then draws for the whole tensor and keeps its
piece, so the numbers are those of one process at any cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Generator, Tensor
from tl_core.pytree import tree_flatten, tree_unflatten

from ..collectives import tensor_collectives as collectives
from ..groups.device_mesh import DeviceMesh
from .dtensor_spec import DTensorSpec
from .placement_types import Replicate
from .redistribute import redistribute_local_tensor

__all__ = ["call", "share_generator"]


def share_generator(mesh: DeviceMesh, generator: Generator | None = None) -> None:
    """Gives the generator of each rank the state of that of the mesh's first rank.

    Args:
        mesh: the mesh.
        generator: the generator; the default one by default.
    """
    source = tl_core.default_generator if generator is None else generator
    state = source.get_state().clone()
    for mesh_dim in range(mesh.ndim):
        if mesh.size(mesh_dim) > 1:
            collectives.broadcast(state, group=mesh.get_group(mesh_dim), group_src=0)
    source.set_state(state)


def call(
    func: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    operands: Sequence[Any],
    plan: Any,
    kind: type[Any],
) -> Any:
    """Calls an operator that draws numbers.

    Args:
        func: the operator.
        args: its arguments.
        kwargs: its arguments by name.
        operands: its tensors, distributed.
        plan: what the call does, which says the layouts of the results.
        kind: the class of distributed tensors.
    """
    first = operands[0]._spec
    share_generator(first.mesh, kwargs.get("generator"))
    if func._schema.name == "aten::native_dropout":
        return _dropout(func, operands[0], args[1:], plan, kind)
    wholes = iter([_gather(operand, index, func) for index, operand in enumerate(operands)])
    results = func(
        *[_replace(v, wholes) for v in args], **{k: _replace(v, wholes) for k, v in kwargs.items()}
    )
    if plan.results is None:
        spec = first.with_placements((Replicate(),) * first.mesh.ndim)
        operands[0]._local_tensor.copy_(redistribute_local_tensor(results, spec, first.placements))
        return args[0]
    flat, tree = tree_flatten(results)
    return tree_unflatten([_piece(v, spec, kind) for v, spec in zip(flat, plan.results, strict=True)], tree)


def _gather(operand: Any, index: int, func: Any) -> Tensor:
    """An operand on every rank; one whose elements don't count is not gathered."""
    name = func._schema.name
    if index == 0 and (name.endswith(("_like", "_"))):
        meta = operand._spec.tensor_meta
        return tl_core.empty_strided(meta.shape, meta.stride, dtype=meta.dtype)
    return redistribute_local_tensor(
        operand._local_tensor, operand._spec, (Replicate(),) * operand._spec.mesh.ndim
    )


def _replace(value: Any, tensors: Any) -> Any:
    return next(tensors) if isinstance(value, Tensor) else value


def _piece(value: Tensor, spec: DTensorSpec, kind: type[Any]) -> Any:
    replicas = spec.with_placements((Replicate(),) * spec.mesh.ndim)
    return kind(redistribute_local_tensor(value, replicas, spec.placements), spec, requires_grad=False)


def _dropout(func: Any, operand: Any, rest: tuple[Any, ...], plan: Any, kind: type[Any]) -> Any:
    """The mask is drawn for the whole tensor, and the piece of the input is scaled by the piece of the scaled mask."""
    meta = operand._spec.tensor_meta
    result, mask = plan.results
    scaled, mask_of_whole = func(tl_core.ones(meta.shape, dtype=meta.dtype), *rest)
    local = redistribute_local_tensor(operand._local_tensor, operand._spec, result.placements)
    factor = _piece(scaled, result, kind)._local_tensor
    return kind(local * factor, result, requires_grad=False), _piece(mask_of_whole, mask, kind)
