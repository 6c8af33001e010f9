"""Writes archives: ZIP files whose records are stored as they are, each at a multiple of the alignment.

The layout is that of APPNOTE.TXT (PKWARE, version 6.3.9), with ZIP64 where sizes or offsets need it. A last record, the
manifest, lists all others, so that a reader finds exchanged and missing ones.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

from tl_core.files import crc32

from .atomic import ScratchFile

__all__ = ["MANIFEST", "ArchiveWriter"]

MANIFEST = ".data/manifest.json"
_LIMIT = 0xFFFFFFFF  # what 32 bits hold, and what says that the number stands in the ZIP64 field
_DATE = 0x21  # the first of January 1980: the same input gives the same file
_UTF8 = 0x800  # the flag of a name that isn't ASCII
_PADDING = 0x4246  # the tag of the field that fills a header up
_LARGE = 1 << 16  # records from here on are written alone, smaller ones together
_LOCAL, _ENTRY = struct.Struct("<IHHHHHIIIHH"), struct.Struct("<IHHHHHHIIIHHHHHII")


class ArchiveWriter:
    """An archive under construction.

    Parameters:
        output : ScratchFile or callable
            Where to: a file, or what takes bytes or a buffer and writes all of it behind what was written before.
        name : str
            The folder in the archive under which the records stand.
        alignment : int
            A record's bytes begin at a multiple of it.
        checksums : bool
            Whether the CRC-32 of each record is computed and written; else it is 0.
    """

    def __init__(
        self,
        output: ScratchFile | Callable[[Any], Any],
        name: str,
        alignment: int = 64,
        checksums: bool = True,
    ) -> None:
        self._file = output if isinstance(output, ScratchFile) else None
        self._write = output.write if isinstance(output, ScratchFile) else output
        self._folder = f"{name}/".encode()
        self._alignment, self._checksums = alignment, checksums
        self._offset, self._waiting = 0, 0
        self._parts: list[Any] = []
        self._directory: list[bytes] = []
        self._listed: dict[str, tuple[int, int]] = {}
        self._fillers: dict[int, bytes] = {}

    def add(self, record: str, data: Any) -> None:
        """Write a record of that name; `data` is bytes or any buffer of bytes, which stays as it is until `close`."""
        size = memoryview(data).nbytes
        name = self._folder + record.encode()
        start = self._offset
        flags = 0 if name.isascii() else _UTF8
        if size >= _LARGE and self._file and self._checksums:
            self._flush()
            crc = self._file.write_checked(lambda crc: self._local_header(name, flags, crc, size), data)
            self._offset += len(self._local_header(name, flags, crc, size)) + size
        else:
            crc = crc32(data) if self._checksums else 0
            header = self._local_header(name, flags, crc, size)
            self._put((header, data), len(header) + size)
        self._directory.append(_directory_entry(name, flags, crc, size, start))
        self._listed[record] = (size, crc)

    def close(self) -> int:
        """Write the manifest and the directory; nothing can be added then.

        Returns the CRC-32 of the directory, which stands for the whole archive: it holds the records' checksums.
        """
        self.add(MANIFEST, json.dumps(self._listed, separators=(",", ":")).encode())
        start, directory = self._offset, b"".join(self._directory)
        end = _end(len(self._directory), len(directory), start)
        self._put((directory, end), len(directory) + len(end))
        self._flush()
        return crc32(directory)

    def _put(self, parts: tuple[Any, Any], size: int) -> None:
        """Writes two parts, which together are so long, when enough is there to be worth it."""
        self._offset += size
        if self._waiting + size >= _LARGE:
            self._flush()
        if size >= _LARGE:
            for part in parts:
                self._write(part)
        else:
            self._waiting += size
            self._parts += parts

    def _flush(self) -> None:
        if self._waiting:
            self._write(b"".join(self._parts))
        self._parts, self._waiting = [], 0

    def _local_header(self, name: bytes, flags: int, crc: int, size: int) -> bytes:
        wide = struct.pack("<HHQQ", 1, 16, size, size) if size >= _LIMIT else b""
        short, version = (_LIMIT, 45) if wide else (size, 20)
        room = -(self._offset + 34 + len(name) + len(wide)) % self._alignment
        extra = wide + (self._fillers.get(room) or self._filler(room))
        fixed = _LOCAL.pack(0x04034B50, version, flags, 0, 0, _DATE, crc, short, short, len(name), len(extra))
        return fixed + name + extra

    def _filler(self, room: int) -> bytes:
        made = self._fillers[room] = struct.pack("<HH", _PADDING, room) + b"Z" * room
        return made


def _directory_entry(name: bytes, flags: int, crc: int, size: int, offset: int) -> bytes:
    extra, version = b"", 20
    if size >= _LIMIT or offset >= _LIMIT:
        large = [number for number in (size, size, offset) if number >= _LIMIT]
        extra, version = struct.pack(f"<HH{len(large)}Q", 1, 8 * len(large), *large), 45
        size, offset = min(size, _LIMIT), min(offset, _LIMIT)
    long = len(name), len(extra)
    fixed = _ENTRY.pack(
        0x02014B50, version, version, flags, 0, 0, _DATE, crc, size, size, *long, 0, 0, 0, 0, offset
    )
    return fixed + name + extra


def _end(count: int, size: int, start: int) -> bytes:
    wide = b""
    if count >= 0xFFFF or size >= _LIMIT or start >= _LIMIT:
        wide = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, size, start)
        wide += struct.pack("<IIQI", 0x07064B50, 0, start + size, 1)
    short = min(count, 0xFFFF)
    return wide + struct.pack(
        "<IHHHHIIH", 0x06054B50, 0, 0, short, short, min(size, _LIMIT), min(start, _LIMIT), 0
    )
