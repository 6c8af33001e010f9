"""Checksums, and checked transfers between files and memory: in parallel, each byte touched once."""

from __future__ import annotations

from typing import Any

from tl_core import _C

__all__ = ["crc32", "read_into", "write_from"]


def crc32(data: Any, value: int = 0, /) -> int:
    """The CRC-32 (ISO 3309, as ZIP and `zlib.crc32` have it) of bytes, continued from `value`.

    >>> crc32(b"123456789") == 0xCBF43926
    True
    """
    return _C._crc32(data, value)


def read_into(descriptor: int, offset: int, target: Any, /) -> int:
    """Fills a writable buffer with a file's bytes from `offset` on; returns their CRC-32.

    Raises EOFError where the file ends before the buffer is full, and OSError as the system does.
    """
    return _C._read_file(descriptor, offset, target)


def write_from(descriptor: int, offset: int, data: Any, /) -> int:
    """Writes all of a buffer into a file from `offset` on; returns its CRC-32. Raises OSError as the system does."""
    return _C._write_file(descriptor, offset, data)
