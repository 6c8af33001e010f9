"""The placement of a tensor on one dimension of a mesh: in shards, as replicas, or as terms of a reduction."""

from __future__ import annotations

import math
from collections.abc import Sequence
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

    def runs(self, length: int, num_chunks: int, rank: int) -> list[tuple[int, int]]:
        """The runs of a dimension that a rank's piece consists of, each by its size and its beginning.

        Args:
            length: the size of the dimension.
            num_chunks: the number of pieces.
            rank: the piece.
        """
        return [Shard.local_shard_size_and_offset(length, num_chunks, rank)]

    def piece_size(self, length: int, num_chunks: int, rank: int) -> int:
        """The size of a rank's piece of a dimension.

        Args:
            length: the size of the dimension.
            num_chunks: the number of pieces.
            rank: the piece.
        """
        return sum(size for size, _ in self.runs(length, num_chunks, rank))

    def piece(self, tensor: Tensor, num_chunks: int, rank: int) -> Tensor:
        """A rank's piece of a tensor, as a view if it is one run.

        Args:
            tensor: what is cut.
            num_chunks: into how many pieces.
            rank: which piece.
        """
        runs = self.runs(tensor.shape[self.dim], num_chunks, rank)
        parts = [tensor.narrow(self.dim, offset, size) for size, offset in runs]
        return parts[0] if len(parts) == 1 else tl_core.cat(parts, self.dim)

    def _split_tensor(
        self, tensor: Tensor, num_chunks: int, *, with_padding: bool = True, contiguous: bool = True
    ) -> tuple[list[Tensor], list[int]]:
        """All pieces of a tensor, and how many rows of zeros fill each of them up; no numbers without filling."""
        chunk = -(-tensor.shape[self.dim] // num_chunks)
        pieces = [self.piece(tensor, num_chunks, rank) for rank in range(num_chunks)]
        rows = [chunk - piece.shape[self.dim] for piece in pieces] if with_padding else []
        for index, count in enumerate(rows):
            if count:
                shape = [count if dim == self.dim else size for dim, size in enumerate(tensor.shape)]
                pieces[index] = tl_core.cat([pieces[index], tensor.new_zeros(shape)], self.dim)
        return [piece.contiguous() if contiguous else piece for piece in pieces], rows

    def write_piece(self, whole: Tensor, piece: Tensor, num_chunks: int, rank: int) -> None:
        """Writes a rank's piece to its place in a whole tensor.

        Args:
            whole: the tensor.
            piece: the piece.
            num_chunks: the number of pieces.
            rank: the rank.
        """
        position = 0
        for size, offset in self.runs(whole.shape[self.dim], num_chunks, rank):
            whole.narrow(self.dim, offset, size).copy_(piece.narrow(self.dim, position, size))
            position += size

    def join(self, pieces: Sequence[Tensor], length: int) -> Tensor:
        """The tensor of which all ranks' pieces are given.

        Args:
            pieces: the pieces, in the order of the ranks.
            length: the size of the dimension that was cut.
        """
        return tl_core.cat(list(pieces), self.dim)

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True, kw_only=True)
class _StridedShard(Shard):
    """A piece of each of several pieces of a dimension.

    If another mesh dimension, to the right, has cut the dimension into these pieces, a rank has a piece of its own.

    Args:
        dim: the dimension of the tensor.
        split_factor: into how many pieces it has been cut.
    """

    split_factor: int

    def runs(self, length: int, num_chunks: int, rank: int) -> list[tuple[int, int]]:
        """The runs of a dimension that a rank's piece consists of, each by its size and its beginning.

        Args:
            length: the size of the dimension.
            num_chunks: the number of pieces.
            rank: the piece.
        """
        result = []
        for part in range(self.split_factor):
            length_of_part, start = Shard.local_shard_size_and_offset(length, self.split_factor, part)
            size, offset = Shard.local_shard_size_and_offset(length_of_part, num_chunks, rank)
            result.append((size, start + offset))
        return result

    def join(self, pieces: Sequence[Tensor], length: int) -> Tensor:
        """The tensor of which all ranks' pieces are given.

        Args:
            pieces: the pieces, in the order of the ranks.
            length: the size of the dimension that was cut.
        """
        first = pieces[0]
        result = first.new_empty((*first.shape[: self.dim], length, *first.shape[self.dim + 1 :]))
        for rank, piece in enumerate(pieces):
            self.write_piece(result, piece, len(pieces), rank)
        return result

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


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
        return f"P({self.reduce_op})"


@dataclass(frozen=True)
class _NormPartial(Partial):
    """Each rank holds the norm of its piece of a vector; the norm of these norms is that of the vector.

    Args:
        norm_type: the order of the norm, positive.
    """

    norm_type: float = 2.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "reduce_op", "max" if self.norm_type == math.inf else "sum")

    def power(self, tensor: Tensor) -> Tensor:
        """The terms of a sum or of a maximum, from norms.

        Args:
            tensor: the norms.
        """
        return tensor if self.norm_type in (math.inf, 1) else tensor**self.norm_type

    def root(self, tensor: Tensor) -> Tensor:
        """The norms, from a sum or a maximum of `power`.

        Args:
            tensor: the sum or the maximum.
        """
        return tensor if self.norm_type in (math.inf, 1) else tensor ** (1 / self.norm_type)

    def term(self, tensor: Tensor, size: int, rank: int) -> Tensor:
        """The norm itself on the first rank, and zero on the others.

        Args:
            tensor: the norm.
            size: how many ranks there are.
            rank: which of them.
        """
        return tensor if rank == 0 else tl_core.zeros_like(tensor)

    def __repr__(self) -> str:
        return f"_NormPartial({self.norm_type:g})"

    def __str__(self) -> str:
        return f"_NormP({self.norm_type:g})"
