"""Items for the entries of a state dict.

A distributed tensor, of which this process holds only chunks, has three methods:
`__create_write_items__(fqn, value)` returns the WriteItems of its chunks, `__create_chunk_list__()` their boxes, and
`__get_tensor_shard__(index)` the tensor of one chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Size

from ..quantized import is_quantized_dtype
from .flatten import is_tensor
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner import BytesIOWriteData, LoadItemType, ReadItem, TensorWriteData, WriteItem, WriteItemType
from .resharding import overlap, volume

__all__ = [
    "create_chunk_items",
    "create_chunk_list",
    "create_read_items",
    "create_read_items_for_chunk_list",
    "create_write_items",
]


def create_write_items(fqn: str, value: Any) -> list[WriteItem]:
    """The items that write an entry."""
    if hasattr(value, "__create_write_items__"):
        items: list[WriteItem] = value.__create_write_items__(fqn, value)
        return items
    if not isinstance(value, tl_core.Tensor):
        return [WriteItem(MetadataIndex(fqn), WriteItemType.BYTE_IO, bytes_io_data=BytesIOWriteData(0))]
    (chunk,) = create_chunk_list(value)
    data = TensorWriteData(chunk, TensorProperties.create_from_tensor(value), chunk.sizes)
    return [WriteItem(MetadataIndex(fqn, chunk.offsets), WriteItemType.TENSOR, tensor_data=data)]


def create_chunk_items(
    fqn: str, size: Sequence[int], properties: TensorProperties, chunks: Sequence[ChunkStorageMetadata]
) -> list[WriteItem]:
    """The items that write chunks of a tensor.

    Args:
        fqn: the name of the tensor.
        size: the size of the whole tensor.
        properties: its dtype, layout and further properties.
        chunks: the boxes that this process holds.
    """
    return [
        WriteItem(
            MetadataIndex(fqn, chunk.offsets, at),
            WriteItemType.SHARD,
            tensor_data=TensorWriteData(chunk, properties, Size(size)),
        )
        for at, chunk in enumerate(chunks)
    ]


def create_chunk_list(tensor: Any) -> list[ChunkStorageMetadata]:
    """The chunks of a tensor in this process; a plain tensor is one chunk."""
    if hasattr(tensor, "__create_chunk_list__"):
        chunks: list[ChunkStorageMetadata] = tensor.__create_chunk_list__()
        return chunks
    return [ChunkStorageMetadata(Size([0] * tensor.ndim), Size(tensor.shape))]


def create_read_items_for_chunk_list(
    fqn: str, checkpoint_md: TensorStorageMetadata, local_chunks: Sequence[ChunkStorageMetadata]
) -> list[ReadItem]:
    """The items that fill chunks of a tensor from the stored chunks.

    Args:
        fqn: the name of the tensor.
        checkpoint_md: metadata of the stored chunks.
        local_chunks: the boxes to fill.

    Raises:
        RuntimeError: If the stored chunks don't hold all elements.
    """
    items = []
    for local_at, local in enumerate(local_chunks):
        filled = 0
        for saved_at, saved in enumerate(checkpoint_md.chunks):
            common = overlap(saved, local)
            if common is None:
                continue
            target = MetadataIndex(fqn, local.offsets, local_at)
            source = MetadataIndex(fqn, saved.offsets, saved_at)
            boxes = target, common.wanted_offsets, source, common.saved_offsets, common.lengths
            items.append(ReadItem(LoadItemType.TENSOR, *boxes))
            filled += volume(ChunkStorageMetadata(common.saved_offsets, common.lengths))
        if filled != volume(local):
            raise RuntimeError(
                f"the checkpoint holds {filled} of the {volume(local)} elements wanted of {fqn}"
            )
    return items


def create_read_items(
    fqn: str, md: TensorStorageMetadata | BytesStorageMetadata, value: Any
) -> list[ReadItem]:
    """The items that fill a tensor, or read a value in its place.

    Args:
        fqn: the name of the entry.
        md: the metadata of the entry.
        value: the value to fill or replace.

    Raises:
        ValueError: If the entry is a tensor and the checkpoint has none of its size there, or has quantized
            parts.
    """
    if isinstance(md, BytesStorageMetadata):
        nothing, index = Size([0]), MetadataIndex(fqn)
        return [ReadItem(LoadItemType.BYTE_IO, index, nothing, index, nothing, nothing)]
    if not is_tensor(value):
        raise ValueError(
            f"the checkpoint has a tensor of {tuple(md.size)} at {fqn}, which can't be loaded into a "
            f"{type(value).__name__}: put a tensor of that size there"
        )
    size = getattr(value, "shape", md.size)
    if tuple(size) != tuple(md.size):
        raise ValueError(f"Size mismatch between saved {tuple(md.size)} and current: {tuple(size)} for {fqn}")
    local_chunks = create_chunk_list(value)
    if is_quantized_dtype(md.properties.dtype) and any(
        c.sizes != md.size for c in (*md.chunks, *local_chunks)
    ):
        raise ValueError(f"{fqn} is quantized, and quantized tensors are loaded whole only")
    return create_read_items_for_chunk_list(fqn, md, local_chunks)


def _create_write_items(fqn: str, object: Any) -> list[WriteItem]:
    """`create_write_items`."""
    return create_write_items(fqn, object)
