"""Collectives through which gradients flow: each one's backward pass is a collective too, so all ranks must run it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tl_core
from tl_autograd import Function
from tl_core import Tensor

from ..base.reduction import RedOpType, ReduceOp
from ..collectives import tensor_collectives as collectives
from ..groups.process_group import ProcessGroup
from ..groups.process_groups import get_rank, get_world_size

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]


def all_reduce(tensor: Tensor, op: RedOpType = ReduceOp.SUM, group: ProcessGroup | None = None) -> Tensor:
    """The reduction of a tensor over the group; the gradient is the sum of all ranks' gradients.

    Args:
        tensor: any shape; it is left as it is.
        op: how.
        group: the group; the world by default.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> x = tl_core.ones(2, requires_grad=True)
        >>> (all_reduce(x) * 3).sum().backward()
        >>> x.grad
        tensor([3., 3.])
        >>> dist.destroy_process_group()
    """
    return _one(_AllReduce.apply(op, group, tensor))


def broadcast(tensor: Tensor, src: int, group: ProcessGroup | None = None) -> Tensor:
    """One rank's tensor; its gradient is the sum of all ranks'.

    Args:
        tensor: of one shape on all ranks.
        src: the rank in the group.
        group: the group; the world by default.
    """
    return _one(_Broadcast.apply(src, group, tensor))


def reduce(
    tensor: Tensor, dst: int, op: RedOpType = ReduceOp.SUM, group: ProcessGroup | None = None
) -> Tensor:
    """The reduction of a tensor on one rank; the gradient is that rank's, on all.

    Args:
        tensor: any shape; it is left as it is.
        dst: the rank in the group.
        op: how.
        group: the group; the world by default.
    """
    return _one(_Reduce.apply(dst, op, group, tensor))


def gather(tensor: Tensor, dst: int = 0, group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    """All ranks' tensors on one rank, zeros elsewhere; each gets its gradient back.

    Args:
        tensor: of one shape on all ranks.
        dst: the rank in the group.
        group: the group; the world by default.
    """
    return tuple(_Gather.apply(dst, group, tensor))


def scatter(tensors: Sequence[Tensor], src: int = 0, group: ProcessGroup | None = None) -> Tensor:
    """This rank's of one rank's tensors; gradients go back there.

    Args:
        tensors: one for each rank, of one shape; on all ranks, but only those of `src` count.
        src: the rank in the group.
        group: the group; the world by default.
    """
    return _one(_Scatter.apply(src, group, *tensors))


def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: RedOpType = ReduceOp.SUM,
    group: ProcessGroup | None = None,
) -> Tensor:
    """The reduction of this rank's of all lists; gradients are gathered.

    Args:
        output: of the shape of the result; its numbers do not count.
        input_list: one tensor for each rank.
        op: how.
        group: the group; the world by default.
    """
    return _one(_ReduceScatter.apply(op, group, output, *input_list))


def all_gather(tensor: Tensor, group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    """All ranks' tensors; the gradient is the sum of what all ranks have for this one's.

    Args:
        tensor: of one shape on all ranks.
        group: the group; the world by default.
    """
    return tuple(_AllGather.apply(group, tensor))


def all_to_all(
    output_tensor_list: Sequence[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: ProcessGroup | None = None,
) -> tuple[Tensor, ...]:
    """One tensor from each rank, for one to each; gradients go the way back.

    Args:
        output_tensor_list: of the shapes of the results; their numbers do not count.
        input_tensor_list: one tensor for each rank.
        group: the group; the world by default.
    """
    return tuple(_AllToAll.apply(group, list(output_tensor_list), *input_tensor_list))


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: ProcessGroup | None = None,
) -> Tensor:
    """Rows from each rank, for rows to each; gradients go the way back.

    Args:
        output: of the shape of the result; its numbers do not count.
        input: what is sent.
        output_split_sizes: how many rows come from each rank; equal parts by default.
        input_split_sizes: how many rows go to each rank; equal parts by default.
        group: the group; the world by default.
    """
    return _one(_AllToAllSingle.apply(group, output, output_split_sizes, input_split_sizes, input))


def _one(result: Any) -> Tensor:
    tensor: Tensor = result
    return tensor


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: RedOpType, group: ProcessGroup | None, tensor: Tensor) -> Tensor:
        ctx.group, ctx.op = group, op
        result = tensor.clone()
        collectives.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: ProcessGroup | None, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group, ctx.rank = src, group, get_rank(group)
        result = tensor.clone()
        collectives.broadcast(result, group=group, group_src=src)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        total = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, grad)
        return None, None, total if ctx.rank == ctx.src else tl_core.zeros_like(total)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: RedOpType, group: ProcessGroup | None, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.group = dst, group
        result = tensor.clone()
        collectives.reduce(result, op=op, group=group, group_dst=dst)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, grad)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: ProcessGroup | None, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.dst, ctx.group = dst, group
        here = get_rank(group) == dst
        results = [tl_core.zeros_like(tensor) for _ in range(get_world_size(group))]
        collectives.gather(tensor.contiguous(), results if here else None, group=group, group_dst=dst)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: ProcessGroup | None, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        here = get_rank(group) == src
        result = tl_core.zeros_like(tensors[0])
        collectives.scatter(
            result, [t.contiguous() for t in tensors] if here else None, group=group, group_src=src
        )
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, grad)


class _ReduceScatter(Function):
    @staticmethod
    def forward(
        ctx: Any, op: RedOpType, group: ProcessGroup | None, output: Tensor, *inputs: Tensor
    ) -> Tensor:
        ctx.group = group
        result = tl_core.empty_like(output)
        collectives.reduce_scatter(result, [x.contiguous() for x in inputs], op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, *_AllGather.apply(ctx.group, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: ProcessGroup | None, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.group = group
        results = [tl_core.empty_like(tensor) for _ in range(get_world_size(group))]
        collectives.all_gather(results, tensor.contiguous(), group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        own = tl_core.empty_like(grads[get_rank(ctx.group)])
        return None, _ReduceScatter.apply(ReduceOp.SUM, ctx.group, own, *grads)


class _AllToAll(Function):
    @staticmethod
    def forward(
        ctx: Any, group: ProcessGroup | None, outputs: list[Tensor], *inputs: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.group = group
        ctx.like = [tl_core.empty_like(x) for x in inputs]
        results = [tl_core.empty_like(x) for x in outputs]
        collectives.all_to_all(results, [x.contiguous() for x in inputs], group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, *_AllToAll.apply(ctx.group, ctx.like, *grads)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(
        ctx: Any,
        group: ProcessGroup | None,
        output: Tensor,
        output_sizes: Sequence[int] | None,
        input_sizes: Sequence[int] | None,
        input: Tensor,
    ) -> Tensor:
        ctx.group, ctx.sizes, ctx.shape = group, (output_sizes, input_sizes), input.shape
        result = tl_core.empty_like(output)
        collectives.all_to_all_single(result, input.contiguous(), output_sizes, input_sizes, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        output_sizes, input_sizes = ctx.sizes
        room = grad.new_empty(ctx.shape)
        back = _AllToAllSingle.apply(ctx.group, room, input_sizes, output_sizes, grad)
        return None, None, None, None, back
