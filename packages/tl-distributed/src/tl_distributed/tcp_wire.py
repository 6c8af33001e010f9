"""How a store's requests look on the way: the format of the reference, so that each side may be either program's."""

from __future__ import annotations

import enum
import struct
from collections.abc import Sequence

MAGIC = 0x3C85F7CE
LONGEST = 1 << 31  # of a key or value; more is no request

_BYTE, _NUMBER, _SHORT = struct.Struct("<B"), struct.Struct("<q"), struct.Struct("<I")


class Request(enum.IntEnum):
    """What a client asks for."""

    VALIDATE = 0
    SET = 1
    COMPARE_SET = 2
    GET = 3
    ADD = 4
    CHECK = 5
    WAIT = 6
    COUNT_KEYS = 7
    DELETE = 8
    APPEND = 9
    MULTI_GET = 10
    MULTI_SET = 11
    CANCEL_WAIT = 12
    PING = 13


READY, NOT_READY = 0, 1  # answers to CHECK
ARRIVED, CANCELED = 0, 1  # answers to WAIT


class Incomplete(Exception):
    """The rest of a request has not come yet."""


class Malformed(Exception):
    """What came is no request."""


class Reader:
    """Takes the parts of a request from what has come so far."""

    def __init__(self, data: bytes | bytearray):
        self._data = data
        self.at = 0

    def _take(self, size: int) -> bytes:
        if self.at + size > len(self._data):
            raise Incomplete
        self.at += size
        return bytes(self._data[self.at - size : self.at])

    def byte(self) -> int:
        """A number of one byte."""
        return int(_BYTE.unpack(self._take(1))[0])

    def number(self) -> int:
        """A number of eight bytes."""
        return int(_NUMBER.unpack(self._take(8))[0])

    def short(self) -> int:
        """A number of four bytes."""
        return int(_SHORT.unpack(self._take(4))[0])

    def value(self) -> bytes:
        """Bytes with their length before them."""
        size = self.number()
        if not 0 <= size < LONGEST:
            raise Malformed
        return self._take(size)

    def values(self) -> list[bytes]:
        """Several of them, with their number before them."""
        count = self.number()
        if not 0 <= count < LONGEST:
            raise Malformed
        return [self.value() for _ in range(count)]


def byte(value: int) -> bytes:
    """A number of one byte."""
    return _BYTE.pack(value)


def number(value: int) -> bytes:
    """A number of eight bytes."""
    return _NUMBER.pack(value)


def short(value: int) -> bytes:
    """A number of four bytes."""
    return _SHORT.pack(value)


def value(data: bytes) -> bytes:
    """Bytes with their length before them."""
    return _NUMBER.pack(len(data)) + data


def values(several: Sequence[bytes]) -> bytes:
    """Several of them, with their number before them."""
    return _NUMBER.pack(len(several)) + b"".join(value(each) for each in several)
