"""Losses."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_core.operators.packets

from .registry import decomposes

aten = tl_core.operators.packets.aten
_NONE, _MEAN = 0, 1


def _reduce(losses: Any, reduction: int) -> Any:
    if reduction == _NONE:
        return losses
    return aten.mean.default(losses) if reduction == _MEAN else aten.sum.default(losses)


@decomposes("mse_loss.default")
def mse_loss(self: Any, target: Any, reduction: int = _MEAN) -> Any:
    """The square of the difference."""
    return _reduce(aten.pow.Tensor_Scalar(self - target, 2), reduction)


@decomposes("smooth_l1_loss.default")
def smooth_l1_loss(self: Any, target: Any, reduction: int = _MEAN, beta: float = 1.0) -> Any:
    """A parabola up to `beta` of the absolute difference, a line from there."""
    size = abs(self - target)
    if beta == 0:
        return _reduce(size, reduction)
    return _reduce(aten.where.self(size < beta, size * size * (0.5 / beta), size - 0.5 * beta), reduction)


@decomposes("huber_loss.default")
def huber_loss(self: Any, target: Any, reduction: int = _MEAN, delta: float = 1.0) -> Any:
    """A parabola up to `delta` of the absolute difference, a line of the slope `delta` from there."""
    size = abs(self - target)
    line = (size - 0.5 * delta) * delta
    return _reduce(aten.where.self(size <= delta, size * size * 0.5, line), reduction)


@decomposes("cross_entropy_loss.default")
def cross_entropy_loss(
    self: Any,
    target: Any,
    weight: Any = None,
    reduction: int = _MEAN,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:
    """Minus the logarithm of each target's share in the softmax."""
    if self.ndim != 2 or target.ndim != 1 or label_smoothing != 0:
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
