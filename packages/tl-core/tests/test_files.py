"""Checksums and checked transfers; zlib is the reference."""

from __future__ import annotations

import os
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tl_core import files


@given(st.binary(max_size=400), st.integers(0, 2**32 - 1), st.integers(0, 17))
def test_short_checksums(data, value, skipped):
    assert files.crc32(data, value) == zlib.crc32(data, value)
    assert files.crc32(memoryview(data)[skipped:]) == zlib.crc32(data[skipped:])


@pytest.mark.parametrize("size", [2**20 - 1, 2**20, 2**20 + 1, 5 * 2**20 + 77])
def test_long_checksums(size):
    data = random.Random(size).randbytes(size)
    assert files.crc32(data, 99) == zlib.crc32(data, 99)


@pytest.mark.parametrize("size", [0, 1, 1000, 2**20, 3 * 2**20 + 5])
def test_transfers(size, tmp_path):
    data = random.Random(size).randbytes(size)
    with open(tmp_path / "file", "w+b") as file:
        assert files.write_from(file.fileno(), 7, data) == zlib.crc32(data)
        target = bytearray(size)
        assert files.read_into(file.fileno(), 7, target) == zlib.crc32(data)
    assert target == data
    assert (tmp_path / "file").read_bytes() == (b"\0" * 7 + data if size else b"")


def test_a_file_that_ends_early(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    with open(tmp_path / "file", "rb") as file, pytest.raises(EOFError, match="ends 2 bytes on"):
        files.read_into(file.fileno(), 1, bytearray(3))


def test_errors_of_the_system():
    with open("/dev/full", "r+b", buffering=0) as full, pytest.raises(OSError, match="No space left"):
        files.write_from(full.fileno(), 0, b"abc")
    with pytest.raises(OSError, match="Bad file descriptor"):
        files.read_into(-1, 0, bytearray(1))
    with pytest.raises(ValueError, match="offset in a file must be 0 or more, got -1"):
        files.read_into(0, -1, bytearray(1))
    with pytest.raises(BufferError):
        files.read_into(os.open("/dev/null", os.O_RDONLY), 0, b"abc")
