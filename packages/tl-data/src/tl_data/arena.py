"""Arena of memory that worker processes share with the program, and the allocation of blocks in it.

The memory is an anonymous file, so the system removes it with the last process.
Each worker allocates the blocks of its own region. The program sends it the offsets of blocks that are free again.
No lock is needed: a worker whose region is full sends its batch through the pipe.
"""

from __future__ import annotations

import bisect
import ctypes
import errno
import mmap
import os
import tempfile
import weakref
from collections import deque
from multiprocessing import reduction
from typing import Any

import tl_core
from tl_core import Tensor

__all__ = ["Arena", "Descriptor", "Region", "anonymous_file"]

DEFAULT_SIZE = 1 << 30
_ALIGNMENT = 64


def anonymous_file(size: int) -> int:
    """A file descriptor of memory without a name; only pages that are written take up memory.

    Raises OSError with both sizes if the file system is too small.
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("tl_data", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, size)
        return descriptor
    with tempfile.TemporaryFile() as file:
        descriptor = os.dup(file.fileno())
    try:
        os.truncate(descriptor, size)
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        os.close(descriptor)
        room = os.statvfs(tempfile.gettempdir())
        raise OSError(
            error.errno or errno.ENOSPC,
            f"{size} bytes to share with the workers do not fit into {tempfile.gettempdir()!r}, where "
            f"{room.f_bavail * room.f_frsize} are free: give the DataLoader a smaller arena_size, or set TMPDIR",
        ) from error
    return descriptor


class Descriptor:
    """A file descriptor that a new process inherits."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> Any:
        return _receive, (reduction.DupFd(self.number),)

    def close(self) -> None:
        """Closes the descriptor in this process."""
        os.close(self.number)


def _receive(duplicate: Any) -> Descriptor:
    return Descriptor(duplicate.detach())


class Arena:
    """The program's view of the shared memory: blocks in use and blocks to release.

    Args:
        size (int): Bytes of all regions together.
        workers (int): Number of workers, each with a region of equal size.
    """

    def __init__(self, size: int, workers: int) -> None:
        self.share = max(size // workers // mmap.PAGESIZE, 1) * mmap.PAGESIZE
        total = self.share * workers
        self.descriptor = Descriptor(anonymous_file(total))
        self._map = _map(self.descriptor, total)
        self._released: list[deque[int]] = [deque() for _ in range(workers)]
        self._watched: dict[int, Any] = {}

    def block(self, worker: int, offset: int, size: int) -> memoryview:
        """The memory of a block that a worker has filled; it is released with its last reference."""
        array = (ctypes.c_ubyte * size).from_buffer(self._map, offset)
        released = self._released[worker]
        watched = self._watched

        def release(_: object) -> None:
            del watched[offset]
            released.append(offset)

        watched[offset] = weakref.ref(array, release)
        return memoryview(array)

    def pop_released(self, worker: int) -> list[int]:
        """The offsets of a worker's blocks that were released since the last call."""
        queue, offsets = self._released[worker], []
        while queue:
            offsets.append(queue.popleft())
        return offsets


def _map(descriptor: Descriptor, size: int) -> mmap.mmap:
    try:
        return mmap.mmap(descriptor.number, size)
    except OSError as error:
        descriptor.close()
        raise OSError(
            error.errno,
            f"{size} bytes to share with the workers can't be mapped ({error.strerror}): give the DataLoader a "
            "smaller arena_size",
        ) from error


class Region:
    """A worker's part of the shared memory, and the allocator of its blocks.

    Args:
        descriptor (Descriptor): Descriptor of the arena; the constructor closes it.
        start, size (int): Begin and length of the region in the arena, in bytes.
    """

    def __init__(self, descriptor: Descriptor, start: int, size: int) -> None:
        self._start, self.size = start, size
        self._map = mmap.mmap(descriptor.number, size, offset=start)
        descriptor.close()
        self._bytes = memoryview(self._map)
        self._free = [(0, size)]
        self._used: dict[int, int] = {}
        self._placed: dict[int, tuple[int, int]] = {}  # address -> offset and size of a tensor in the region

    def allocate(self, size: int) -> int | None:
        """The offset of a new block in this region; None if there is no room."""
        needed = -(-size // _ALIGNMENT) * _ALIGNMENT
        for i, (offset, room) in enumerate(self._free):
            if room >= needed:
                self._free[i : i + 1] = [(offset + needed, room - needed)] if room > needed else []
                self._used[offset] = needed
                return offset
        return None

    def free(self, offset: int) -> None:
        """Frees a block."""
        start, size = offset, self._used.pop(offset)
        i = bisect.bisect(self._free, (start, size))
        if i < len(self._free) and self._free[i][0] == start + size:
            size += self._free.pop(i)[1]
        if i and sum(self._free[i - 1]) == start:
            start, before = self._free.pop(i - 1)
            size += before
            i -= 1
        self._free.insert(i, (start, size))

    def release(self, offsets: list[int]) -> None:
        """Frees the blocks at these offsets in the arena."""
        for offset in offsets:
            self.free(offset - self._start)

    def store(self, data: memoryview) -> int | None:
        """Copies bytes into a new block; returns its offset in the arena, or None if there is no room."""
        offset = self.allocate(data.nbytes)
        if offset is None:
            return None
        self._bytes[offset : offset + data.nbytes] = data
        return self._start + offset

    def tensor(self, shape: tuple[int, ...], dtype: Any) -> Tensor | None:
        """A tensor on a new block, for the current batch; None if there is no room."""
        size = dtype.itemsize
        for n in shape:
            size *= n
        offset = self.allocate(size)
        if offset is None:
            return None
        tensor = tl_core.frombuffer(self._bytes[offset : offset + size], dtype=dtype).view(shape)
        self._placed[tensor.data_ptr()] = (offset, size)
        return tensor

    def hand_over(self, tensor: Tensor) -> int | None:
        """The offset of a tensor that `tensor` returned; the program owns its block from here on."""
        offset, size = self._placed.get(tensor.data_ptr(), (0, -1))
        if size != tensor.numel() * tensor.dtype.itemsize:
            return None
        del self._placed[tensor.data_ptr()]
        return self._start + offset

    def discard_unsent(self) -> None:
        """Frees the tensors of the current batch that were not sent with it."""
        for offset, _ in self._placed.values():
            self.free(offset)
        self._placed.clear()
