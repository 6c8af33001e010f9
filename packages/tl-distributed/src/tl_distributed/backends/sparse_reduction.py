"""Sums of sparse tensors over a group: the elements of all are gathered, and those of one position added."""

from __future__ import annotations

import tl_core
from tl_core import Tensor

from ..base.reduction import RedOpType, ReduceOp
from ..base.work import Work
from .communicator import Communicator


def all_reduce_sparse(link: Communicator, tensor: Tensor, op: RedOpType) -> Work:
    """Adds a sparse tensor (COO) over all processes, in place; it is over when this returns.

    Args:
        link: the processes.
        tensor: the same size everywhere; how many elements it stores may differ.
        op: the sum.

    Raises:
        RuntimeError: another reduction; sizes or numbers of sparse dimensions that differ.
    """
    if op != ReduceOp.SUM:
        raise RuntimeError(f"all_reduce: op must be SUM for a sparse tensor, got {op}")
    mine = tensor.coalesce()
    stored = _counts(link, mine)
    longest = max(stored)
    indices = _gather(link, mine.indices().t(), stored, longest)
    values = _gather(link, mine.values(), stored, longest)
    total = tl_core.sparse_coo_tensor(indices.t(), values, tensor.shape, check_invariants=False).coalesce()
    return Work([tensor.copy_(total)])


def _counts(link: Communicator, mine: Tensor) -> list[int]:
    """The number of elements of each process."""
    own = [mine.sparse_dim(), *mine.shape]
    geometry = tl_core.tensor([mine._nnz(), *own])
    rows = geometry.new_empty(link.size, geometry.numel())
    link.all_gather_single(rows, geometry).wait()
    for rank, (_, *other) in enumerate(rows.tolist()):
        if other != own:
            raise RuntimeError(
                f"all_reduce: the sparse tensor of rank {link.context.global_ranks[rank]} has the size {other[1:]}, "
                f"{other[0]} dimensions of it sparse; here it has {list(mine.shape)}, {mine.sparse_dim()} of it sparse"
            )
    return rows[:, 0].tolist()


def _gather(link: Communicator, mine: Tensor, stored: list[int], longest: int) -> Tensor:
    """The rows of all processes, one after the other; they travel with the same length."""
    padded = mine.new_zeros(longest, *mine.shape[1:])
    padded[: mine.shape[0]] = mine
    every = mine.new_empty(link.size, *padded.shape)
    link.all_gather_single(every, padded).wait()
    return tl_core.cat([rows[:n] for rows, n in zip(every.unbind(0), stored, strict=True)])
