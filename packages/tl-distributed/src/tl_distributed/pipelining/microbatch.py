"""Batches cut into microbatches, and results of microbatches joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.pytree import tree_flatten, tree_unflatten

__all__ = ["TensorChunkSpec", "merge_chunks", "split_args_kwargs_into_chunks"]


class TensorChunkSpec:
    """The dimension along which a tensor is cut into microbatches.

    Args:
        split_dim: the dimension.

    Example:
        >>> TensorChunkSpec(1)
        TensorChunkSpec(1)
    """

    def __init__(self, split_dim: int):
        self.split_dim = split_dim

    def __repr__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims: Sequence[int]) -> tuple[TensorChunkSpec, ...]:
        """Dimensions of several arguments."""
        return tuple(TensorChunkSpec(dim) for dim in chunk_dims)

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> dict[str, TensorChunkSpec]:
        """Dimensions of arguments by name."""
        return {name: TensorChunkSpec(dim) for name, dim in chunk_dims.items()}


def split_args_kwargs_into_chunks(
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    chunks: int,
    args_chunk_spec: tuple[Any, ...] | None = None,
    kwargs_chunk_spec: dict[str, Any] | None = None,
) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """Arguments of a batch as those of microbatches.

    Args:
        args: the arguments.
        kwargs: the arguments by name.
        chunks: the number of microbatches.
        args_chunk_spec: the dimension of each argument; the first one by default. Other values are repeated.
        kwargs_chunk_spec: the dimension of each argument by name.

    Raises:
        ValueError: a tensor has fewer elements along its dimension than there are microbatches.

    Example:
        >>> args, kwargs = split_args_kwargs_into_chunks((tl_core.arange(4), 3), None, 2)
        >>> args
        [(tensor([0, 1]), 3), (tensor([2, 3]), 3)]
    """
    positional = _split(args, args_chunk_spec, chunks)
    named = _split(kwargs or {}, kwargs_chunk_spec, chunks)
    return [tuple(part) for part in positional], named


def _split(values: Any, specs: Any, chunks: int) -> list[Any]:
    flat, tree = tree_flatten(values)
    kinds = [TensorChunkSpec(0)] * len(flat) if specs is None else tree_flatten(specs)[0]
    if len(kinds) != len(flat):
        raise ValueError(f"the chunk spec has {len(kinds)} entries for {len(flat)} arguments")
    columns = [_cut(value, kind, chunks) for value, kind in zip(flat, kinds, strict=True)]
    return [tree_unflatten([column[i] for column in columns], tree) for i in range(chunks)]


def _cut(value: Any, kind: Any, chunks: int) -> list[Any]:
    if not isinstance(value, Tensor) or not isinstance(kind, TensorChunkSpec):
        return [value] * chunks
    if value.dim() == 0 or value.shape[kind.split_dim] < chunks:
        raise ValueError(f"a tensor of size {tuple(value.shape)} can't be cut into {chunks} microbatches")
    return list(value.tensor_split(chunks, kind.split_dim))


def merge_chunks(chunks: list[Any], chunk_spec: Any = None) -> Any:
    """The results of microbatches as that of the batch.

    Args:
        chunks: the results.
        chunk_spec: the dimension of each tensor; the first one by default.

    Example:
        >>> merge_chunks([tl_core.zeros(1), tl_core.ones(2)])
        tensor([0., 1., 1.])
    """
    if not chunks:
        return []
    flats, trees = zip(*[tree_flatten(chunk) for chunk in chunks], strict=True)
    kinds = [TensorChunkSpec(0)] * len(flats[0]) if chunk_spec is None else tree_flatten(chunk_spec)[0]
    merged = []
    for column, kind in zip(zip(*flats, strict=True), kinds, strict=True):
        is_cut = isinstance(column[0], Tensor) and isinstance(kind, TensorChunkSpec) and column[0].dim() > 0
        merged.append(tl_core.cat(list(column), kind.split_dim) if is_cut else column[0])
    return tree_unflatten(merged, trees[0])
