"""Worker configuration pickled once into shared memory; its tensors and arrays are read there without a copy."""

from __future__ import annotations

import io
import mmap
import struct
from typing import Any

from tl_core import Tensor

from .arena import Descriptor, anonymous_file
from .messages import decode, encode

__all__ = ["read", "write"]

_HEAD = struct.Struct("<Q")


def write(message: Any) -> tuple[Descriptor, bytes]:
    """A message in memory of its own, and its pickle without the large pieces."""
    pieces = _Pieces()
    pickled = encode(message, pieces)
    start = _aligned(_HEAD.size + len(pickled))
    descriptor = Descriptor(anonymous_file(start + pieces.size))
    with open(descriptor.number, "wb", closefd=False) as file:
        file.write(_HEAD.pack(len(pickled)) + pickled)
        pieces.write(file, start)
    return descriptor, pickled


def read(descriptor: Descriptor) -> Any:
    """The message. Its pieces lie on the memory; who writes to one gets the page for itself."""
    # Mapped, not read, as the workers' descriptors share one position in the file.
    data = memoryview(mmap.mmap(descriptor.number, 0, access=mmap.ACCESS_COPY))
    descriptor.close()
    (size,) = _HEAD.unpack_from(data)
    pickled = data[_HEAD.size : _HEAD.size + size]
    return decode(pickled, _Mapped(data[_aligned(_HEAD.size + size) :]), 0)


def _aligned(offset: int) -> int:
    return -(-offset // mmap.PAGESIZE) * mmap.PAGESIZE


class _Pieces:
    """Where large pieces go while a message is pickled: one after the other, on pages of their own."""

    def __init__(self) -> None:
        self._pieces: list[tuple[int, memoryview]] = []
        self.size = 0

    def placed(self, tensor: Tensor) -> int | None:
        """Nothing lies here before it is stored."""
        return None

    def store(self, data: memoryview) -> int | None:
        """The offset that a piece will have."""
        offset = self.size
        self._pieces.append((offset, data))
        self.size = _aligned(offset + data.nbytes)
        return offset

    def release(self, offsets: list[int]) -> None:
        """Forgets everything, after a failure."""
        self._pieces.clear()

    def write(self, file: io.BufferedWriter, start: int) -> None:
        """Writes the pieces."""
        for offset, data in self._pieces:
            file.seek(start + offset)
            file.write(data)


class _Mapped:
    """Where they are found again."""

    def __init__(self, data: memoryview) -> None:
        self._data = data

    def block(self, worker: int, offset: int, size: int) -> memoryview:
        """The memory of a piece."""
        return self._data[offset : offset + size]
