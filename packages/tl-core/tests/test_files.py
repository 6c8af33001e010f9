"""Checksums, checked transfers, and records of ZIP files; zlib and zipfile are the references."""

from __future__ import annotations

import contextlib
import errno
import io
import mmap
import os
import random
import struct
import subprocess
import sys
import time
import zipfile
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tl_core.memory import files


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
def test_long_transfers_at_any_offset(offset, skipped, tmp_path):
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
from tl_core.memory import files
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (3 * 2**20 + 5, resource.RLIM_INFINITY))
with open({str(tmp_path / "file")!r}, "wb") as file:
    try:
        files.write_from(file.fileno(), 0, bytes(8 * 2**20))
    except OSError as error:
        print(error.errno)
"""
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(process.stdout) == errno.EFBIG


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
from tl_core.memory import files

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
        full, cut = map(int, reader.stdout.read().split())
    assert reader.returncode == 0
    assert full + cut > 0
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


# ---- records of ZIP files


def end_of(count, size, start):
    """What follows a directory, as APPNOTE.TXT has it: for ZIP64 and without."""
    wide = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, size, start)
    wide += struct.pack("<IIQI", 0x07064B50, 0, start + size, 1)
    limit = 0xFFFFFFFF
    return wide + struct.pack(
        "<IHHHHIIH", 0x06054B50, 0, 0, count, count, min(size, limit), min(start, limit), 0
    )


def begin_of(archive, info):
    """Where a record's bytes begin."""
    archive.fp.seek(info.header_offset + 26)
    return info.header_offset + 30 + sum(struct.unpack("<HH", archive.fp.read(4)))


