"""Reader of untrusted ZIP files, which checks every field before use.

Directory and local headers must agree, records must not overlap, and the CRC-32 of a record must match its data. Memory
is allocated for actual bytes of the file, never for declared sizes.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

from tl_core.memory.files import crc32

from .archive_writer import MANIFEST
from .source import Source

__all__ = ["Record", "ZipReader", "broken"]

_END, _WIDE_END, _LOCATOR = 0x06054B50, 0x06064B50, 0x07064B50
_ENTRY, _LOCAL = 0x02014B50, 0x04034B50
_LIMIT = 0xFFFFFFFF
_STORED, _DEFLATED = 0, 8
_LOCAL_HEADER, _DIRECTORY_ENTRY = struct.Struct("<IHHHHHIIIHH"), struct.Struct("<IHHHHHHIIIHHHHHII")
_MOST_UNPACKED = 1 << 26
_PIECE = 1 << 24


class Record(NamedTuple):
    """A record of an archive: the extent of its bytes, and their CRC-32 (0 without a checksum).

    Args:
        name: name of the record, with its folder.
        offset: first byte of the data in the file.
        size: number of bytes after decompression.
        packed_size: number of bytes in the file.
        method: compression method: 0 for none, 8 for deflate.
        crc: CRC-32 of the data; 0 without a checksum.
    """

    name: str
    offset: int
    size: int
    packed_size: int
    method: int
    crc: int


class ZipReader:
    """The records of a ZIP file.

    Args:
        source (Source): The bytes of the file.

    Raises:
        RuntimeError: If the file is no archive, is truncated or inconsistent.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        start, size, count = self._end()
        directory = source.read_at(start, size)
        self.checksum = crc32(directory)  # covers the archive: the directory holds the records' checksums
        entries = _entries(directory, count)
        self.records = {entry.name: self._locate(entry, start) for entry in entries}
        if len(self.records) != len(entries):
            raise broken("two records have the same name")
        self._check_apart()
        self._check_unpacked_size()

    folder = ""  # common folder of the records

    def names(self) -> list[str]:
        """The names of all records, without their folder."""
        return [name.removeprefix(self.folder) for name in self.records]

    def __contains__(self, name: str) -> bool:
        return self.folder + name in self.records

    def record(self, name: str) -> Record:
        """The record by its name."""
        try:
            return self.records[self.folder + name]
        except KeyError:
            raise RuntimeError(f"the archive has no record {name!r}, which it names itself") from None

    def read(self, name: str, verify: bool = True) -> bytes:
        """A record's bytes; raises RuntimeError if their CRC-32 is wrong."""
        record = self.record(name)
        data = self._source.read_at(record.offset, record.packed_size)
        if record.method == _DEFLATED:
            data = _inflate(data, record)
        if verify:
            compare(record, crc32(data))
        return data

    def read_start(self, name: str, count: int) -> bytes:
        """A record's first bytes, at most `count`, without a check."""
        record = self.record(name)
        if record.method == _STORED:
            return self._source.read_at(record.offset, min(count, record.size))
        data = self._source.read_at(record.offset, record.packed_size)
        try:
            return zlib.decompressobj(-15).decompress(data, count)
        except zlib.error as error:
            raise RuntimeError(f"record {record.name!r} is damaged: {error}") from None

    def verify(self, name: str, progress: Callable[[int], Any] = lambda count: None) -> None:
        """Compares a record with its CRC-32, piece by piece; calls `progress` with the bytes of each piece."""
        record = self.record(name)
        if record.method == _DEFLATED:
            self.read(name)
            progress(record.packed_size)
            return
        crc = 0
        for at in range(0, record.size, _PIECE):
            piece = self._source.read_at(record.offset + at, min(_PIECE, record.size - at))
            crc = crc32(piece, crc)
            progress(len(piece))
        compare(record, crc)

    def read_into(self, name: str, target: memoryview, verify: bool = True) -> None:
        """Reads a record's bytes into memory of its size."""
        record = self.record(name)
        if record.method == _DEFLATED:
            target[:] = self.read(name, verify)
            return
        crc = self._source.read_checked(record.offset, target)
        if verify:
            compare(record, crc)

    def check_manifest(self) -> None:
        """Raises RuntimeError if the archive has a manifest and its records differ from it."""
        if MANIFEST not in self:
            return  # another program wrote the file
        try:
            listed = json.loads(self.read(MANIFEST))
            manifest = {str(name): (int(size), int(crc)) for name, (size, crc) in listed.items()}
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise broken("its manifest is damaged") from None
        there = {name.removeprefix(self.folder): (r.size, r.crc) for name, r in self.records.items()}
        del there[MANIFEST]
        if manifest != there:
            differing = sorted(name for name in {*manifest, *there} if manifest.get(name) != there.get(name))
            raise broken(f"records aren't those of its manifest: {', '.join(differing[:5])}")

    def _end(self) -> tuple[int, int, int]:
        tail_at = max(self._source.size - 22 - 0xFFFF, 0)
        tail = self._source.read_at(tail_at, self._source.size - tail_at)
        at = tail.rfind(b"PK\x05\x06")
        if at < 0 or len(tail) - at < 22:
            raise broken("its directory is missing: the file is cut off, or is no archive")
        fields = struct.unpack("<IHHHHIIH", tail[at : at + 22])
        count, size, start, comment = fields[4], fields[5], fields[6], fields[7]
        if at + 22 + comment != len(tail):
            raise broken("bytes stand behind its end")
        end_at = tail_at + at
        if self._source.read_at(max(end_at - 20, 0), 4) == b"PK\x06\x07":  # some writers always add it
            start, size, count, end_at = self._wide_end(end_at)
        if start + size != end_at:
            raise broken("its directory isn't where it says")
        return start, size, count

    def _wide_end(self, end_at: int) -> tuple[int, int, int, int]:
        if end_at < 20 + 56:
            raise broken("its ZIP64 directory is missing")
        locator = struct.unpack("<IIQI", self._source.read_at(end_at - 20, 20))
        at = locator[2]
        if locator[0] != _LOCATOR or at != end_at - 20 - 56:
            raise broken("its ZIP64 directory isn't where it says")
        wide = struct.unpack("<IQHHIIQQQQ", self._source.read_at(at, 56))
        if wide[0] != _WIDE_END or wide[6] != wide[7]:
            raise broken("its ZIP64 directory is damaged")
        return wide[9], wide[8], wide[7], at

    def _locate(self, entry: _Entry, directory: int) -> Record:
        if entry.offset + 30 > directory:
            raise broken(f"record {entry.name!r} lies outside of it")
        length = len(entry.raw_name)
        head = self._source.read_at(entry.offset, min(30 + length, self._source.size - entry.offset))
        fields = _LOCAL_HEADER.unpack_from(head)
        data = entry.offset + 30 + length + fields[10]
        name = head[30:] if fields[9] == length else b""
        agrees = fields[0] == _LOCAL and name == entry.raw_name and fields[3] == entry.method
        if not fields[2] & 8:  # else sizes and checksum are behind the bytes, and in the directory
            agrees = agrees and fields[6] == entry.crc
            agrees = agrees and fields[7] in (entry.packed_size, _LIMIT) and fields[8] in (entry.size, _LIMIT)
        if not agrees:
            raise broken(f"the header of record {entry.name!r} isn't what the directory says")
        if data + entry.packed_size > directory:
            raise broken(f"record {entry.name!r} reaches past its end")
        return Record(entry.name, data, entry.size, entry.packed_size, entry.method, entry.crc)

    def _check_apart(self) -> None:
        end = 0
        for record in sorted(self.records.values(), key=lambda r: r.offset):
            if record.offset < end:
                raise broken(f"record {record.name!r} lies on another")
            end = record.offset + record.packed_size

    def _check_unpacked_size(self) -> None:
        unpacked = sum(r.size for r in self.records.values() if r.method == _DEFLATED)
        if unpacked > self._source.size + _MOST_UNPACKED:
            raise RuntimeError(
                f"the archive's compressed records say {unpacked} bytes, in a file of {self._source.size}: that much "
                "isn't unpacked on trust; write it without compression"
            )


