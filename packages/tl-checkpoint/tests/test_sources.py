"""Bytes with random access, the records of archives, the formats of files, and files that replace others."""

from __future__ import annotations

import io
import json
import os
import stat
import struct
import tarfile
import zipfile
import zlib

import pytest

import tl_checkpoint
import tl_core as tl
from tl_checkpoint import formats, npz, safetensors
from tl_checkpoint.archive_reader import ArchiveReader, is_archive
from tl_checkpoint.atomic import ScratchFile, replacing
from tl_checkpoint.disk import Disk
from tl_checkpoint.inspection import Item, inspect
from tl_checkpoint.source import FileSource, MappedSource, ObjectSource, PartSource, Source, SourceFile
from tl_checkpoint.tar_file import is_tar
from tl_checkpoint.zip_reader import Record, ZipReader, compare

np = pytest.importorskip("numpy", reason="arrays are sources, too")

CONTENT = bytes(range(256)) * 8192  # 2 MiB: more than is read at once


@pytest.fixture(params=["file", "map", "object", "part"])
def source(request, tmp_path):
    path = tmp_path / "content"
    path.write_bytes(CONTENT if request.param != "part" else b"head" + CONTENT + b"tail")
    content = {
        "file": lambda: FileSource(path),
        "map": lambda: MappedSource(path),
        "object": lambda: ObjectSource(io.BytesIO(CONTENT)),
        "part": lambda: PartSource(FileSource(path), 4, len(CONTENT)),
    }[request.param]()
    yield content
    content.close()


def test_bytes_at_any_offset(source):
    assert isinstance(source, Source) and source.size == len(CONTENT)
    for at, count in ((0, 10), (300, 70000), (len(CONTENT) - 5, 5), (7, 0)):
        assert source.read_at(at, count) == CONTENT[at : at + count]
        target = bytearray(count)
        assert source.read_checked(at, memoryview(target)) == zlib.crc32(CONTENT[at : at + count])
        assert target == CONTENT[at : at + count]
    for at, count in ((len(CONTENT), 1), (-1, 2), (0, len(CONTENT) + 1)):
        with pytest.raises(RuntimeError, match="cut off"):
            source.read_at(at, count)
    with pytest.raises(RuntimeError, match="cut off"):
        source.read_checked(len(CONTENT) - 2, memoryview(bytearray(3)))


def test_a_source_as_a_file(source):
    file = io.BufferedReader(SourceFile(source))
    assert file.read(3) == CONTENT[:3] and file.seek(-4, os.SEEK_END) == len(CONTENT) - 4
    assert file.read() == CONTENT[-4:] and file.read() == b""


def test_parts_lie_in_their_source():
    full = ObjectSource(io.BytesIO(b"abcdef"))
    assert PartSource(full, 2, 3).read_at(0, 3) == b"cde"
    for offset, size in ((4, 3), (-1, 2), (0, -1)):
        with pytest.raises(RuntimeError, match="cut off"):
            PartSource(full, offset, size)


class Stream:
    """A file without `seek`."""

    def __init__(self, data):
        self.read = io.BytesIO(data).read


def test_objects_begin_at_their_position():
    file = io.BytesIO(b"abcdef")
    file.seek(2)
    source = ObjectSource(file)
    assert (source.size, source.read_at(1, 2)) == (4, b"de")
    source.leave_at(3)
    assert file.read() == b"f" and ObjectSource(Stream(b"xyz")).read_at(1, 2) == b"yz"


# ---- archives


def zip_source(method=zipfile.ZIP_STORED, **records):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in records.items():
            archive.writestr(name, data)
    file.seek(0)
    return ObjectSource(file)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_records_of_an_archive(method):
    reader = ZipReader(zip_source(method, first=b"abc" * 100, second=b""))
    record = reader.record("first")
    assert isinstance(record, Record) and (record.size, record.crc) == (300, zlib.crc32(b"abc" * 100))
    assert (record.packed_size == 300) == (method == zipfile.ZIP_STORED)
    assert reader.names() == ["first", "second"] and "second" in reader and "third" not in reader
    assert reader.read("first") == b"abc" * 100 and reader.read_start("first", 4) == b"abca"
    target, counts = bytearray(300), []
    reader.read_into("first", memoryview(target))
    reader.verify("first", counts.append)
    assert target == b"abc" * 100 and sum(counts) == record.packed_size
    with pytest.raises(RuntimeError, match="no record 'third'"):
        reader.record("third")


def test_checksums_are_compared():
    record = Record("a", 0, 3, 3, 0, zlib.crc32(b"abc"))
    compare(record, zlib.crc32(b"abc"))
    compare(record._replace(crc=0), 1)
    with pytest.raises(
        RuntimeError, match="record 'a' is damaged: its CRC-32 is 00000001, 352441c2 was written"
    ):
        compare(record, 1)


def test_archives_by_their_first_bytes(tmp_path):
    path = tmp_path / "x.pt"
    tl_checkpoint.save({"a": tl.ones(2)}, path)
    source = FileSource(path)
    assert is_archive(source) and ArchiveReader(source).folder == "x/"
    assert not is_archive(ObjectSource(io.BytesIO(b"PK\3"))) and not is_archive(
        ObjectSource(io.BytesIO(b"GIF89"))
    )
    with pytest.raises(RuntimeError, match=r"no data\.pkl"):
        ArchiveReader(zip_source(other=b"1"))
    source.close()


