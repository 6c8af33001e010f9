"""Random access to the bytes of a file: on disk, mapped into memory, or from an object with `read`."""

from __future__ import annotations

import errno
import io
import mmap
import os
import stat
from typing import Any

from tl_core.memory.files import crc32, read_into

__all__ = ["FileSource", "MappedSource", "ObjectSource", "PartSource", "Source", "SourceFile"]

_WINDOW = 4096
_SMALL = 1 << 20


class Source:
    """Bytes with random access."""

    size: int

    def read_at(self, offset: int, count: int) -> bytes:
        """Exactly `count` bytes; raises RuntimeError if the file ends before."""
        if offset < 0 or count < 0 or offset + count > self.size:
            raise RuntimeError(
                f"the file is cut off: {count} bytes at {offset} were asked for, it has {self.size}"
            )
        return self._read(offset, count)

    def read_into(self, offset: int, target: memoryview) -> None:
        """Reads bytes from `offset` on into the whole target."""
        target[:] = self.read_at(offset, len(target))

    def read_checked(self, offset: int, target: memoryview) -> int:
        """Reads into the target as `read_into`; returns the CRC-32 of the bytes."""
        self.read_into(offset, target)
        return crc32(target)

    def leave_at(self, offset: int) -> None:
        """Sets the position of a file object; other sources have none."""

    def close(self) -> None:
        """Closes the files of the source."""

    def _read(self, offset: int, count: int) -> bytes:
        raise NotImplementedError


class FileSource(Source):
    """A file on disk; a small one is read at once."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        facts = os.fstat(self._descriptor)
        if stat.S_ISDIR(facts.st_mode):  # reading would raise the error without the path
            os.close(self._descriptor)
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        self.size = facts.st_size
        self._content: bytes | None = None
        if self.size <= _SMALL:
            self._content = self._read(0, self.size)

    def _read(self, offset: int, count: int) -> bytes:
        if self._content is not None:
            return self._content[offset : offset + count]
        data = os.pread(self._descriptor, count, offset)
        if len(data) == count:
            return data
        buffer = bytearray(count)
        self.read_checked(offset, memoryview(buffer))
        return bytes(buffer)

    def read_into(self, offset: int, target: memoryview) -> None:
        self.read_checked(offset, target)

    def read_checked(self, offset: int, target: memoryview) -> int:
        if self._content is not None:
            target[:] = self.read_at(offset, len(target))
            return crc32(target)
        try:
            return read_into(self._descriptor, offset, target)
        except EOFError as error:
            raise RuntimeError(f"the file is cut off: {error}") from None

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


# MAP_NORESERVE of x86-64 and aarch64, which Python names from 3.13 on: a file larger than the memory can be mapped
# privately, since only pages that are written take memory.
_NO_RESERVE = 0x4000


class MappedSource(Source):
    """A file mapped into memory; data is read as views of the map.

    Writes reach the file if the map is shared; else they stay in memory, page by page as they come.

    Args:
        path: path of the file.
        flags: `mmap.MAP_PRIVATE` or `mmap.MAP_SHARED`.
    """

    def __init__(self, path: str | os.PathLike[str], flags: int = mmap.MAP_PRIVATE) -> None:
        shared = flags == mmap.MAP_SHARED
        with open(path, "rb+" if shared else "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise RuntimeError("the file is empty: it can't be mapped")
            self._map = mmap.mmap(file.fileno(), 0, flags if shared else flags | _NO_RESERVE)
        self.size = len(self._map)
        self.view = memoryview(self._map)

    def _read(self, offset: int, count: int) -> bytes:
        return bytes(self.view[offset : offset + count])


class ObjectSource(Source):
    """The bytes of an object with `read`; an object without `seek` is read to its end."""

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

    def leave_at(self, offset: int) -> None:
        self._file.seek(self._begin + offset)


class SourceFile(io.RawIOBase):
    """A source as a readable file object."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source, self._position = source, 0

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Sets the position."""
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._source.size}[whence]
        self._position = begin + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Reads into a buffer; returns the number of bytes."""
        target = memoryview(buffer)
        count = max(min(len(target), self._source.size - self._position), 0)
        target[:count] = self._source.read_at(self._position, count) if count else b""
        self._position += count
        return count


class PartSource(Source):
    """A part of another source; its first and last bytes, with an archive's headers, are cached.

    Args:
        whole: the outer source.
        offset: offset of the part in `whole`.
        size: number of bytes.
    """

    def __init__(self, whole: Source, offset: int, size: int) -> None:
        if offset < 0 or size < 0 or offset + size > whole.size:
            raise RuntimeError(
                f"the file is cut off: {size} bytes at {offset} were asked for, it has {whole.size}"
            )
        self._source, self._offset, self.size = whole, offset, size
        self._tail_at = max(size - _WINDOW, 0)
        self._tail = whole.read_at(offset + self._tail_at, size - self._tail_at)
        self._head = whole.read_at(offset, min(_WINDOW, self._tail_at))

    def _read(self, offset: int, count: int) -> bytes:
        if offset >= self._tail_at:
            return self._tail[offset - self._tail_at :][:count]
        if offset + count <= len(self._head):
            return self._head[offset : offset + count]
        return self._source.read_at(self._offset + offset, count)

    def read_into(self, offset: int, target: memoryview) -> None:
        self.read_checked(offset, target)

    def read_checked(self, offset: int, target: memoryview) -> int:
        if offset + len(target) > self.size:
            raise RuntimeError(f"the file is cut off at byte {self.size}")
        return self._source.read_checked(self._offset + offset, target)
