"""Checksums, checked transfers between files and memory, in parallel, each byte touched once, and records of ZIP files.

Records are stored as they are, each at a multiple of an alignment, as APPNOTE.TXT (PKWARE, version 6.3.9) has them:
with ZIP64 where sizes or offsets need it. All have the same date, so that the same input gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tl_core import _C

__all__ = ["crc32", "read_into", "write_from", "zip_header", "zip_records"]


def crc32(data: Any, value: int = 0, /) -> int:
    """The CRC-32 (ISO 3309, as ZIP and `zlib.crc32` have it) of bytes, continued from `value`.

    >>> crc32(b"123456789") == 0xCBF43926
    True
    """
    return _C._crc32(data, value)


def read_into(descriptor: int, offset: int, target: Any, /) -> int:
    """Fills a writable buffer with a file's bytes from `offset` on; returns their CRC-32.

    Raises EOFError where the file ends before the buffer is full, and OSError as the system does.

    Args:
        descriptor: the file descriptor.
        offset: where in the file.
        target: the buffer.
    """
    return _C._read_file(descriptor, offset, target)


def write_from(descriptor: int, offset: int, data: Any, /) -> int:
    """Writes all of a buffer into a file from `offset` on; returns its CRC-32. Raises OSError as the system does.

    Args:
        descriptor: the file descriptor.
        offset: where in the file.
        data: the buffer.
    """
    return _C._write_file(descriptor, offset, data)


def zip_header(name: str, size: int, crc: int, offset: int, alignment: int, /) -> tuple[bytes, bytes]:
    """What stands before a record's bytes when it begins at `offset`, and its entry in the directory.

    Raises ValueError where a name, or what fills the header up, is longer than 65535 bytes.

    Args:
        name: the name of the record.
        size: its bytes.
        crc: its CRC-32.
        offset: where in the file.
        alignment: the number of which the data's offset is a multiple.

    >>> header, entry = zip_header("weight", 8, 0, 100, 64)
    >>> (100 + len(header)) % 64, len(entry)
    (0, 52)
    """
    return _C._zip_header(name, size, crc, offset, alignment)


def zip_records(
    records: Sequence[tuple[str, Any]], offset: int, alignment: int, checksums: bool, /
) -> tuple[bytes, bytes, list[tuple[int, int]]]:
    """Records one behind the other, the first at `offset`, their entries, and the size and CRC-32 of each.

    A record is a name and a buffer. Without checksums all are 0.

    Args:
        records: pairs of a name and a buffer.
        offset: where in the file.
        alignment: the number of which the data's offset is a multiple.
        checksums: whether CRC-32s are computed.
    """
    return _C._zip_records(records, offset, alignment, checksums)