def test_tar_archives_by_their_magic():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("storages"))
    file.seek(0)
    assert is_tar(ObjectSource(file))
    assert not is_tar(ObjectSource(io.BytesIO(bytes(512)))) and not is_tar(ObjectSource(io.BytesIO(b"ustar")))


# ---- formats


@pytest.mark.parametrize("ending", ["pt", "safetensors", "npz"])
def test_formats_by_contents(tmp_path, ending):
    path, renamed = str(tmp_path / f"x.{ending}"), str(tmp_path / "renamed")
    assert formats.target_format(path) == ending
    formats.save_tensors({"a": tl.arange(3), "b": tl.ones(2, 2)}, path)
    os.rename(path, renamed)
    assert formats.format_of(renamed) == ending
    tensors = formats.load_tensors(renamed)
    assert tensors["a"].tolist() == [0, 1, 2] and tensors["b"].shape == (2, 2)


def test_other_formats(tmp_path):
    assert formats.target_format("a.ckpt") == "pt" and formats.format_of("a.json") == "index"
    with pytest.raises(ValueError, match=r"the ending of 'a.txt' must be one of .pt"):
        formats.target_format("some/a.txt")
    (tmp_path / "a").write_bytes(b"text of no format")
    with pytest.raises(RuntimeError, match="neither"):
        formats.format_of(str(tmp_path / "a"))


def test_tensors_under_a_key(tmp_path):
    path = str(tmp_path / "a.pt")
    tl_checkpoint.save({"model": {"layer": {"w": tl.ones(1)}}, "step": 3}, path)
    assert formats.load_tensors(path, "model.layer")["w"].item() == 1
    for key, text in ((None, "entries that are no tensors: model, step"), ("model.other", "no entry 'model.other'"),
                      ("step", "holds a int")):  # fmt: skip
        with pytest.raises(TypeError, match=text):
            formats.load_tensors(path, key)


def test_items_of_a_file(tmp_path):
    path = str(tmp_path / "a.pt")
    tl_checkpoint.save({"w": tl.ones(2, 3, dtype=tl.float64), "step": 3}, path)
    tensor, step = inspect(path)
    crc = zlib.crc32(np.ones(6).tobytes())
    assert tensor == Item("w", "float64", "[2, 3]", 48, crc) and step == Item("step", None, "int", 0, None)
    assert inspect(path, "s*") == [step]


def test_arrays_of_an_archive(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)))
    source = FileSource(tmp_path / "a.npz")
    (member,) = npz.members(ZipReader(source))
    source.close()
    assert isinstance(member, npz.Member) and (member.name, member.shape, member.fortran) == (
        "x",
        (2, 3),
        True,
    )
    assert member.dtype == np.int16 and member.start == 128 and member.record.size == 140


# ---- safetensors


def test_headers_of_safetensors():
    text = json.dumps(
        {"__metadata__": {"step": "3"}, "w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
    )
    data = struct.pack("<Q", len(text)) + text.encode() + np.array([1.5, -2], np.float32).tobytes()
    source = ObjectSource(io.BytesIO(data))
    header = safetensors.read_header(source)
    entry = safetensors.Entry("w", tl.float32, (2,), 8 + len(text), len(data))
    assert header == safetensors.Header({"w": entry}, {"step": "3"}, zlib.crc32(text.encode()))
    assert safetensors.read_tensor(source, entry).tolist() == [1.5, -2]
    with pytest.raises(RuntimeError, match="tensor 'w' is damaged: its CRC-32"):
        safetensors.read_tensor(source, safetensors.Entry("w", tl.float32, (2,), entry.begin, entry.end, 7))
    assert safetensors.is_safetensors(source) and not safetensors.is_safetensors(
        ObjectSource(io.BytesIO(data[8:]))
    )
    with pytest.raises(RuntimeError, match="its tensors end at byte"):
        safetensors.read_header(ObjectSource(io.BytesIO(data + b"\0")))


def test_an_index_of_files(tmp_path):
    path = tmp_path / "a.safetensors.index.json"
    path.write_text(
        json.dumps({"weight_map": {"w": "a-1.safetensors"}, "metadata": {"tl.parts": {"a-1": 5}}})
    )
    assert safetensors.read_index(str(path)) == safetensors.Index({"w": "a-1.safetensors"}, {"a-1": 5})
    for weight_map in ({"w": "../a"}, {"w": ""}, {"w": 3}, [], None):
        path.write_text(json.dumps({"weight_map": weight_map}))
        with pytest.raises(RuntimeError, match="the index"):
            safetensors.read_index(str(path))


# ---- files that replace others


def test_a_file_is_replaced_at_the_end(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with replacing(path) as file:
        assert isinstance(file, ScratchFile) and file.write(b"new ") == 4 and file.write(memoryview(b"")) == 0
        crc = file.write_checked(lambda crc: struct.pack("<I", crc), b"data")
        assert crc == zlib.crc32(b"data") and file.tell() == 12
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new " + struct.pack("<I", crc) + b"data"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640 and os.listdir(tmp_path) == ["a"]


class Full(Disk):
    """A disk without room."""

    def sync(self, descriptor):
        raise OSError(28, "No space left on device")


def test_a_file_that_fails_vanishes(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="No space left"), replacing(path, Full()) as file:
        file.write(b"new")
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "b"):
        raise ZeroDivisionError
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a"]
