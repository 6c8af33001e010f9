"""Context parallelism: each rank has a part of the sequence, and attention passes keys and values around the ranks.

A sequence is cut into two chunks for each rank. Rank r has the chunks r and 2n - 1 - r, so with a causal mask all ranks
compute as much. In n steps the keys and values of all ranks pass by. A rank merges the results of chunks by their sums
of exponentials, so no rank holds the scores of the whole sequence. The backward pass sends the gradients of keys and
values along, and they arrive at their owner with the last step.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import tl_core
from tl_autograd import Function
from tl_core import Tensor
from tl_nn import functional as F

from ...collectives import tensor_collectives as collectives
from ...collectives.point_to_point import P2POp, batch_isend_irecv, irecv, isend
from ...groups.device_mesh import DeviceMesh
from ..operator_call import operator_named

__all__ = ["context_parallel", "context_parallel_unshard", "set_rotate_method"]

ROTATE_METHODS = ("allgather", "alltoall")
_mesh: ContextVar[DeviceMesh | None] = ContextVar(
    "the mesh of a block with context parallelism", default=None
)
_lock = threading.Lock()
_blocks = 0
_rotate_method = "alltoall"


@contextmanager
def _attention_of_all_ranks() -> Iterator[None]:
    """Replaces the function of `nn.functional` as long as a thread is in a block."""
    global _blocks
    with _lock:
        _blocks += 1
        if _blocks == 1:
            F.scaled_dot_product_attention = _attend_or_call
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if _blocks == 0:
                F.scaled_dot_product_attention = _local_attention


_local_attention = F.scaled_dot_product_attention


def _attend_or_call(query: Any, key: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
    mesh = _mesh.get()
    if mesh is None:
        return _local_attention(query, key, value, *args, **kwargs)
    return _attend(mesh, query, key, value, *args, **kwargs)


_FORWARD, _BACKWARD = operator_named("_attention"), operator_named("_attention_backward")


def set_rotate_method(rotate_method: str) -> None:
    """Chooses how keys and values reach all ranks in the forward pass of later attention.

    Args:
        rotate_method: "alltoall" passes them around the ranks, step by step, and a rank holds those of two ranks.
            "allgather" gathers those of all ranks at once. PyTorch begins with "allgather", tl with "alltoall".

    Raises:
        NotImplementedError: another method.

    Example:
        >>> set_rotate_method("allgather")
        >>> set_rotate_method("alltoall")
    """
    global _rotate_method
    if rotate_method not in ROTATE_METHODS:
        raise NotImplementedError(
            f"rotate_method must be one of {', '.join(ROTATE_METHODS)}, got {rotate_method!r}"
        )
    _rotate_method = rotate_method


def _check_mesh(mesh: DeviceMesh) -> None:
    if mesh.ndim != 1:
        raise ValueError(f"context_parallel: expected a mesh of one dimension, got {mesh}")


@contextmanager
def context_parallel(
    mesh: DeviceMesh,
    *,
    buffers: list[Tensor] | None = None,
    buffer_seq_dims: list[int] | None = None,
    no_restore_buffers: set[Tensor] | None = None,
) -> Iterator[None]:
    """A block in which each rank has a part of the sequence, and attends to all parts of it.

    Args:
        mesh: a mesh of one dimension.
        buffers: tensors with the whole sequence, which are cut in place; none of them is a parameter.
        buffer_seq_dims: the dimension of the sequence in each.
        no_restore_buffers: those that aren't made whole again after the block.

    Raises:
        ValueError: the numbers of buffers and dimensions differ, a sequence can't be cut evenly, or one to leave is
            no buffer.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> q = tl_core.ones(1, 1, 4, 2)
        >>> with context_parallel(mesh, buffers=[q], buffer_seq_dims=[2]):
        ...     F.scaled_dot_product_attention(q, q, q, is_causal=True).shape
        ...
        torch.Size([1, 1, 4, 2])
        >>> dist.destroy_process_group()
    """
    _check_mesh(mesh)
    several, dims, left = buffers or [], buffer_seq_dims or [], no_restore_buffers or set()
    if len(several) != len(dims):
        raise ValueError("`seq_dims` must have the same number of elements as `buffers`.")
    if any(all(each is not buffer for buffer in several) for each in left):
        raise ValueError("`no_restore_buffers` must be a subset of `buffers`.")
    wholes = [None if any(b is each for each in left) else b.clone() for b in several]
    for buffer, dim in zip(several, dims, strict=True):
        _replace(buffer, _own_chunks(buffer, mesh, dim))
    token = _mesh.set(mesh)
    try:
        with _attention_of_all_ranks():
            yield
    finally:
        _mesh.reset(token)
        for buffer, copy in zip(several, wholes, strict=True):
            if copy is not None:
                _replace(buffer, copy)


def context_parallel_unshard(mesh: DeviceMesh, buffers: list[Tensor], seq_dims: list[int]) -> list[Tensor]:
    """The whole sequences of parts that `context_parallel` has cut.

    Args:
        mesh: the mesh.
        buffers: the parts of this rank.
        seq_dims: the dimension of the sequence in each.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> context_parallel_unshard(dist.init_device_mesh("cpu", (1,)), [tl_core.arange(2)], [0])
        [tensor([0, 1])]
        >>> dist.destroy_process_group()
    """
    _check_mesh(mesh)
    count = mesh.size()
    wholes = []
    for buffer, dim in zip(buffers, seq_dims, strict=True):
        own = buffer.contiguous()
        parts = [tl_core.empty_like(own) for _ in range(count)]
        collectives.all_gather(parts, own, mesh.get_group())
        halves = [part.chunk(2, dim) for part in parts]
        ordered = [halves[rank][0] for rank in range(count)] + [
            halves[rank][1] for rank in reversed(range(count))
        ]
        wholes.append(tl_core.cat(ordered, dim))
    return wholes


def _own_chunks(buffer: Tensor, mesh: DeviceMesh, dim: int) -> Tensor:
    count, rank = mesh.size(), mesh.get_local_rank()
    if buffer.shape[dim] % (2 * count):
        raise ValueError(
            f"context_parallel: dimension {dim} of a buffer of size {tuple(buffer.shape)} must be a multiple of "
            f"{2 * count}, twice the number of ranks"
        )
    chunks = buffer.chunk(2 * count, dim)
    return tl_core.cat([chunks[rank], chunks[2 * count - 1 - rank]], dim)


def _replace(buffer: Tensor, value: Tensor) -> None:
    with tl_core.no_grad():
        buffer.resize_(value.shape)
        buffer.copy_(value)


def _attend(
    mesh: DeviceMesh,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Attention of this rank's queries to the keys and values of all ranks."""
    if attn_mask is not None or dropout_p:
        raise NotImplementedError(
            "context_parallel: attention has neither a mask nor dropout, except is_causal=True"
        )
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise ValueError("context_parallel: expected (batch, heads, sequence, width) tensors")
    if query.shape[2] != key.shape[2]:
        raise ValueError(
            f"context_parallel: {query.shape[2]} queries and {key.shape[2]} keys; each rank needs as many of both"
        )
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    result: Tensor = _RingAttention.apply(query, key, value, mesh, is_causal, factor)
    return result


