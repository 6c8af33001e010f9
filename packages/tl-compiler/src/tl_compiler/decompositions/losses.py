"""Losses."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_core.ops

from .registry import decomposes

aten = tl_core.ops.aten
_NONE, _MEAN = 0, 1


@decomposes("cross_entropy_of_classes.default")
def cross_entropy_of_classes(
    self: Any, target: Any, weight: Any = None, reduction: int = _MEAN, ignore_index: int = -100
) -> Any:
    """Minus the logarithm of each target's share in the softmax."""
    if self.ndim != 2:
        return NotImplemented
    logs = aten._log_softmax.default(self, 1, False)
    return nll_loss_forward(logs, target, weight, reduction, ignore_index)[0]


@decomposes("nll_loss_forward.default")
def nll_loss_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    """Minus the logarithm of each target's probability, weighed, and the sum of the weights."""
    if self.ndim != 2:
        return NotImplemented
    counts = target != ignore_index
    safe = aten.where.self(counts, target, aten.full_like.default(target, 0))
    column = aten.unsqueeze.default(safe, 1)
    losses = -aten.squeeze.dims(aten.gather.default(self, 1, column), [1])
    weights = aten._to_copy.default(counts, dtype=self.dtype)
    if weight is not None:
        weights = weights * aten.index_select.default(weight, 0, safe)
    losses = aten.where.self(counts, losses * weights, aten.full_like.default(losses, 0))
    total = aten.sum.dim_IntList(weights, [])
    if reduction == _NONE:
        return losses, total
    sums = aten.sum.dim_IntList(losses, [])
    return (sums / total if reduction == _MEAN else sums), total
