"""Writes archives: ZIP files whose records are stored as they are, each at a multiple of the alignment.

The layout is that of APPNOTE.TXT (PKWARE, version 6.3.9), with ZIP64 where sizes or offsets need it. A last record, the
manifest, lists all others, so that a reader finds exchanged and missing ones.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

from tl_core.files import crc32, zip_header, zip_records

from .atomic import ScratchFile

__all__ = ["MANIFEST", "ArchiveWriter"]

MANIFEST = ".data/manifest.json"
_LIMIT = 0xFFFFFFFF  # what 32 bits hold, and what says that the number stands in the ZIP64 field
_LARGE = 1 << 16  # records from here on are written alone, smaller ones together
_TOGETHER = 1 << 20  # so many bytes at most wait until they are written


class ArchiveWriter:
    """An archive under construction.

    Args:
        output (ScratchFile or callable): Where to: a file, or what takes bytes or a buffer and writes all of it
            behind what was written before.
        name (str): The folder in the archive under which the records stand.
        alignment (int): A record's bytes begin at a multiple of it.
        checksums (bool): Whether the CRC-32 of each record is computed and written; else it is 0.
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
        self._folder = f"{name}/"
        self._alignment, self._checksums = alignment, checksums
        self._offset, self._bytes_waiting = 0, 0
        self._waiting: list[tuple[str, Any]] = []
        self._directory: list[bytes] = []
        self._names: list[str] = []
        self._facts: list[tuple[int, int]] = []  # the size and the checksum of each record that is written

    def add(self, record: str, data: Any) -> None:
        """Write a record of that name; `data` is bytes or any buffer of bytes, which stays as it is until `close`."""
        size = memoryview(data).nbytes
        self._names.append(record)
        if size >= _LARGE or self._bytes_waiting + size > _TOGETHER:
            self._flush()
        if size >= _LARGE:
            self._write_alone(self._folder + record, data, size)
        else:
            self._waiting.append((self._folder + record, data))
            self._bytes_waiting += size

    def close(self) -> int:
        """Write the manifest and the directory; nothing can be added then.

        Returns the CRC-32 of the directory, which stands for the whole archive: it holds the records' checksums.
        """
        self._flush()
        listed = dict(zip(self._names, self._facts, strict=True))
        self.add(MANIFEST, json.dumps(listed, separators=(",", ":")).encode())
        manifest = self._taken()
        directory = b"".join(self._directory)
        self._write(manifest + directory + _end(len(self._names), len(directory), self._offset))
        return crc32(directory)

    def _write_alone(self, name: str, data: Any, size: int) -> None:
        def head(crc: int) -> bytes:
            return zip_header(name, size, crc, self._offset, self._alignment)[0]

        if self._file and self._checksums:
            crc = self._file.write_checked(head, data)
        else:
            crc = crc32(data) if self._checksums else 0
            self._write(head(crc))
            self._write(data)
        header, entry = zip_header(name, size, crc, self._offset, self._alignment)
        self._offset += len(header) + size
        self._directory.append(entry)
        self._facts.append((size, crc))

    def _flush(self) -> None:
        if self._waiting:
            self._write(self._taken())

    def _taken(self) -> bytes:
        """The records that wait, which count as written from now on."""
        data, entries, facts = zip_records(self._waiting, self._offset, self._alignment, self._checksums)
        self._offset += len(data)
        self._directory.append(entries)
        self._facts += facts
        self._waiting, self._bytes_waiting = [], 0
        return data


def _end(count: int, size: int, start: int) -> bytes:
    wide = b""
    if count >= 0xFFFF or size >= _LIMIT or start >= _LIMIT:
        wide = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, size, start)
        wide += struct.pack("<IIQI", 0x07064B50, 0, start + size, 1)
    short = min(count, 0xFFFF)
    return wide + struct.pack(
        "<IHHHHIIH", 0x06054B50, 0, 0, short, short, min(size, _LIMIT), min(start, _LIMIT), 0
    )
