"""A tensor of which this process has only some chunks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tl_core import Size

from .metadata import ChunkStorageMetadata, MetadataIndex, TensorProperties
from .planner import WriteItem
from .planner_helpers import create_chunk_items

__all__ = ["ChunkedTensor"]


class ChunkedTensor:
    """Chunks of a larger tensor, to save, or to fill from a checkpoint with other chunks.

    Args:
        size (sequence of int): The size of the whole tensor.
        chunks (iterable of (offsets, tensor)): The chunks of this process, all of one dtype.

    Example:
        >>> import tl_core
        >>> half = ChunkedTensor((4, 2), [((2, 0), tl_core.zeros(2, 2))])
        >>> half.shape
        torch.Size([4, 2])
    """

    def __init__(self, size: Sequence[int], chunks: Iterable[tuple[Sequence[int], Any]]) -> None:
        self.shape = Size(size)
        self._chunks = {Size(offsets): tensor for offsets, tensor in chunks}
        for offsets, tensor in self._chunks.items():
            self._check(offsets, tensor)

    @property
    def chunks(self) -> list[tuple[Size, Any]]:
        """The offsets and the tensor of each chunk."""
        return list(self._chunks.items())

    def _check(self, offsets: Size, tensor: Any) -> None:
        first = next(iter(self._chunks.values()))
        fits = len(offsets) == tensor.ndim == len(self.shape) and all(
            at >= 0 and at + n <= length
            for at, n, length in zip(offsets, tensor.shape, self.shape, strict=True)
        )
        if not fits:
            raise ValueError(
                f"a chunk of {tuple(tensor.shape)} at {tuple(offsets)} isn't part of a tensor of {tuple(self.shape)}"
            )
        if tensor.dtype != first.dtype:
            raise TypeError(f"chunks must have one dtype, got {first.dtype} and {tensor.dtype}")

    def __create_write_items__(self, fqn: str, value: Any) -> list[WriteItem]:
        if not self._chunks:
            return []
        properties = TensorProperties.create_from_tensor(next(iter(self._chunks.values())))
        return create_chunk_items(fqn, self.shape, properties, self.__create_chunk_list__())

    def __create_chunk_list__(self) -> list[ChunkStorageMetadata]:
        return [ChunkStorageMetadata(offsets, Size(t.shape)) for offsets, t in self._chunks.items()]

    def __get_tensor_shard__(self, index: MetadataIndex) -> Any:
        if index.offset not in self._chunks:
            raise ValueError(f"{index.fqn!r} has no chunk at {index.offset} here")
        return self._chunks[index.offset]
