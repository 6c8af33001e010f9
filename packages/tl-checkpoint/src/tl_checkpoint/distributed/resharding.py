"""Boxes of tensors: what two have in common, and whether some make up a whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tl_core import Size

from .metadata import ChunkStorageMetadata

__all__ = ["Overlap", "check_partition", "overlap", "volume"]


class Overlap(NamedTuple):
    """What a saved and a wanted box have in common: where it begins in each of them, and how long it is.

    Args:
        saved_offsets: where it begins in the saved box.
        wanted_offsets: where it begins in the wanted box.
        lengths: its sizes.
    """

    saved_offsets: Size
    wanted_offsets: Size
    lengths: Size


def volume(box: ChunkStorageMetadata) -> int:
    """The number of elements in a box."""
    return math.prod(box.sizes)


def overlap(saved: ChunkStorageMetadata, wanted: ChunkStorageMetadata) -> Overlap | None:
    """The common part of two boxes of one tensor; None if there is none.

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
    """Says what keeps chunks from making up a tensor of a size, each element once; None if nothing does."""
    for chunk in chunks:
        if len(chunk.offsets) != len(size) or len(chunk.sizes) != len(size):
            return f"a chunk at {tuple(chunk.offsets)} of {tuple(chunk.sizes)} hasn't {len(size)} dimensions"
        if any(end > n for end, n in zip(_ends(chunk), size, strict=True)):
            return f"the chunk at {tuple(chunk.offsets)} of {tuple(chunk.sizes)} reaches out of {tuple(size)}"
    twice = _first_crossing(chunks)
    if twice:
        return "the chunks at {} and {} overlap".format(*(tuple(chunk.offsets) for chunk in twice))
    there, wanted = sum(map(volume, chunks)), math.prod(size)
    return None if there == wanted else f"its chunks hold {there} of {wanted} elements"


def _first_crossing(
    chunks: Sequence[ChunkStorageMetadata],
) -> tuple[ChunkStorageMetadata, ChunkStorageMetadata] | None:
    """Two chunks with a common element, found by a sweep along the dimension that is cut most."""
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