def _pairs(count: int, own: int, other: int, is_causal: bool) -> Iterator[tuple[int, int, bool]]:
    """The halves of queries and keys that attend, with whether the mask is causal, of the parts of two ranks."""
    own_chunks, other_chunks = (own, 2 * count - 1 - own), (other, 2 * count - 1 - other)
    for i, chunk in enumerate(own_chunks):
        for j, earlier in enumerate(other_chunks):
            if not is_causal or chunk >= earlier:
                yield i, j, is_causal and chunk == earlier


def _rotate(tensors: Sequence[Tensor], mesh: DeviceMesh) -> list[Tensor]:
    """What the rank before has; this rank's tensors go to the next one."""
    group, count, rank = mesh.get_group(), mesh.size(), mesh.get_local_rank()
    if count == 1:
        return list(tensors)
    ranks = mesh.mesh.tolist()
    received = [tl_core.empty_like(tensor) for tensor in tensors]
    operations = [P2POp(isend, tensor, ranks[(rank + 1) % count], group) for tensor in tensors]
    operations += [P2POp(irecv, tensor, ranks[(rank - 1) % count], group) for tensor in received]
    for work in batch_isend_irecv(operations):
        work.wait()
    return received


def _blocks_of_ranks(block: Sequence[Tensor], mesh: DeviceMesh) -> Iterator[Sequence[Tensor]]:
    """The blocks of all ranks, from this rank's own to that of the rank after it."""
    count, rank = mesh.size(), mesh.get_local_rank()
    if _rotate_method == "allgather" and count > 1:
        gathered = [[tl_core.empty_like(tensor) for _ in range(count)] for tensor in block]
        for parts, tensor in zip(gathered, block, strict=True):
            collectives.all_gather(parts, tensor, mesh.get_group())
        for step in range(count):
            yield [parts[(rank - step) % count] for parts in gathered]
        return
    yield block
    for _ in range(count - 1):
        block = _rotate(block, mesh)
        yield block


