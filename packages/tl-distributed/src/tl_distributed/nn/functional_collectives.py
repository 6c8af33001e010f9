"""Collectives that return what they give: `torch.distributed._functional_collectives`.

Each waits for its result, so `wait_tensor` returns at once. The forms with `_autograd` have gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.dispatch import modes as dispatch_modes

from .. import nn
from ..base.reduction import operation_named
from ..collectives import tensor_collectives as collectives
from ..groups.device_mesh import DeviceMesh
from ..groups.process_group import ProcessGroup
from ..groups.process_groups import default_group, get_rank, get_world_size, new_group

__all__ = [
    "AsyncCollectiveTensor",
    "all_gather_tensor",
    "all_gather_tensor_autograd",
    "all_reduce",
    "all_to_all_single",
    "all_to_all_single_autograd",
    "broadcast",
    "permute_tensor",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_autograd",
    "wait_tensor",
]


class AsyncCollectiveTensor(Tensor):
    """A result that isn't there yet. No function makes one: results are waited for."""


def group_of(group: Any) -> ProcessGroup:
    """The group that a function was given in one of the ways there are.

    Args:
        group: a group, a mesh of one dimension, a mesh and one of its dimensions, a list of ranks, or None: the world.

    Raises:
        ValueError: it is none of them.
    """
    if group is None:
        return default_group()
    if isinstance(group, ProcessGroup):
        return group
    if isinstance(group, DeviceMesh):
        return group.get_group()
    if isinstance(group, tuple) and len(group) == 2 and isinstance(group[0], DeviceMesh):
        return group[0].get_group(group[1])
    if isinstance(group, list) and all(isinstance(rank, int) for rank in group):
        return new_group(group)
    raise ValueError(
        f"group: expected a group, a mesh, a mesh with a dimension, or a list of ranks, got {group!r}"
    )


def wait_tensor(tensor: Tensor) -> Tensor:
    """A collective's result, waited for.

    Args:
        tensor: the result.
    """
    return tensor


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """One rank's tensor.

    Args:
        self: of one shape on all ranks.
        src: the rank in the world.
        group: the group, in one of the ways of `group_of`.
        tag: unused.
    """
    result = self.contiguous().clone()
    collectives.broadcast(result, src, group_of(group))
    return result


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
        >>> all_reduce(tl_core.ones(2), "sum", [0])
        tensor([1., 1.])
        >>> dist.destroy_process_group()
    """
    result = self.contiguous().clone()
    collectives.all_reduce(result, operation_named(reduceOp), group_of(group))
    return result


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """All ranks' tensors, one behind the other.

    Args:
        self: of one shape on all ranks.
        gather_dim: along which dimension.
        group: the group, in one of the ways of `group_of`.
        tag: unused.
    """
    process_group = group_of(group)
    parts = [
        tl_core.empty_like(self, memory_format=tl_core.contiguous_format) for _ in range(process_group.size())
    ]
    collectives.all_gather(parts, self.contiguous(), process_group)
    return tl_core.cat(parts, gather_dim)


def all_gather_tensor_autograd(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """`all_gather_tensor` with a gradient: the sum of what all ranks have for this one's part.

    Args:
        self: of one shape on all ranks.
        gather_dim: along which dimension.
        group: the group, in one of the ways of `group_of`.
        tag: unused.
    """
    return tl_core.cat(nn.functional.all_gather(self.contiguous(), group_of(group)), gather_dim)


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
    pieces = _pieces(self, scatter_dim, process_group)
    result = tl_core.empty_like(pieces[0])
    collectives.reduce_scatter(result, pieces, operation_named(reduceOp), process_group)
    return result


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
    pieces = _pieces(self, scatter_dim, process_group)
    return nn.functional.reduce_scatter(
        tl_core.empty_like(pieces[0]), pieces, operation_named(reduceOp), process_group
    )


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
    result = _output_of_exchange(self, output_split_sizes)
    collectives.all_to_all_single(
        result, self.contiguous(), output_split_sizes, input_split_sizes, group=group_of(group)
    )
    return result


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
    output = _output_of_exchange(self, output_split_sizes)
    return nn.functional.all_to_all_single(
        output, self.contiguous(), output_split_sizes, input_split_sizes, group_of(group)
    )


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
    flat = self.contiguous().reshape(-1)
    n_sent[src_dst[rank]] = flat.numel()
    n_received[list(src_dst).index(rank)] = flat.numel()
    return all_to_all_single(flat, n_received, n_sent, process_group).reshape(self.shape)


def is_torchdynamo_compiling() -> bool:
    """True if the running code becomes a graph for a backend of `compile`."""
    return dispatch_modes.is_compiling() and not dispatch_modes.is_exporting()
