"""One piece of memory that worker processes share with the program, and where in it which block lies.

The memory is an anonymous file, so that nothing has to be removed when processes die: it goes with the last of them.
Each worker has a region of its own and decides where its blocks lie; the program tells it which it needs no longer. So
nothing is locked, and nobody waits: a worker whose region is full sends its batch through the pipe.
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
    """A descriptor of memory that has no name; it takes up what is written to.

    Raises OSError naming both sizes where such memory lies in a file system that is too small.
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
    """A file descriptor that goes along to a process that is being started."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> Any:
        return _received, (reduction.DupFd(self.number),)

    def close(self) -> None:
        """Closes it here."""
        os.close(self.number)


def _received(duplicate: Any) -> Descriptor:
    return Descriptor(duplicate.detach())


class Arena:
    """The program's side: blocks as memory, and which of them nobody uses any more.

    Args:
        size (int): Bytes of all regions together.
        workers (int): How many workers share it.
    """

    def __init__(self, size: int, workers: int) -> None:
        self.share = max(size // workers // mmap.PAGESIZE, 1) * mmap.PAGESIZE
        total = self.share * workers
        self.descriptor = Descriptor(anonymous_file(total))
        self._map = _map(self.descriptor, total)
        self._released: list[deque[int]] = [deque() for _ in range(workers)]
        self._watched: dict[int, Any] = {}

    def block(self, worker: int, offset: int, size: int) -> memoryview:
        """A block that a worker has filled; it is given back when nothing uses its memory any more."""
        array = (ctypes.c_ubyte * size).from_buffer(self._map, offset)
        released = self._released[worker]
        watched = self._watched

        def gone(_: object) -> None:
            del watched[offset]
            released.append(offset)

        watched[offset] = weakref.ref(array, gone)
        return memoryview(array)

    def released(self, worker: int) -> list[int]:
        """The blocks of a worker that were given back since the last question."""
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
    """A worker's side: where its blocks lie.

    Args:
        descriptor (Descriptor): The arena's; it is closed here.
        start, size (int): The worker's part of it, in bytes.
    """

    def __init__(self, descriptor: Descriptor, start: int, size: int) -> None:
        self._start, self.size = start, size
        self._map = mmap.mmap(descriptor.number, size, offset=start)
        descriptor.close()
        self._bytes = memoryview(self._map)
        self._free = [(0, size)]
        self._used: dict[int, int] = {}
        self._placed: dict[int, tuple[int, int]] = {}  # address -> offset and size of a tensor made in place

    def allocate(self, size: int) -> int | None:
        """The offset, in this region, of a block; None if there is no room."""
        needed = -(-size // _ALIGNMENT) * _ALIGNMENT
        for i, (offset, room) in enumerate(self._free):
            if room >= needed:
                self._free[i : i + 1] = [(offset + needed, room - needed)] if room > needed else []
                self._used[offset] = needed
                return offset
        return None

    def free(self, offset: int) -> None:
        """Gives a block back."""
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
        """Gives back what the program has told, by its offsets in the arena."""
        for offset in offsets:
            self.free(offset - self._start)

    def store(self, data: memoryview) -> int | None:
        """Copies bytes into a new block; its place in the arena, or None if there is no room."""
        offset = self.allocate(data.nbytes)
        if offset is None:
            return None
        self._bytes[offset : offset + data.nbytes] = data
        return self._start + offset

    def tensor(self, shape: tuple[int, ...], dtype: Any) -> Tensor | None:
        """A tensor on a new block, to be sent with the batch that is being made; None if there is no room."""
        size = dtype.itemsize
        for n in shape:
            size *= n
        offset = self.allocate(size)
        if offset is None:
            return None
        made = tl_core.frombuffer(self._bytes[offset : offset + size], dtype=dtype).view(shape)
        self._placed[made.data_ptr()] = (offset, size)
        return made

    def placed(self, tensor: Tensor) -> int | None:
        """The place of a tensor that `tensor` made; from now on its block is the program's."""
        offset, size = self._placed.get(tensor.data_ptr(), (0, -1))
        if size != tensor.numel() * tensor.dtype.itemsize:
            return None
        del self._placed[tensor.data_ptr()]
        return self._start + offset

    def sent(self) -> None:
        """Gives back what was made for the batch and not sent with it."""
        for offset, _ in self._placed.values():
            self.free(offset)
        self._placed.clear()