@given(
    st.lists(
        st.tuples(st.text(st.characters(exclude_characters="\0", codec="utf-8")), st.binary(max_size=200))
    ),
    st.integers(0, 300),
    st.sampled_from([1, 2, 64, 100, 4096]),
)
def test_records_are_read_back(records, before, alignment):
    records = [(f"{i}{name}", data) for i, (name, data) in enumerate(records)]
    data, entries, facts = files.zip_records(records, before, alignment, True)
    assert facts == [(len(content), zlib.crc32(content)) for _, content in records]
    end = end_of(len(records), len(entries), before + len(data))
    with zipfile.ZipFile(io.BytesIO(bytes(before) + data + entries + end)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [name for name, _ in records]
        for info, (_, content) in zip(archive.infolist(), records, strict=True):
            assert archive.read(info) == content
            assert begin_of(archive, info) % alignment == 0
            assert (info.compress_type, info.date_time) == (zipfile.ZIP_STORED, (1980, 1, 1, 0, 0, 0))


def test_a_record_is_its_header_and_its_bytes():
    contents = [bytes(5), bytearray(b"x" * 70000), memoryview(b"abc")]
    records = [(f"ä{i}", content) for i, content in enumerate(contents)]
    data, entries, facts = files.zip_records(records, 7, 64, True)
    expected, directory = b"", b""
    for name, content in records:
        header, entry = files.zip_header(name, len(content), zlib.crc32(content), 7 + len(expected), 64)
        expected, directory = expected + header + content, directory + entry
    assert (data, entries) == (expected, directory)
    assert facts == [(len(content), zlib.crc32(content)) for content in contents]


def test_records_without_checksums():
    data, entries, facts = files.zip_records([("a", b"123"), ("b", b"")], 0, 64, False)
    assert facts == [(3, 0), (0, 0)]
    assert struct.unpack_from("<I", data, 14) == struct.unpack_from("<I", entries, 16) == (0,)
    assert files.zip_records([], 0, 64, True) == (b"", b"", [])


@pytest.mark.parametrize("size", [0, 5, 0xFFFFFFFE, 0xFFFFFFFF, 2**32 + 3])
@pytest.mark.parametrize("offset", [0, 0xFFFFFFFE, 0xFFFFFFFF, 2**32 + 5])
def test_sizes_and_offsets_of_more_than_32_bits(size, offset, tmp_path):
    """The file is a hole, but for the header, three bytes behind it, and the directory."""
    header, entry = files.zip_header("large", size, 9, offset, 4096)
    start = offset + len(header) + size
    assert (start - size) % 4096 == 0
    with open(tmp_path / "file", "w+b") as file:
        file.seek(offset)
        file.write(header + b"abc")
        file.seek(start)
        file.write(entry + end_of(1, len(entry), start))
        with zipfile.ZipFile(file) as archive:
            (info,) = archive.infolist()
            assert (info.filename, info.file_size, info.compress_size) == ("large", size, size)
            assert (info.header_offset, info.CRC) == (offset, 9)
            assert begin_of(archive, info) == offset + len(header)
            needs_more = size >= 0xFFFFFFFF or offset >= 0xFFFFFFFF
            assert info.extract_version == (45 if needs_more else 20)
            if size > 5:
                with archive.open(info) as record:
                    assert record.read(3) == b"abc"
    version, *sizes = struct.unpack_from("<H12xII", header, 4)
    assert version == (45 if size >= 0xFFFFFFFF else 20)
    assert sizes == [min(size, 0xFFFFFFFF)] * 2
    if size >= 0xFFFFFFFF:
        assert struct.unpack_from("<HHQQ", header, 30 + len("large")) == (1, 16, size, size)


def test_long_names_and_wide_alignments():
    name = "ä" * 32767 + "x"
    data, entries, _ = files.zip_records([(name, b"abc")], 0, 1, True)
    end = end_of(1, len(entries), len(data))
    assert zipfile.ZipFile(io.BytesIO(data + entries + end)).read(name) == b"abc"
    for call in (files.zip_header, lambda name, *_: files.zip_records([("a", b""), (name, b"")], 0, 1, True)):
        with pytest.raises(ValueError, match="can't have 65536 bytes"):
            call(name + "x", 0, 0, 0, 1)
    header, _ = files.zip_header("a", 0, 0, 5, 65536)
    assert len(header) == 65531
    with pytest.raises(ValueError, match="can't be filled up by 65533 bytes"):
        files.zip_header("a", 0, 0, 65536 - 32, 65536)
    with pytest.raises(ValueError, match="can't be filled up"):
        files.zip_records([("a", b"")], 0, 2**63 - 1, True)
    header, entry = files.zip_header("a", 2**63 - 1, 0, 2**63 - 1, 1)
    assert struct.unpack_from("<QQQ", entry, 46 + 1 + 4) == (2**63 - 1,) * 3


def test_refused_records():
    for offset, alignment in [(-1, 64), (0, 0), (0, -64)]:
        with pytest.raises(ValueError, match="no record can lie"):
            files.zip_records([("a", b"")], offset, alignment, True)
        with pytest.raises(ValueError, match="no record can lie"):
            files.zip_header("a", 0, 0, offset, alignment)
    with pytest.raises(ValueError, match="can't have -1 bytes"):
        files.zip_header("a", -1, 0, 0, 64)
    with pytest.raises(OverflowError):
        files.zip_header("a", 2**63, 0, 0, 64)
    with pytest.raises(BufferError):
        files.zip_records([("a", memoryview(b"abcdef")[::2])], 0, 64, True)
    for records in (["ab"], [("a",)], [["a", b""]], [(b"a", b"")], [("a", "text")], [("a", None)], 3):
        with pytest.raises(TypeError):
            files.zip_records(records, 0, 64, True)
    with pytest.raises(UnicodeEncodeError):
        files.zip_records([("\ud800", b"")], 0, 64, True)


def test_records_let_go_of_their_memory():
    value = bytearray(100_000)
    files.zip_records([("a", value)], 0, 64, True)
    value.append(0)  # BufferError while somebody holds it
    for bad in [("b", None), ("b" * 65536, b"")]:
        with pytest.raises((TypeError, ValueError)):
            files.zip_records([("a", value), bad], 0, 64, True)
        value.append(0)
    with pytest.raises(ValueError, match="filled up"):
        files.zip_records([("a", value)], 0, 1 << 20, True)
    value.append(0)
