"""Worker configuration pickled once into shared memory; workers use its tensors and arrays without a copy."""

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
    """A message in new shared memory, and its pickle without the large buffers."""
    pieces = _Pieces()
    pickled = encode(message, pieces)
    start = _align(_HEAD.size + len(pickled))
    descriptor = Descriptor(anonymous_file(start + pieces.size))
    with open(descriptor.number, "wb", closefd=False) as file:
        file.write(_HEAD.pack(len(pickled)) + pickled)
        pieces.write(file, start)
    return descriptor, pickled


def read(descriptor: Descriptor) -> Any:
    """The message. Its buffers are views of the memory; a write copies the page."""
    # Mapped, not read, as the workers' descriptors share one position in the file.
    data = memoryview(mmap.mmap(descriptor.number, 0, access=mmap.ACCESS_COPY))
    descriptor.close()
    (size,) = _HEAD.unpack_from(data)
    pickled = data[_HEAD.size : _HEAD.size + size]
    return decode(pickled, _Mapped(data[_align(_HEAD.size + size) :]), 0)


def _align(offset: int) -> int:
    return -(-offset // mmap.PAGESIZE) * mmap.PAGESIZE


class _Pieces:
    """Storage for large buffers of a message: in sequence, each on its own pages."""

    def __init__(self) -> None:
        self._pieces: list[tuple[int, memoryview]] = []
        self.size = 0

    def hand_over(self, tensor: Tensor) -> int | None:
        """None: no tensor is in the storage before `store`."""
        return None

    def store(self, data: memoryview) -> int | None:
        """The future offset of a buffer."""
        offset = self.size
        self._pieces.append((offset, data))
        self.size = _align(offset + data.nbytes)
        return offset

    def release(self, offsets: list[int]) -> None:
        """Drops all buffers after a failure."""
        self._pieces.clear()

    def write(self, file: io.BufferedWriter, start: int) -> None:
        """Writes the buffers to a file."""
        for offset, data in self._pieces:
            file.seek(start + offset)
            file.write(data)


class _Mapped:
    """Storage of the buffers, mapped into memory."""

    def __init__(self, data: memoryview) -> None:
        self._data = data

    def block(self, worker: int, offset: int, size: int) -> memoryview:
        """The memory of a buffer."""
        return self._data[offset : offset + size]
