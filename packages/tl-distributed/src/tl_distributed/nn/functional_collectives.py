"""Collectives that return what they give: `torch.distributed._functional_collectives`.

Each returns before its result is there; the result waits when it is read, and by `wait()`. While a program is traced,
each waits itself. Results of tensors with gradients have gradients, which are waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.dispatch import modes as dispatch_modes

from .. import nn
from ..base.reduction import operation_named
from ..base.work import Work
from ..collectives import tensor_collectives as collectives
from ..groups.device_mesh import DeviceMesh
from ..groups.process_group import ProcessGroup
from ..groups.process_groups import default_group, get_rank, get_world_size, group_named, new_group
from .async_collective_tensor import AsyncCollectiveTensor, wrap_with_gradient

__all__ = [
    "AsyncCollectiveTensor",
    "all_gather_into_tensor_coalesced",
    "all_gather_tensor",
    "all_gather_tensor_autograd",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all_single",
    "all_to_all_single_autograd",
    "broadcast",
    "permute_tensor",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_autograd",
    "reduce_scatter_tensor_coalesced",
    "wait_tensor",
]


def group_of(group: Any) -> ProcessGroup:
    """The group that a function was given in one of the ways there are.

    Args:
        group: a group or its name, a mesh of one dimension, a mesh and one of its dimensions, a list of ranks, or
            None: the world.

    Raises:
        ValueError: it is none of them.
    """
    if group is None:
        return default_group()
    if isinstance(group, ProcessGroup):
        return group
    if isinstance(group, str):
        return group_named(group)
    if isinstance(group, DeviceMesh):
        return group.get_group()
    if isinstance(group, tuple) and len(group) == 2 and isinstance(group[0], DeviceMesh):
        return group[0].get_group(group[1])
    if isinstance(group, list) and all(isinstance(rank, int) for rank in group):
        return new_group(group)
    raise ValueError(
        f"group: expected a group, its name, a mesh, a mesh with a dimension, or a list of ranks, got {group!r}"
    )


def wait_tensor(tensor: Tensor) -> Tensor:
    """A collective's result, waited for.

    Args:
        tensor: the result.
    """
    return tensor.wait() if isinstance(tensor, AsyncCollectiveTensor) else tensor


def _plain(tensor: Tensor) -> Tensor:
    """An operand, waited for and contiguous."""
    return wait_tensor(tensor).contiguous()


def _tracks(tensor: Tensor) -> bool:
    """Whether the gradient of an operand is recorded."""
    return tl_core.is_grad_enabled() and tensor.requires_grad


def _later(result: Tensor, work: Work | None) -> Tensor:
    """A result that waits when it is read; in a trace it waits at once."""
    if is_torchdynamo_compiling() or dispatch_modes.is_exporting():
        if work is not None:
            work.wait()
        return result
    return AsyncCollectiveTensor(result, work)


def _later_with_gradient(result: Tensor) -> Tensor:
    is_traced = is_torchdynamo_compiling() or dispatch_modes.is_exporting()
    return result if is_traced else wrap_with_gradient(result)


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """One rank's tensor.

    Args:
        self: of one shape on all ranks.
        src: the rank in the world.
        group: the group, in one of the ways of `group_of`.
        tag: unused.
    """
    if _tracks(self):
        return _later_with_gradient(nn.functional.broadcast(_plain(self), src, group_of(group)))
    result = _plain(self).clone()
    return _later(result, collectives.broadcast(result, src, group_of(group), async_op=True))


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """The reduction of all ranks' tensors.

    Args:
        self: of one shape on all ranks; it is left as it is.
        reduceOp: "sum", "avg", "product", "max", "min", "band", "bor" or "bxor".
        group: the group, in one of the ways of `group_of`.
        tag: unused.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> all_reduce(tl_core.ones(2), "sum", [0]).wait()
        tensor([1., 1.])
        >>> dist.destroy_process_group()
    """
    operation = operation_named(reduceOp)
    if _tracks(self):
        return _later_with_gradient(nn.functional.all_reduce(_plain(self), operation, group_of(group)))
    result = _plain(self).clone()
    return _later(result, collectives.all_reduce(result, operation, group_of(group), async_op=True))


def all_reduce_coalesced(self: Sequence[Tensor], reduceOp: str, group: Any, tag: str = "") -> list[Tensor]:
    """The reductions of several tensors of all ranks.

    Args:
        self: the tensors, of one shape on all ranks.
        reduceOp: as for `all_reduce`.
        group: the group, in one of the ways of `group_of`.
        tag: unused.
    """
    process_group = group_of(group)
    return [all_reduce(tensor, reduceOp, process_group) for tensor in self]


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """All ranks' tensors, one behind the other.

    Args:
        self: of one shape on all ranks.
        gather_dim: along which dimension; a result along another one than the first is waited for.
        group: the group, in one of the ways of `group_of`.
        tag: unused.
    """
    process_group = group_of(group)
    if _tracks(self):
        return all_gather_tensor_autograd(self, gather_dim, process_group)
    part = _plain(self)
    rows, *rest = part.shape or (1,)
    block = part.new_empty((rows * process_group.size(), *rest))
    work = collectives.all_gather_into_tensor(block, part, process_group, async_op=True)
    if gather_dim == 0:
        return _later(block, work)
    if work is not None:
        work.wait()
    return tl_core.cat(list(block.chunk(process_group.size())), gather_dim)


def all_gather_into_tensor_coalesced(self: Sequence[Tensor], group: Any, tag: str = "") -> list[Tensor]:
    """All ranks' tensors along the first dimension, for several tensors.

    Args:
        self: the tensors, of one shape on all ranks.
        group: the group, in one of the ways of `group_of`.
        tag: unused.
    """
    process_group = group_of(group)
    return [all_gather_tensor(tensor, 0, process_group) for tensor in self]


def all_gather_tensor_autograd(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """`all_gather_tensor` with a gradient: the sum of what all ranks have for this one's part.

    Args:
        self: of one shape on all ranks.
        gather_dim: along which dimension.
        group: the group, in one of the ways of `group_of`.
        tag: unused.
    """
    gathered = nn.functional.all_gather(_plain(self), group_of(group))
    return _later_with_gradient(tl_core.cat(gathered, gather_dim))


def _pieces(tensor: Tensor, dim: int, group: ProcessGroup) -> list[Tensor]:
    size = group.size()
    if tensor.shape[dim] % size:
        raise AssertionError(
            f"input dimension {dim} ({tensor.shape[dim]}) must be a multiple of group_size {size}"
        )
    return [piece.contiguous() for piece in tensor.chunk(size, dim)]


def reduce_scatter_tensor(self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Tensor:
    """This rank's piece of the reduction of all ranks' tensors.

    Args:
        self: of one shape on all ranks.
        reduceOp: "sum", "avg", "product", "max" or "min".
        scatter_dim: the dimension that is cut; its size is a multiple of the group's.
        group: the group, in one of the ways of `group_of`.
        tag: unused.

    Raises:
        AssertionError: the dimension can't be cut in equal pieces.
    """
    process_group = group_of(group)
    if _tracks(self):
        return reduce_scatter_tensor_autograd(self, reduceOp, scatter_dim, process_group)
    pieces = _pieces(_plain(self), scatter_dim, process_group)
    result = tl_core.empty_like(pieces[0])
    operation = operation_named(reduceOp)
    return _later(result, collectives.reduce_scatter(result, pieces, operation, process_group, async_op=True))


def reduce_scatter_tensor_coalesced(
    inputs: Sequence[Tensor], reduceOp: str, scatter_dim: Sequence[int], group: Any, tag: str = ""
) -> list[Tensor]:
    """This rank's pieces of the reductions of several tensors.

    Args:
        inputs: the tensors, of one shape on all ranks.
        reduceOp: as for `reduce_scatter_tensor`.
        scatter_dim: the dimension of each that is cut.
        group: the group, in one of the ways of `group_of`.
        tag: unused.

    Raises:
        ValueError: there isn't a dimension for each tensor.
    """
    if len(scatter_dim) != len(inputs):
        raise ValueError(f"scatter_dim: expected {len(inputs)} dimensions, got {len(scatter_dim)}")
    process_group = group_of(group)
    pairs = zip(inputs, scatter_dim, strict=True)
    return [reduce_scatter_tensor(tensor, reduceOp, dim, process_group) for tensor, dim in pairs]


def reduce_scatter_tensor_autograd(
    self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = ""
) -> Tensor:
    """`reduce_scatter_tensor` with a gradient: all ranks' gradients, gathered.

    Args:
        self: of one shape on all ranks.
        reduceOp: "sum" or "avg".
        scatter_dim: the dimension that is cut; its size is a multiple of the group's.
        group: the group, in one of the ways of `group_of`.
        tag: unused.
    """
    process_group = group_of(group)
    pieces = _pieces(_plain(self), scatter_dim, process_group)
    result = nn.functional.reduce_scatter(
        tl_core.empty_like(pieces[0]), pieces, operation_named(reduceOp), process_group
    )
    return _later_with_gradient(result)


def _output_of_exchange(self: Tensor, output_split_sizes: Sequence[int] | None) -> Tensor:
    rows = self.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    return self.new_empty((rows, *self.shape[1:]))


def all_to_all_single(
    self: Tensor,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any,
    tag: str = "",
) -> Tensor:
    """Rows from each rank, for rows to each.

    Args:
        self: what is sent.
        output_split_sizes: how many rows come from each rank; equal parts by default.
        input_split_sizes: how many rows go to each rank; equal parts by default.
        group: the group, in one of the ways of `group_of`.
        tag: unused.
    """
    process_group = group_of(group)
    if _tracks(self):
        return all_to_all_single_autograd(self, output_split_sizes, input_split_sizes, process_group)
    operand = _plain(self)
    result = _output_of_exchange(operand, output_split_sizes)
    work = collectives.all_to_all_single(
        result, operand, output_split_sizes, input_split_sizes, group=process_group, async_op=True
    )
    return _later(result, work)


def all_to_all_single_autograd(
    self: Tensor,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any,
    tag: str = "",
) -> Tensor:
    """`all_to_all_single` with a gradient, which goes the way back.

    Args:
        self: what is sent.
        output_split_sizes: how many rows come from each rank; equal parts by default.
        input_split_sizes: how many rows go to each rank; equal parts by default.
        group: the group, in one of the ways of `group_of`.
        tag: unused.
    """
    operand = _plain(self)
    output = _output_of_exchange(operand, output_split_sizes)
    result = nn.functional.all_to_all_single(
        output, operand, output_split_sizes, input_split_sizes, group_of(group)
    )
    return _later_with_gradient(result)


def permute_tensor(self: Tensor, src_dst: Sequence[int], group: Any, tag: str = "") -> Tensor:
    """The tensor of the rank that sends to this one.

    Args:
        self: of one shape on all ranks.
        src_dst: for each rank of the group, to which rank of the group its tensor goes.
        group: the group, in one of the ways of `group_of`.
        tag: unused.
    """
    process_group = group_of(group)
    rank, size = get_rank(process_group), get_world_size(process_group)
    n_sent, n_received = [0] * size, [0] * size
    flat = _plain(self).reshape(-1)
    n_sent[src_dst[rank]] = flat.numel()
    n_received[list(src_dst).index(rank)] = flat.numel()
    result = all_to_all_single(flat, n_received, n_sent, process_group)
    if isinstance(result, AsyncCollectiveTensor):
        return _in_shape(result, self.shape)
    return result.reshape(self.shape)


def _in_shape(result: AsyncCollectiveTensor, shape: Sequence[int]) -> Tensor:
    """A pending result in another size."""
    if result.requires_grad:
        return wrap_with_gradient(result.wait().reshape(shape))
    return AsyncCollectiveTensor(result.elem.view(shape), result._work)


def is_torchdynamo_compiling() -> bool:
    """True if the running code becomes a graph for a backend of `compile`."""
    return dispatch_modes.is_compiling() and not dispatch_modes.is_exporting()
