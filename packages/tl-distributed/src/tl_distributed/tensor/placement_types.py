"""The placement of a tensor on one dimension of a mesh: in shards, as replicas, or as terms of a reduction."""

from __future__ import annotations

from dataclasses import dataclass

import tl_core
from tl_core import Tensor

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """The placement of a tensor on one dimension of a mesh.

    Example:
        >>> from tl_distributed.tensor import Replicate, Shard
        >>> Shard(0).is_shard(), Replicate().is_shard()
        (True, False)
    """

    def is_shard(self, dim: int | None = None) -> bool:
        """True if it is a `Shard`, of this dimension of the tensor if one is named."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """True if it is `Replicate`."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """True if it is a `Partial`, with this reduction if one is named."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Each rank holds a piece of one dimension of the tensor, cut as `tensor.chunk` does; the last may be empty.

    Args:
        dim: the dimension of the tensor.

    Example:
        >>> Shard.local_shard_size_and_offset(10, 4, 3)
        (1, 9)
    """

    dim: int

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """The size of a rank's piece, and where it begins.

        Args:
            curr_local_size: the size of the dimension that is cut.
            num_chunks: into how many pieces.
            rank: which piece.
        """
        chunk = -(-curr_local_size // num_chunks)
        offset = min(chunk * rank, curr_local_size)
        return min(chunk, curr_local_size - offset), offset

    _local_shard_size_and_offset = local_shard_size_and_offset

    @staticmethod
    def _local_shard_size_on_dim(
        size_on_dim: int, num_chunks: int, rank: int, return_offset: bool = False
    ) -> tuple[int, int]:
        size, offset = Shard.local_shard_size_and_offset(size_on_dim, num_chunks, rank)
        return size, offset if return_offset else -1

    def piece(self, tensor: Tensor, num_chunks: int, rank: int) -> Tensor:
        """A rank's piece of a tensor, as a view.

        Args:
            tensor: what is cut.
            num_chunks: into how many pieces.
            rank: which piece.
        """
        size, offset = self.local_shard_size_and_offset(tensor.shape[self.dim], num_chunks, rank)
        return tensor.narrow(self.dim, offset, size)

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True, kw_only=True)
class _StridedShard(Shard):
    """A piece of one dimension that another mesh dimension, to the right, has cut before.

    Args:
        dim: the dimension of the tensor.
        split_factor: into how many pieces it has been cut.
    """

    split_factor: int

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Each rank holds the tensor.

    Example:
        >>> from tl_distributed.tensor import Replicate
        >>> Replicate().is_replicate()
        True
    """

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


_NEUTRAL = {"sum": 0.0, "avg": 0.0, "product": 1.0}


@dataclass(frozen=True)
class Partial(Placement):
    """Each rank holds a term of an elementwise reduction, which gives the tensor.

    Args:
        reduce_op: "sum", "avg", "product", "max" or "min".

    Example:
        >>> from tl_distributed.tensor import Partial
        >>> Partial("sum").is_partial()
        True
    """

    reduce_op: str = "sum"

    def term(self, tensor: Tensor, size: int, rank: int) -> Tensor:
        """The term of a rank whose reduction is a tensor that all ranks have.

        Args:
            tensor: the tensor.
            size: how many ranks there are.
            rank: which of them.
        """
        if self.reduce_op in ("max", "min", "avg") or rank == 0:
            return tensor
        return tl_core.full_like(tensor, _NEUTRAL[self.reduce_op])

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return "P"
