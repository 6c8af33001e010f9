"""Damaged and hostile files: an error each, nothing executed, no value changed unseen."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import random
import struct
import zipfile

import pytest

import tl_checkpoint
import tl_core as tl
from tl_checkpoint.archive_reader import ArchiveReader
from tl_checkpoint.archive_writer import ArchiveWriter
from tl_checkpoint.source import ObjectSource

STATE = {"weight": tl.arange(40.0), "bias": tl.ones(3, dtype=tl.int16), "step": 7}


def archive_of(data: bytes, records=()) -> io.BytesIO:
    file = io.BytesIO()
    writer = ArchiveWriter(file.write, "x")
    writer.add("data.pkl", data)
    for name, content in records:
        writer.add(name, content)
    writer.add("version", b"3\n")
    writer.close()
    file.seek(0)
    return file


def saved() -> bytes:
    file = io.BytesIO()
    tl_checkpoint.save(STATE, file)
    return file.getvalue()


def plain(state):
    return {k: v.tolist() if isinstance(v, tl.Tensor) else v for k, v in state.items()}


def test_no_flipped_bit_changes_a_value():
    good, expected = saved(), plain(STATE)
    bits = random.Random(0)
    for _ in range(1500):
        data = bytearray(good)
        at = bits.randrange(len(data))
        data[at] ^= 1 << bits.randrange(8)
        with contextlib.suppress(RuntimeError, pickle.UnpicklingError, ValueError):
            assert plain(tl_checkpoint.load(io.BytesIO(bytes(data)))) == expected


@pytest.mark.parametrize("keep", [0, 1, 10, 100, 500, 1000])
def test_a_file_that_is_cut_off(keep):
    with pytest.raises((RuntimeError, pickle.UnpicklingError) if keep else EOFError):
        tl_checkpoint.load(io.BytesIO(saved()[:keep]))


def test_exchanged_records_are_found():
    first, second = tl.arange(4.0), -tl.arange(4.0)
    file = io.BytesIO()
    tl_checkpoint.save([first, second], file)
    reader = ArchiveReader(ObjectSource(io.BytesIO(file.getvalue())))
    one, two = reader.record("data/0"), reader.record("data/1")
    with zipfile.ZipFile(io.BytesIO(file.getvalue())) as archive:
        swapped = {i.filename: archive.read(i) for i in archive.infolist()}
    folder = reader.folder
    swapped[folder + "data/0"], swapped[folder + "data/1"] = (
        swapped[folder + "data/1"],
        swapped[folder + "data/0"],
    )
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w") as archive:
        for name, content in swapped.items():
            archive.writestr(name, content)
    assert one.size == two.size
    with pytest.raises(RuntimeError, match=r"aren't those of its manifest: data/0, data/1"):
        tl_checkpoint.load(io.BytesIO(changed.getvalue()))


def test_a_missing_record_is_found():
    good = saved()
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(good)) as archive, zipfile.ZipFile(changed, "w") as other:
        for info in archive.infolist():
            if not info.filename.endswith("data/1"):
                other.writestr(info.filename, archive.read(info))
    with pytest.raises(RuntimeError, match=r"data/1"):
        tl_checkpoint.load(io.BytesIO(changed.getvalue()))


class Evil:
    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


HOSTILE = {
    "system": pickle.dumps(Evil(os.system, "false"), 2),
    "eval": pickle.dumps(Evil(eval, "1+1"), 2),
    "getattr": pickle.dumps(Evil(getattr, os, "system") if False else Evil(getattr, "x", "upper"), 2),
    "nested": pickle.dumps({"a": [Evil(exec, "pass")]}, 4),
    "import": pickle.dumps(Evil(__import__, "os"), 2),
    "default factory": b"\x80\x02ccollections\ndefaultdict\ncos\nsystem\n\x85R.",
    "items of a list": b"\x80\x02]K\x01K\x02s.",
    "append to a dict": b"\x80\x02}K\x01a.",
    "add to a tuple": b"\x80\x04)(K\x01\x90.",
    "build of a text": b"\x80\x02X\x01\x00\x00\x00a}b.",
    "build of a class": b"\x80\x02ctorch\nTensor\n}X\x01\x00\x00\x00aK\x01sb.",
    "state with dunder": b"\x80\x02cargparse\nNamespace\n)R]b.",
    "instance": b"\x80\x02(cos\nsystem\nX\x01\x00\x00\x00a\x81.",
    "old instance": b"(i__builtin__\neval\n.",
    "extension": b"\x80\x02\x82\x01.",
    "get of nothing": b"\x80\x02h\x05.",
    "mark alone": b"\x80\x02(.",
    "empty": b"",
    "no stop": b"\x80\x02K\x01",
    "two objects": b"\x80\x02K\x01K\x02.",
    "long text": b"\x80\x02X\xff\xff\xff\xff.",
    "long bytes": b"\x80\x05\x8e" + struct.pack("<Q", 2**62) + b".",
    "negative long": b"\x80\x02\x8b\xff\xff\xff\xff.",
    "memo": b"\x80\x02Nr\xff\xff\xff\xff.",
    "set of lists": b"\x80\x04\x8f(]\x90.",
    "key is a list": b"\x80\x02}]K\x01s.",
    "persistent text": b"\x80\x02X\x01\x00\x00\x00aQ.",
    "protocol 0": b"I1\n.",
    "numpy object": b"\x80\x02cnumpy\ndtype\nX\x02\x00\x00\x00O8K\x00K\x01\x87R.",
    "bytes from utf-8": b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x05\x00\x00\x00rot13\x86R.",
    "huge range list": b"\x80\x02c__builtin__\nlist\nc__builtin__\nrange\nJ\xff\xff\xff\x7f\x85R\x85R.",
    "huge bytearray": b"\x80\x02c__builtin__\nbytearray\n\x8a\x08" + struct.pack("<q", 2**60) + b"\x85R.",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles_run_nothing(name, monkeypatch):
    def forbidden(*args):
        raise AssertionError("executed")

    monkeypatch.setattr(os, "system", forbidden)
    with pytest.raises(pickle.UnpicklingError):
        tl_checkpoint.load(archive_of(HOSTILE[name]))


def tensor_pickle(count=4, offset=0, size=4, stride=1, key="0", kind="FloatStorage"):
    def number(n):
        return b"\x8a\x08" + struct.pack("<q", n)

    def text(t):
        return b"X" + struct.pack("<I", len(t)) + t.encode()

    storage = (
        b"("
        + text("storage")
        + f"ctorch\n{kind}\n".encode()
        + text(key)
        + text("cpu")
        + number(count)
        + b"tQ"
    )
    geometry = number(offset) + number(size) + b"\x85" + number(stride) + b"\x85"
    return (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n("
        + storage
        + geometry
        + b"\x89ccollections\nOrderedDict\n)RtR."
    )


def test_the_pickle_of_a_tensor_is_read():
    file = archive_of(tensor_pickle(), [("data/0", bytes(16))])
    assert tl_checkpoint.load(file).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"count": 2**60},
        {"count": -1},
        {"count": 3},
        {"size": 5},
        {"size": 2**62},
        {"size": -1},
        {"offset": 1},
        {"offset": -1},
        {"stride": 2},
        {"stride": -1},
        {"stride": 2**61},
        {"key": "1"},
        {"key": "../data.pkl"},
        {"kind": "DoubleStorage"},
    ],
)
def test_sizes_that_lie(wrong):
    file = archive_of(tensor_pickle(**wrong), [("data/0", bytes(16))])
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        tl_checkpoint.load(file)


def test_a_script_is_refused():
    file = archive_of(b"\x80\x02N.", [("constants.pkl", b"\x80\x02).")])
    with pytest.raises(RuntimeError, match="TorchScript archive"):
        tl_checkpoint.load(file)


def test_a_file_without_checksums_is_read():
    tl_checkpoint.serialization.set_crc32_options(False)
    try:
        data = saved()
    finally:
        tl_checkpoint.serialization.set_crc32_options(True)
    assert plain(tl_checkpoint.load(io.BytesIO(data))) == plain(STATE)
