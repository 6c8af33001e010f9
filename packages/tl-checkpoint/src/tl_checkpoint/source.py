"""The bytes of a file that is read at any place: on disk, mapped into memory, or from an object with `read`."""

from __future__ import annotations

import io
import mmap
import os
from typing import Any

__all__ = ["FileSource", "MappedSource", "ObjectSource", "Source"]


class Source:
    """Bytes that can be read at any place."""

    size: int

    def read_at(self, offset: int, count: int) -> bytes:
        """Exactly `count` bytes; raises RuntimeError where the file ends before."""
        if offset < 0 or count < 0 or offset + count > self.size:
            raise RuntimeError(
                f"the file is cut off: {count} bytes at {offset} were asked for, it has {self.size}"
            )
        return self._read(offset, count)

    def read_into(self, offset: int, target: memoryview) -> None:
        """The bytes from `offset` on, as many as the target holds."""
        target[:] = self.read_at(offset, len(target))

    def close(self) -> None:
        """Gives back what the source has opened."""

    def _read(self, offset: int, count: int) -> bytes:
        raise NotImplementedError


class FileSource(Source):
    """A file on disk."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        self.size = os.fstat(self._descriptor).st_size

    def _read(self, offset: int, count: int) -> bytes:
        data = bytearray(count)
        self.read_into(offset, memoryview(data))
        return bytes(data)

    def read_into(self, offset: int, target: memoryview) -> None:
        done = 0
        while done < len(target):
            count = os.preadv(self._descriptor, [target[done:]], offset + done)
            if count == 0:
                raise RuntimeError(f"the file is cut off at byte {offset + done}")
            done += count

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class MappedSource(Source):
    """A file mapped into memory; what is read of it lies on the map."""

    def __init__(self, path: str | os.PathLike[str], flags: int = mmap.MAP_PRIVATE) -> None:
        with open(path, "rb+" if flags == mmap.MAP_SHARED else "rb") as file:
            writable = mmap.PROT_READ | mmap.PROT_WRITE
            self._map = mmap.mmap(file.fileno(), 0, flags=flags, prot=writable)
        self.size = len(self._map)
        self.view = memoryview(self._map)

    def _read(self, offset: int, count: int) -> bytes:
        return bytes(self.view[offset : offset + count])


class ObjectSource(Source):
    """What an object with `read` gives; one that can't seek is read to its end."""

    def __init__(self, file: Any) -> None:
        try:
            self._begin = file.tell()
            self.size = file.seek(0, io.SEEK_END) - self._begin
            file.seek(self._begin)
            self._file = file
        except (AttributeError, OSError, io.UnsupportedOperation):
            data = file.read()
            self._file, self._begin, self.size = io.BytesIO(data), 0, len(data)

    def _read(self, offset: int, count: int) -> bytes:
        self._file.seek(self._begin + offset)
        parts, left = [], count
        while left:
            part = self._file.read(left)
            if not part:
                raise RuntimeError(f"the file is cut off at byte {offset + count - left}")
            parts.append(part)
            left -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)