class _RingAttention(Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, mesh: DeviceMesh, is_causal: bool, scale: float
    ) -> Tensor:
        count, rank = mesh.size(), mesh.get_local_rank()
        queries = [half.contiguous() for half in query.chunk(2, 2)]
        merged: list[tuple[Tensor, Tensor] | None] = [None, None]
        block = [key.contiguous(), value.contiguous()]
        for step, each_block in enumerate(_blocks_of_ranks(block, mesh)):
            halves = [[half.contiguous() for half in each.chunk(2, 2)] for each in each_block]
            for i, j, is_diagonal in _pairs(count, rank, (rank - step) % count, is_causal):
                part = _FORWARD(queries[i], halves[0][j], halves[1][j], None, is_diagonal, scale, False)
                merged[i] = _merge(merged[i], part)
        outputs, sums = zip(*[each for each in merged if each is not None], strict=True)
        ctx.save_for_backward(query, key, value, *outputs, *sums)
        ctx.mesh, ctx.is_causal, ctx.scale = mesh, is_causal, scale
        return tl_core.cat(list(outputs), 2)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        query, key, value, *saved = ctx.saved_tensors
        mesh, count, rank = ctx.mesh, ctx.mesh.size(), ctx.mesh.get_local_rank()
        queries, grads = ([half.contiguous() for half in each.chunk(2, 2)] for each in (query, grad))
        of_queries = [tl_core.zeros_like(half) for half in queries]
        block = [key.contiguous(), value.contiguous(), tl_core.zeros_like(key), tl_core.zeros_like(value)]
        for step in range(count):
            halves = [list(each.chunk(2, 2)) for each in block]
            for i, j, is_diagonal in _pairs(count, rank, (rank - step) % count, ctx.is_causal):
                parts = _BACKWARD(
                    *(grads[i], queries[i], halves[0][j].contiguous(), halves[1][j].contiguous(), None),
                    *(saved[i], saved[2 + i], is_diagonal, ctx.scale, None, 0.0, True, True, True, False),
                )
                of_query, of_key, of_value = parts[:3]
                of_queries[i] += of_query
                halves[2][j] += of_key
                halves[3][j] += of_value
            block = _rotate(block, mesh)  # with the last step, gradients arrive at the owner of the keys
        return tl_core.cat(of_queries, 2), block[2], block[3], None, None, None


def _merge(first: tuple[Tensor, Tensor] | None, second: Any) -> tuple[Tensor, Tensor]:
    """Two results of attention to different keys as that of attention to all of them."""
    output, sums = second
    if first is None:
        return output, sums
    total = tl_core.logaddexp(first[1], sums)
    weights = [(each - total).exp().unsqueeze(-1).to(output.dtype) for each in (first[1], sums)]
    return first[0] * weights[0] + output * weights[1], total
