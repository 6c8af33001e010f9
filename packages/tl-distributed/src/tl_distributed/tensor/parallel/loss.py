"""The cross entropy of scores whose classes are cut: no rank gathers the scores.

Inside `loss_parallel`, the operators of the loss have rules of their own for scores that are pieces of the classes. The
largest score and the sum of exponentials are reduced over the ranks, and the score of a target comes from its rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tl_core
from tl_core import Tensor

from ...base.reduction import ReduceOp
from ...collectives import tensor_collectives as collectives
from ..dispatch import BLOCK_LOSSES, class_losses
from ..dtensor_spec import DTensorSpec, meta_of
from ..placement_types import Replicate, Shard

__all__ = ["loss_parallel"]

_NONE, _MEAN, _SUM = 0, 1, 2


@contextmanager
def loss_parallel() -> Iterator[None]:
    """A block in which `cross_entropy` of scores cut along the classes computes on the pieces.

    The backward pass belongs into the block, too.

    Example:
        >>> import tl_nn.functional as F, tl_distributed as dist
        >>> from tl_distributed.tensor import Shard, distribute_tensor
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> scores = distribute_tensor(tl_core.zeros(2, 4, requires_grad=True), mesh, [Shard(1)])
        >>> with loss_parallel():
        ...     loss = F.cross_entropy(scores, tl_core.tensor([0, 3]))
        ...     loss.backward()
        ...
        >>> round(float(loss.to_local()), 4), scores.grad.placements
        (1.3863, (Shard(dim=1),))
        >>> dist.destroy_process_group()
    """
    losses = dict(zip(BLOCK_LOSSES, (_forward, _backward), strict=True))
    token = class_losses.set(losses)
    try:
        yield
    finally:
        class_losses.reset(token)


def _mesh_dim(spec: DTensorSpec) -> int | None:
    """The mesh dimension that cuts the classes."""
    dim = 1 if spec.ndim > 1 else 0
    cuts = [i for i, p in enumerate(spec.placements) if p.is_shard(dim)]
    other_cuts = [p for i, p in enumerate(spec.placements) if i not in cuts and not isinstance(p, Replicate)]
    if len(cuts) != 1 or other_cuts or type(spec.placements[cuts[0]]) is not Shard:
        return None
    return cuts[0]


class _Classes:
    """The classes of this rank."""

    def __init__(self, scores: Any, target: Any, weight: Any, ignore_index: int):
        spec = scores._spec
        self.dim = 1 if spec.ndim > 1 else 0
        self.mesh, self.mesh_dim = spec.mesh, _mesh_dim(spec)
        assert self.mesh_dim is not None
        self.group = self.mesh.get_group(self.mesh_dim)
        self.scores: Tensor = scores._local_tensor
        placement = spec.placements[self.mesh_dim]
        size, offset = placement.local_shard_size_and_offset(
            spec.shape[self.dim], self.mesh.size(self.mesh_dim), self.mesh.get_local_rank(self.mesh_dim)
        )
        plain: Tensor = getattr(target, "_local_tensor", target)
        self.is_counted = plain != ignore_index
        self.own = (plain >= offset) & (plain < offset + size) & self.is_counted
        self.index = (plain - offset).where(self.own, tl_core.zeros_like(plain)).unsqueeze(self.dim)
        whole_weight = None if weight is None else getattr(weight, "_local_tensor", weight)
        safe = plain.where(self.is_counted, tl_core.zeros_like(plain))
        self.weights = self.is_counted.to(self.scores.dtype)
        if whole_weight is not None:
            self.weights = whole_weight[safe] * self.weights

    def reduce(self, tensor: Tensor, op: Any) -> Tensor:
        if self.mesh.size(self.mesh_dim) > 1:
            collectives.all_reduce(tensor, op, self.group)
        return tensor


def _forward(args: tuple[Any, ...], kind: type[Any]) -> Any:
    scores, target, weight, reduction, ignore_index = args
    if not isinstance(scores, kind) or _mesh_dim(scores._spec) is None:
        return NotImplemented
    classes = _Classes(scores, target, weight, ignore_index)
    local, dim = classes.scores, classes.dim
    largest = local.new_full(classes.own.shape, -float("inf"))
    if local.shape[dim]:
        largest = local.amax(dim)
    largest = classes.reduce(largest, ReduceOp.MAX)
    sums = classes.reduce((local - largest.unsqueeze(dim)).exp().sum(dim), ReduceOp.SUM)
    log_sums = sums.log() + largest
    of_target = log_sums.new_zeros(log_sums.shape)
    if local.shape[dim]:
        of_target = local.gather(dim, classes.index).squeeze(dim) * classes.own
    of_target = classes.reduce(of_target.contiguous(), ReduceOp.SUM)
    losses = (log_sums - of_target) * classes.weights
    total = classes.weights.sum()
    loss = losses if reduction == _NONE else losses.sum() if reduction == _SUM else losses.sum() / total
    return tuple(_replicas(value, scores._spec, kind) for value in (loss, log_sums, total))


def _backward(args: tuple[Any, ...], kind: type[Any]) -> Any:
    grad, scores, log_sums, total, target, weight, reduction, ignore_index = args
    if not isinstance(scores, kind) or _mesh_dim(scores._spec) is None:
        return NotImplemented
    classes = _Classes(scores, target, weight, ignore_index)
    dim = classes.dim
    factor = classes.weights * _gather(grad)
    if reduction == _MEAN:
        factor = factor / _gather(total)
    result = (classes.scores - _gather(log_sums).unsqueeze(dim)).exp()
    if result.shape[dim]:
        result.scatter_add_(dim, classes.index, -classes.own.to(result.dtype).unsqueeze(dim))
    return kind(result * factor.unsqueeze(dim), scores._spec, requires_grad=False)


def _gather(value: Any) -> Tensor:
    result: Tensor = value.full_tensor() if hasattr(value, "full_tensor") else value
    return result


def _replicas(value: Tensor, spec: DTensorSpec, kind: type[Any]) -> Any:
    placements = (Replicate(),) * spec.mesh.ndim
    return kind(value, DTensorSpec(spec.mesh, placements, meta_of(value)), requires_grad=False)
