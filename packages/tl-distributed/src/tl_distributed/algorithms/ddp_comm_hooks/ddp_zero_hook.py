"""Hooks by which a `ZeroRedundancyOptimizer` steps within the backward pass, bucket by bucket.

Buckets here don't change once a `DistributedDataParallel` is made, so the first pass steps too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import Tensor
from tl_core.futures import Future

from ...base.grad_bucket import GradBucket
from ...base.work import Work

__all__ = ["hook_with_zero_step", "hook_with_zero_step_interleaved"]

Hook = Callable[[Any, GradBucket], Future[Tensor]]


def hook_with_zero_step(hook: Hook, ddp: Any, zero: Any, shard_buckets: bool = False) -> Hook:
    """A hook that reduces as another does, and lets the optimizer step when all buckets are on their way.

    Args:
        hook: what reduces.
        ddp: the `DistributedDataParallel` that it will be registered with.
        zero: a `ZeroRedundancyOptimizer` with `overlap_with_ddp=True`, of the same parameters.
        shard_buckets: whether the parameters of a bucket may belong to several processes.

    Raises:
        RuntimeError: the optimizer doesn't fit.

    Example:
        >>> model.register_comm_hook(None, hook_with_zero_step(allreduce_hook, model, optimizer))  # doctest: +SKIP
    """
    zero.share_buckets(_buckets(ddp), whole=not shard_buckets)
    under_way: list[tuple[GradBucket, Future[Tensor]]] = []

    def reduce_then_step(state: Any, bucket: GradBucket) -> Future[Tensor]:
        future = hook(state, bucket)
        under_way.append((bucket, future))
        if bucket.is_last():
            every = list(under_way)
            under_way.clear()
            _await([work for pair in every for work in _step(zero, *pair)])
        return future

    return reduce_then_step


def hook_with_zero_step_interleaved(hook: Hook, ddp: Any, zero: Any, shard_buckets: bool = False) -> Hook:
    """A hook that reduces as another does; while a bucket is reduced, the optimizer steps with the one before.

    Args:
        hook: what reduces.
        ddp: the `DistributedDataParallel` that it will be registered with.
        zero: a `ZeroRedundancyOptimizer` with `overlap_with_ddp=True`, of the same parameters.
        shard_buckets: whether the parameters of a bucket may belong to several processes.

    Raises:
        RuntimeError: the optimizer doesn't fit.

    Example:
        >>> hook = hook_with_zero_step_interleaved(allreduce_hook, model, optimizer)  # doctest: +SKIP
        >>> model.register_comm_hook(None, hook)  # doctest: +SKIP
    """
    zero.share_buckets(_buckets(ddp), whole=not shard_buckets)
    under_way: list[tuple[GradBucket, Future[Tensor]]] = []
    broadcasts: list[Work] = []

    def reduce_and_step(state: Any, bucket: GradBucket) -> Future[Tensor]:
        future = hook(state, bucket)
        if under_way:
            broadcasts.extend(_step(zero, *under_way.pop()))
        if not bucket.is_last():
            under_way.append((bucket, future))
            return future
        broadcasts.extend(_step(zero, bucket, future))
        _await(broadcasts)
        broadcasts.clear()
        return future

    return reduce_and_step


def _buckets(ddp: Any) -> list[list[Tensor]]:
    return [list(bucket) for bucket in ddp.reducer.buckets]


def _step(zero: Any, bucket: GradBucket, future: Future[Tensor]) -> list[Work]:
    result = future.wait()
    reduced = GradBucket(bucket.index(), result, bucket.parameters(), bucket.is_last())
    works: list[Work] = zero.step_bucket(bucket.parameters(), reduced.gradients())
    return works


def _await(works: list[Work]) -> None:
    for work in works:
        work.wait()
