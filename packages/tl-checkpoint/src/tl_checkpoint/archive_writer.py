"""Writes archives: ZIP files whose records are stored as they are, each at a multiple of the alignment.

The layout is that of APPNOTE.TXT (PKWARE, version 6.3.9), with ZIP64 where sizes or offsets need it. A last record, the
manifest, lists all others, so that a reader finds exchanged and missing ones.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

__all__ = ["MANIFEST", "ArchiveWriter"]

MANIFEST = ".data/manifest.json"
_LIMIT = 0xFFFFFFFF  # what 32 bits hold, and what says that the number stands in the ZIP64 field
_DATE = 0x21  # the first of January 1980: the same input gives the same file
_PADDING = 0x4246  # the tag of the field that fills a header up


class ArchiveWriter:
    """An archive under construction.

    Parameters:
        write : callable
            Takes bytes or a buffer and writes all of it behind what was written before.
        name : str
            The folder in the archive under which the records stand.
        alignment : int
            A record's bytes begin at a multiple of it.
        checksums : bool
            Whether the CRC-32 of each record is computed and written; else it is 0.
    """

    def __init__(
        self, write: Callable[[Any], Any], name: str, alignment: int = 64, checksums: bool = True
    ) -> None:
        self._write, self._name = write, name
        self._alignment, self._checksums = alignment, checksums
        self._offset = 0
        self._directory: list[bytes] = []
        self._listed: dict[str, tuple[int, int]] = {}

    def add(self, record: str, data: Any) -> None:
        """Write a record of that name; `data` is bytes or any buffer of bytes."""
        view = memoryview(data).cast("B") if len(memoryview(data)) else memoryview(b"")
        crc = zlib.crc32(view) if self._checksums else 0
        name = f"{self._name}/{record}".encode()
        start = self._offset
        self._put(self._local_header(name, crc, len(view)))
        self._put(view)
        self._directory.append(_directory_entry(name, crc, len(view), start))
        self._listed[record] = (len(view), crc)

    def close(self) -> None:
        """Write the manifest and the directory; nothing can be added then."""
        self.add(MANIFEST, json.dumps(self._listed, separators=(",", ":")).encode())
        start = self._offset
        for entry in self._directory:
            self._put(entry)
        self._put(_end(len(self._directory), self._offset - start, start))

    def _put(self, data: Any) -> None:
        self._write(data)
        self._offset += len(data)

    def _local_header(self, name: bytes, crc: int, size: int) -> bytes:
        wide = struct.pack("<HHQQ", 1, 16, size, size) if size >= _LIMIT else b""
        short = _LIMIT if wide else size
        begin = self._offset + 30 + len(name) + len(wide)
        room = -(begin + 4) % self._alignment
        extra = wide + struct.pack("<HH", _PADDING, room) + b"Z" * room
        fixed = (0x04034B50, 45 if wide else 20, _flags(name), 0, 0, _DATE, crc, short, short)
        return struct.pack("<IHHHHHIIIHH", *fixed, len(name), len(extra)) + name + extra


def _flags(name: bytes) -> int:
    return 0 if name.isascii() else 0x800  # the name is UTF-8


def _directory_entry(name: bytes, crc: int, size: int, offset: int) -> bytes:
    large = [number for number in (size, size, offset) if number >= _LIMIT]
    extra = struct.pack(f"<HH{len(large)}Q", 1, 8 * len(large), *large) if large else b""
    short, where = min(size, _LIMIT), min(offset, _LIMIT)
    version = 45 if large else 20
    fixed = (0x02014B50, version, version, _flags(name), 0, 0, _DATE, crc, short, short)
    return struct.pack("<IHHHHHHIIIHHHHHII", *fixed, len(name), len(extra), 0, 0, 0, 0, where) + name + extra


def _end(count: int, size: int, start: int) -> bytes:
    wide = b""
    if count >= 0xFFFF or size >= _LIMIT or start >= _LIMIT:
        wide = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, size, start)
        wide += struct.pack("<IIQI", 0x07064B50, 0, start + size, 1)
    short = min(count, 0xFFFF)
    return wide + struct.pack(
        "<IHHHHIIH", 0x06054B50, 0, 0, short, short, min(size, _LIMIT), min(start, _LIMIT), 0
    )
