"""Writer of archives: ZIP files of uncompressed records, each at a multiple of the alignment.

The layout is that of APPNOTE.TXT (PKWARE, version 6.3.9), with ZIP64 where sizes or offsets need it. A last record, the
manifest, lists all others, so a reader detects replaced and missing ones.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

from tl_core.memory.files import crc32, zip_header, zip_records

from .atomic import ScratchFile

__all__ = ["MANIFEST", "ArchiveWriter"]

MANIFEST = ".data/manifest.json"
_LIMIT = 0xFFFFFFFF  # maximum of 32 bits, and the mark of a number in the ZIP64 field
_LARGE = 1 << 16  # records of this size are written alone, smaller ones together
_TOGETHER = 1 << 20  # maximum of bytes that wait to be written


class ArchiveWriter:
    """An archive under construction.

    Args:
        output (ScratchFile or callable): The file, or a function that appends all bytes of a buffer.
        name (str): The folder of the records in the archive.
        alignment (int): Alignment of a record's bytes.
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
        self._facts: list[tuple[int, int]] = []  # size and checksum of each written record

    def add(self, record: str, data: Any) -> None:
        """Write a record; `data` is any buffer of bytes and must not change until `close`."""
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
        """Write the manifest and the directory. No record can be added afterwards.

        Returns the CRC-32 of the directory. It covers the whole archive: the directory holds the records' checksums.
        """
        self._flush()
        listed = dict(zip(self._names, self._facts, strict=True))
        self.add(MANIFEST, json.dumps(listed, separators=(",", ":")).encode())
        manifest = self._take_waiting()
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
            self._write(self._take_waiting())

    def _take_waiting(self) -> bytes:
        """Removes the waiting records; returns their bytes for writing."""
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
