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
from ..groups.process_groups import get_rank
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
    total = _power_sum(pieces, norm_type)
    group = state.layout.shard_group
    if group is not None and group.size() > 1:
        collectives.all_reduce(total, ReduceOp.MAX if norm_type == float("inf") else ReduceOp.SUM, group)
    own = _power_sum(wholes, norm_type)
    if norm_type == float("inf"):
        norm = tl_core.maximum(total, own)
    else:
        norm = (total + own) ** (1.0 / norm_type)
    grads = pieces + wholes
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


def _gradients(root: Module) -> tuple[list[Any], list[Any]]:
    """The gradients of pieces, and those that are equal on all ranks."""
    cut: set[int] = set()
    for _, state in wrappers_of(root):
        if state.unit is not None and not state.unit.is_replica:
            owned = (
                [entry.parameter for entry in state.unit.entries]
                if state.unit.keeps_originals
                else [state.unit.flat]
            )
            cut |= {id(parameter) for parameter in owned}
    pieces: list[Any] = []
    wholes: list[Any] = []
    for parameter in root.parameters():
        if parameter.grad is not None:
            (pieces if id(parameter) in cut else wholes).append(parameter.grad)
    return pieces, wholes


def _power_sum(grads: list[Any], norm_type: float) -> Tensor:
    """The sum of the powers of all elements, or the largest one, in float32 at least."""
    total = tl_core.zeros(())
    with tl_core.no_grad():
        for grad in grads:
            if grad.numel() == 0:
                continue
            wide = tl_core.float64 if grad.dtype == tl_core.float64 else tl_core.float32
            norm = tl_core.linalg.vector_norm(grad, norm_type, dtype=wide)
            total = tl_core.maximum(total, norm) if norm_type == float("inf") else total + norm**norm_type
    return total
