"""Boxes of tensors: the overlap of two, and the check of a partition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tl_core import Size

from .metadata import ChunkStorageMetadata

__all__ = ["Overlap", "check_partition", "overlap", "volume"]


class Overlap(NamedTuple):
    """The intersection of a saved box and a requested one.

    Args:
        saved_offsets: its offsets in the saved box.
        wanted_offsets: its offsets in the requested box.
        lengths: its sizes in elements, by dimension.
    """

    saved_offsets: Size
    wanted_offsets: Size
    lengths: Size


def volume(box: ChunkStorageMetadata) -> int:
    """The number of elements in a box."""
    return math.prod(box.sizes)


def overlap(saved: ChunkStorageMetadata, wanted: ChunkStorageMetadata) -> Overlap | None:
    """The intersection of two boxes of one tensor; None if it is empty.

    >>> overlap(ChunkStorageMetadata(Size([0]), Size([4])), ChunkStorageMetadata(Size([3]), Size([9])))
    Overlap(saved_offsets=torch.Size([3]), wanted_offsets=torch.Size([0]), lengths=torch.Size([1]))
    """
    begins = [max(a, b) for a, b in zip(saved.offsets, wanted.offsets, strict=True)]
    ends = [min(a, b) for a, b in zip(_ends(saved), _ends(wanted), strict=True)]
    lengths = [end - begin for begin, end in zip(begins, ends, strict=True)]
    if any(length <= 0 for length in lengths):
        return None
    return Overlap(_minus(begins, saved.offsets), _minus(begins, wanted.offsets), Size(lengths))


def check_partition(chunks: Sequence[ChunkStorageMetadata], size: Sequence[int]) -> str | None:
    """Why chunks are no partition of a tensor of this size; None if they are one."""
    for chunk in chunks:
        if len(chunk.offsets) != len(size) or len(chunk.sizes) != len(size):
            return f"a chunk at {tuple(chunk.offsets)} of {tuple(chunk.sizes)} hasn't {len(size)} dimensions"
        if any(end > n for end, n in zip(_ends(chunk), size, strict=True)):
            return f"the chunk at {tuple(chunk.offsets)} of {tuple(chunk.sizes)} reaches out of {tuple(size)}"
    twice = _first_crossing(chunks)
    if twice:
        return "the chunks at {} and {} overlap".format(*(tuple(chunk.offsets) for chunk in twice))
    count, total = sum(map(volume, chunks)), math.prod(size)
    return None if count == total else f"its chunks hold {count} of {total} elements"


def _first_crossing(
    chunks: Sequence[ChunkStorageMetadata],
) -> tuple[ChunkStorageMetadata, ChunkStorageMetadata] | None:
    """Two chunks with a common element, by a sweep along the dimension with the most cuts; None if there are none."""
    solid = [chunk for chunk in chunks if volume(chunk)]
    if len(solid) < 2:
        return None
    if not solid[0].sizes:
        return solid[0], solid[1]
    axis = max(range(len(solid[0].sizes)), key=lambda d: len({chunk.offsets[d] for chunk in solid}))
    active: list[ChunkStorageMetadata] = []
    for chunk in sorted(solid, key=lambda c: c.offsets[axis]):
        active = [other for other in active if _ends(other)[axis] > chunk.offsets[axis]]
        for other in active:
            if overlap(other, chunk):
                return other, chunk
        active.append(chunk)
    return None


def _ends(box: ChunkStorageMetadata) -> list[int]:
    return [offset + size for offset, size in zip(box.offsets, box.sizes, strict=True)]


def _minus(a: Sequence[int], b: Sequence[int]) -> Size:
    return Size([x - y for x, y in zip(a, b, strict=True)])
