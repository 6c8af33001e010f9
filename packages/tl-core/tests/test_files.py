"""Checksums and checked transfers; zlib is the reference."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import random
import subprocess
import sys
import time
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


@pytest.mark.parametrize("offset", [0, 7, 64, 4096, 2**20 - 64, 2**20 + 4096 + 1])
@pytest.mark.parametrize("skipped", [0, 1, 64])
def test_long_transfers_at_any_place(offset, skipped, tmp_path):
    data = random.Random(offset).randbytes(6 * 2**20 + 77)
    with open(tmp_path / "file", "wb") as file:
        assert files.write_from(file.fileno(), offset, data) == zlib.crc32(data)
    with open(tmp_path / "file", "rb") as file:
        target = bytearray(len(data) + skipped)
        assert files.read_into(file.fileno(), offset, memoryview(target)[skipped:]) == zlib.crc32(data)
        assert target[skipped:] == data
        with pytest.raises(EOFError, match=f"ends {len(data)} bytes on"):
            files.read_into(file.fileno(), offset, bytearray(len(data) + 1))


def test_a_long_write_beside_bytes_that_are_there(tmp_path):
    before = random.Random(1).randbytes(9 * 2**20)
    data = random.Random(2).randbytes(6 * 2**20)
    (tmp_path / "file").write_bytes(before)
    with open(tmp_path / "file", "r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)
        files.write_from(file.fileno(), 2**20 + 100, data)
        expected = before[: 2**20 + 100] + data + before[7 * 2**20 + 100 :]
        assert mapped[:] == expected
    assert (tmp_path / "file").read_bytes() == expected


def test_a_long_write_that_the_system_ends(tmp_path):
    """Past the largest size of a file that the process may write: what the system says is raised."""
    program = f"""
import resource, signal
from tl_core import files
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (3 * 2**20 + 5, resource.RLIM_INFINITY))
with open({str(tmp_path / "file")!r}, "wb") as file:
    try:
        files.write_from(file.fileno(), 0, bytes(8 * 2**20))
    except OSError as error:
        print(error.errno)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) == errno.EFBIG


@pytest.mark.parametrize("size", [0, 5 * 2**20])
def test_reading_leaves_no_lease(size, tmp_path):
    (tmp_path / "file").write_bytes(bytes(size))
    with open(tmp_path / "file", "rb") as file:
        files.read_into(file.fileno(), 0, bytearray(size))
        with pytest.raises(EOFError):
            files.read_into(file.fileno(), 0, bytearray(size + 1))
        os.close(os.open(tmp_path / "file", os.O_WRONLY | os.O_NONBLOCK))  # a lease would make it wait


_READING = """
import sys, time
from tl_core import files

size, name = int(sys.argv[1]), sys.argv[2]
target, whole, cut = bytearray(size), 0, 0
print("ready", flush=True)
end = time.monotonic() + 2
while time.monotonic() < end:
    with open(name, "rb") as file:
        try:
            files.read_into(file.fileno(), 0, target)
        except EOFError:
            cut += 1
        else:
            whole += 1
            assert target.count(7) + target.count(0) == size
print(whole, cut)
"""


@pytest.mark.skipif(not hasattr(os, "truncate"), reason="files are shortened by name")
@pytest.mark.parametrize("writer", [False, True], ids=["leased", "open for writing as well"])
def test_a_file_shortened_meanwhile(writer, tmp_path):
    """It is read whole or it ends early, and who shortens it doesn't wait for long."""
    size, name = 32 * 2**20, tmp_path / "file"
    name.write_bytes(b"\7" * size)
    rng, longest = random.Random(0), 0.0
    with contextlib.ExitStack() as stack:
        if writer:
            stack.enter_context(open(name, "r+b"))
        command = [sys.executable, "-c", _READING, str(size), str(name)]
        reader = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        assert reader.stdout.readline() == "ready\n"
        while reader.poll() is None:
            time.sleep(rng.uniform(0, 0.02))
            begin = time.monotonic()
            os.truncate(name, rng.choice([0, 1, size // 2, size - 1]))
            longest = max(longest, time.monotonic() - begin)
            os.truncate(name, size)
        whole, cut = map(int, reader.stdout.read().split())
    assert reader.returncode == 0
    assert whole + cut > 0
    assert longest < 10  # the system takes a lease away after 45 seconds


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