class _Entry(NamedTuple):
    name: str
    raw_name: bytes
    offset: int
    size: int
    packed_size: int
    method: int
    crc: int


def compare(record: Record, crc: int) -> None:
    """Raises RuntimeError if a record's CRC-32 differs from `crc`."""
    if record.crc and crc != record.crc:
        raise RuntimeError(
            f"record {record.name!r} is damaged: its CRC-32 is {crc:08x}, {record.crc:08x} was written"
        )


def broken(why: str) -> RuntimeError:
    """The error of an archive that can't be read, in PyTorch's words."""
    return RuntimeError(f"PytorchStreamReader failed reading zip archive: {why}")


def _inflate(data: bytes, record: Record) -> bytes:
    engine = zlib.decompressobj(-15)
    try:
        out = engine.decompress(data, record.size + 1)
    except zlib.error as error:
        raise RuntimeError(f"record {record.name!r} is damaged: {error}") from None
    if len(out) != record.size or not engine.eof:
        raise RuntimeError(f"record {record.name!r} doesn't have the {record.size} bytes it says")
    return out


def _entries(directory: bytes, count: int) -> list[_Entry]:
    entries, at = [], 0
    while at < len(directory):
        if at + 46 > len(directory):
            raise broken("its directory is cut off")
        fields = _DIRECTORY_ENTRY.unpack_from(directory, at)
        name_end = at + 46 + fields[10]
        extra_end = name_end + fields[11]
        next_at = extra_end + fields[12]
        if fields[0] != _ENTRY or next_at > len(directory):
            raise broken("its directory is damaged")
        raw_name, extra = directory[at + 46 : name_end], directory[name_end:extra_end]
        entries.append(_entry(fields, raw_name, extra))
        at = next_at
    if len(entries) != count:
        raise broken(f"its directory has {len(entries)} entries and says {count}")
    return entries


def _entry(fields: tuple[int, ...], raw_name: bytes, extra: bytes) -> _Entry:
    try:
        name = raw_name.decode()
    except UnicodeDecodeError:
        raise broken("a record's name isn't UTF-8") from None
    flags, method, crc = fields[3], fields[4], fields[7]
    if flags & 1:
        raise broken(f"record {name!r} is encrypted")
    if method not in (_STORED, _DEFLATED):
        raise broken(f"record {name!r} is compressed by method {method}")
    wide = _wide_numbers(extra)
    numbers = []
    for number in (fields[9], fields[8], fields[16]):  # size, packed size, offset
        if number == _LIMIT:
            if not wide:
                raise broken(f"record {name!r} lacks its ZIP64 field")
            number = wide.pop(0)
        numbers.append(number)
    if method == _STORED and numbers[0] != numbers[1]:
        raise broken(f"record {name!r} has two sizes")
    return _Entry(name, raw_name, numbers[2], numbers[0], numbers[1], method, crc)


def _wide_numbers(extra: bytes) -> list[int]:
    at = 0
    while at + 4 <= len(extra):
        tag, length = struct.unpack("<HH", extra[at : at + 4])
        if tag == 1:
            body = extra[at + 4 : at + 4 + length]
            return list(struct.unpack(f"<{len(body) // 8}Q", body[: len(body) // 8 * 8]))
        at += 4 + length
    return []
