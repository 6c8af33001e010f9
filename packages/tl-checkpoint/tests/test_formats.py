"""safetensors, `.npz` and the command line; NumPy and the format's description are the references."""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys

import pytest

import tl_checkpoint
import tl_core as tl
from tl_checkpoint import __main__ as command_line
from tl_checkpoint import npz, safetensors

DTYPES = ["bool", "uint8", "int8", "int16", "uint16", "float16", "bfloat16", "int32", "uint32", "float32", "float64",
          "int64", "uint64", "complex64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
          "float8_e8m0fnu"]  # fmt: skip


def state():
    results = {name: tl.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(tl, name)) for name in DTYPES}
    return results | {
        "turned": tl.arange(6).view(2, 3).T,
        "scalar": tl.tensor(2.5),
        "empty": tl.empty(0, 3),
        "ü": tl.ones(1),
    }


def same(a, b):
    return set(a) == set(b) and all(tl.equal(a[n], b[n]) and a[n].dtype is b[n].dtype for n in a)


def test_packed_numbers_are_counted_along_the_last_dimension():
    x = tl.arange(6).to(tl.uint8).view(tl.float4_e2m1fn_x2).reshape(2, 3)
    data = safetensors.save({"x": x}, checksums=False)
    (length,) = struct.unpack("<Q", data[:8])
    head = json.loads(data[8 : 8 + length])
    assert head["x"] == {"dtype": "F4", "shape": [2, 6], "data_offsets": [0, 6]}
    again = safetensors.load(data)["x"]
    assert again.dtype is x.dtype
    assert again.view(tl.uint8).tolist() == x.view(tl.uint8).tolist()


def raw(head, body=b"", length=None):
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def entry(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


# ---- safetensors


def test_safetensors_both_ways(tmp_path):
    path = tmp_path / "x.safetensors"
    safetensors.save_file(state(), path, {"format": "pt"})
    assert same(safetensors.load_file(path), state())
    assert same(safetensors.load_file(path, mmap=True), state())
    assert same(safetensors.load(path.read_bytes()), state())
    assert same(
        safetensors.load_file(path, keys="float[136]*"),
        {n: state()[n] for n in ("float16", "float32", "float64")},
    )
    with pytest.raises(KeyError, match="no tensor of the file matches 'x'"):
        safetensors.load_file(path, keys="x")
    mapped = safetensors.load_file(path, mmap=True)["float32"]
    mapped.zero_()
    assert not mapped.any() and same(safetensors.load_file(path), state())


def test_the_layout_is_that_of_the_description():
    data = safetensors.save(
        {"b": tl.tensor([1, 2], dtype=tl.int16), "a": tl.tensor([1.5])}, {"k": "v"}, checksums=False
    )
    (length,) = struct.unpack("<Q", data[:8])
    head = json.loads(data[8 : 8 + length])
    assert (8 + length) % 8 == 0
    assert head == {
        "__metadata__": {"k": "v"},
        "a": entry("F32", [1], [0, 4]),
        "b": entry("I16", [2], [4, 8]),
    }
    assert data[8 + length :] == struct.pack("<fhh", 1.5, 1, 2)


def test_a_file_that_another_program_wrote():
    head = {"w": entry("F32", [2], [0, 8]), "n": entry("I64", [], [8, 16]), "__metadata__": {"format": "pt"}}
    loaded = safetensors.load(raw(head, struct.pack("<ffq", 1, 2, -3)))
    assert loaded["w"].tolist() == [1, 2]
    assert loaded["n"].item() == -3


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no header"),
        (b"\0" * 8, "doesn't begin with"),
        (raw({}, length=2**62), "its header is said to have"),
        (raw(b"[]"), "doesn't begin with '{'"),
        (raw(b" {}"), "doesn't begin with '{'"),
        (raw(b"{"), "no JSON"),
        (raw(b'{"a":\xff}'), "no JSON"),
        (raw(b'{"a":' * 100_000), "no JSON"),
        (raw(b'{"a":1,"a":1}'), "twice"),
        (raw({"a": 3}), "must have dtype, shape and data_offsets"),
        (raw({"a": {**entry(), "more": 1}}, bytes(4)), "must have dtype"),
        (raw({"a": entry("F6_E2M3", [4])}, bytes(4)), "which tl lacks"),
        (raw({"a": entry("F4", [7])}, bytes(4)), "its last dimension must be even"),
        (raw({"a": entry("F33")}, bytes(4)), "which is no type"),
        (raw({"a": entry(3)}, bytes(4)), "which is no type"),
        (raw({"a": entry(shape=[2])}, bytes(4)), "has 4 bytes, its shape needs 8"),
        (raw({"a": entry(shape=[2**32, 2**32])}, bytes(4)), "its shape needs"),
        (raw({"a": entry(shape=[-1])}, bytes(4)), "must be whole numbers"),
        (raw({"a": entry(shape=[1.0])}, bytes(4)), "must be whole numbers"),
        (raw({"a": entry(shape=[True])}, bytes(4)), "must be whole numbers"),
        (raw({"a": entry(offsets=[4, 0])}, bytes(4)), "has -4 bytes"),
        (raw({"a": entry(offsets=[-4, 0])}, bytes(4)), "must be two whole numbers"),
        (raw({"a": entry(offsets=[0])}, bytes(4)), "must be two whole numbers"),
        (raw({"a": entry(), "b": entry(offsets=[2, 6])}, bytes(6)), "'b' lies on another"),
        (raw({"a": entry(), "b": entry(offsets=[8, 12])}, bytes(12)), "'b' stands behind a gap"),
        (raw({"a": entry()}, bytes(3)), "end at byte"),
        (raw({"a": entry()}, bytes(5)), "end at byte"),
        (raw({"__metadata__": {"a": 1}}), "metadata must be texts"),
        (raw({"__metadata__": []}), "metadata must be texts"),
        (raw({"__metadata__": {"tl.header": "0"}}), "checksums are damaged"),
        (raw({"__metadata__": {"tl.header": "0", "tl.checksums": "{}"}}), "isn't the one that was written"),
        (raw({"a": entry("BOOL", [4])}, b"\0\1\2\0"), "bytes other than 0 and 1"),
    ],
)
def test_safetensors_that_lie(data, says):
    with pytest.raises(RuntimeError, match="safetensors") as caught:
        safetensors.load(data)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("tensors", "says"),
    [
        ({1: tl.ones(1)}, "must be a text"),
        ({"__metadata__": tl.ones(1)}, "other than '__metadata__'"),
        ({"a": 3}, "'a' must be a tensor, got int"),
        ({"a": tl.ones(1, dtype=tl.complex128)}, "complex128, which safetensors doesn't have"),
    ],
)
def test_what_safetensors_cannot_hold(tensors, says, tmp_path):
    with pytest.raises(TypeError) as caught:
        safetensors.save_file(tensors, tmp_path / "x.safetensors")
    assert says in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_damage_is_found():
    data = bytearray(safetensors.save({"a": tl.arange(9)}))
    data[-1] ^= 1
    with pytest.raises(RuntimeError, match="tensor 'a' is damaged: its CRC-32"):
        safetensors.load(bytes(data))


@pytest.mark.parametrize("limit", [50, "50B", "1KB", "0.1KB"])
def test_sharded_files(tmp_path, limit):
    path = tmp_path / "model.safetensors"
    if limit == "0.1KB":
        with pytest.raises(ValueError, match=r"a number of bytes such as '5GB' or '500MiB', got '0\.1KB'"):
            safetensors.save_file(state(), path, max_shard_size=limit)
        return
    safetensors.save_file(state(), path, max_shard_size=limit)
    if limit == "1KB":
        assert os.listdir(tmp_path) == ["model.safetensors"]
        return
    index = tmp_path / "model.safetensors.index.json"
    names = sorted(os.listdir(tmp_path))
    assert names[0].startswith("model-00001-of-000")
    assert same(safetensors.load_file(index), state())
    assert same(
        safetensors.load_file(index, keys="int*"), {n: state()[n] for n in state() if n.startswith("int")}
    )
    part = tmp_path / names[1]
    safetensors.save_file({n: t + t for n, t in safetensors.load_file(part).items()}, part)
    with pytest.raises(RuntimeError, match="isn't the file that its index was written for"):
        safetensors.load_file(index)


@pytest.mark.parametrize("part", ["../x", "/etc/passwd", "a/b", "..", "", "a\\b", "x\0y"])
def test_an_index_names_files_beside_it_only(tmp_path, part):
    path = tmp_path / "x.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": {"a": part}}))
    with pytest.raises(RuntimeError, match="no file beside it"):
        safetensors.load_file(path)


@pytest.mark.parametrize(
    "text", ["[]", "{}", "{", '{"weight_map": 3}', '{"weight_map": {"a": 1}}', "[" * 100_000]
)
def test_a_damaged_index(tmp_path, text):
    path = tmp_path / "x.safetensors.index.json"
    path.write_text(text)
    with pytest.raises(RuntimeError, match="is damaged"):
        safetensors.load_file(path)


# ---- .npz


def test_npz_both_ways(tmp_path):
    numpy = pytest.importorskip("numpy")
    path = tmp_path / "x.npz"
    tensors = {n: t for n, t in state().items() if n != "bfloat16" and "float8" not in n}
    npz.save_npz(tensors, path)
    with numpy.load(path) as arrays:
        assert all(numpy.array_equal(arrays[n], t.numpy()) for n, t in tensors.items())
    assert same(npz.load_npz(path), tensors)
    assert same(
        npz.load_npz(path, keys="float[136]*"), {n: t for n, t in tensors.items() if n.startswith("float")}
    )
    for save in (numpy.savez, numpy.savez_compressed):
        file = io.BytesIO()
        save(file, a=numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3)), b=numpy.arange(3, dtype=">i4"))
        file.seek(0)
        loaded = npz.load_npz(file)
        assert loaded["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
        assert loaded["b"].tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="bfloat16, which NumPy lacks"):
        npz.save_npz(state(), path)
    with pytest.raises(KeyError, match="no array"):
        npz.load_npz(path, keys="x")


def test_npz_refuses_objects_and_lies():
    numpy = pytest.importorskip("numpy")
    for array in (numpy.array([object()]), numpy.array(["a"]), numpy.zeros(1, dtype=[("a", "f4")])):
        file = io.BytesIO()
        numpy.savez(file, a=array)
        file.seek(0)
        with pytest.raises(RuntimeError, match="of an array that tl lacks"):
            npz.load_npz(file)
    file = io.BytesIO()
    numpy.savez(file, a=numpy.zeros(4))
    data = bytearray(file.getvalue())
    data[data.index(b"NUMPY") + 130] ^= 1
    with pytest.raises(RuntimeError):
        npz.load_npz(io.BytesIO(data))


# ---- the command line


def call(capsys, *arguments):
    status = command_line.main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "x.pt"
    tl_checkpoint.save({"net": {"w": tl.ones(2, 3), "b": tl.arange(4)}, "step": 3}, path)
    return path


def test_inspect(file, capsys):
    status, out, err = call(capsys, "inspect", file)
    lines = [line.split("  ") for line in out.splitlines()]
    assert (status, err) == (0, "")
    assert [[cell.strip() for cell in line if cell] for line in lines[1:4]] == [
        ["net.w", "float32", "[2, 3]", "24", lines[1][-1].strip()],
        ["net.b", "int64", "[4]", "32", lines[2][-1].strip()],
        ["step", "-", "int", "-", "-"],
    ]
    import zlib

    assert lines[1][-1].strip() == f"{zlib.crc32(struct.pack('<6f', *[1] * 6)):08x}"
    assert out.endswith("2 tensors, 56 bytes\n")
    assert "net.b" not in call(capsys, "inspect", "--keys", "*.w", file)[1]


def test_verify(file, capsys):
    status, out, _ = call(capsys, "verify", file)
    assert status == 0
    assert "2 tensors, 8 of 8 records have a checksum and agree, with a manifest" in out
    data = bytearray(file.read_bytes())
    data[data.index(struct.pack("<f", 1))] ^= 1
    file.write_bytes(data)
    status, out, err = call(capsys, "verify", file)
    assert (status, out) == (1, "")
    assert "is damaged: its CRC-32" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("ending", ["safetensors", "npz", "pt"])
def test_convert(file, capsys, tmp_path, ending):
    target = tmp_path / f"y.{ending}"
    status, _, err = call(capsys, "convert", file, "--to", target, "--key", "net")
    assert (status, err) == (0, "")
    back = tmp_path / "z.pt"
    assert call(capsys, "convert", target, "--to", back)[0] == 0
    assert same(tl_checkpoint.load(back), {"w": tl.ones(2, 3), "b": tl.arange(4)})
    assert call(capsys, "verify", target)[0] == call(capsys, "inspect", target)[0] == 0
    status, _, err = call(capsys, "convert", file, "--to", target, "--key", "net")
    assert (status, err.count("\n")) == (1, 1)
    assert "--force replaces it" in err
    assert call(capsys, "convert", file, "--to", target, "--key", "net", "--force")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["inspect", "nothing.pt"], "No such file"),
        (["verify", "text.pt"], "neither a .pt archive nor safetensors nor .npz"),
        (["convert", "x.pt", "--to", "y.txt"], "the ending of 'y.txt' must be one of"),
        (["convert", "x.pt", "--to", "y.npz"], "entries that are no tensors: net, step"),
        (["convert", "x.pt", "--to", "y.npz", "--key", "other"], "no entry 'other'"),
        (["inspect", "evil.pt"], "GLOBAL os.getcwd"),
        (["verify", "index.json"], "is damaged"),
    ],
)
def test_wrong_input_gives_one_sentence(file, arguments, says, capsys, monkeypatch):
    monkeypatch.chdir(file.parent)
    (file.parent / "text.pt").write_text("text")
    (file.parent / "index.json").write_text("{}")
    import zipfile

    with zipfile.ZipFile(file.parent / "evil.pt", "w") as archive:
        archive.writestr("a/data.pkl", b"\x80\x02cos\ngetcwd\n)R.")
    status, out, err = call(capsys, *arguments)
    assert (status, out) == (1, "")
    assert says in err
    assert err.count("\n") == 1
    assert err.startswith(f"{arguments[1]}: ")


def test_a_wrong_call_exits_with_2(file):
    ran = subprocess.run(
        [sys.executable, "-m", "tl_checkpoint", "show", str(file)], capture_output=True, text=True
    )
    assert ran.returncode == 2
    ran = subprocess.run(
        [sys.executable, "-m", "tl_checkpoint", "verify", str(file)], capture_output=True, text=True
    )
    assert ran.returncode == 0


def test_conjugates_are_written_out(tmp_path):
    marked = {"c": tl.tensor([1 + 2j]).conj(), "n": tl.tensor([1 + 2j]).conj().imag}
    safetensors.save_file(marked, tmp_path / "a.safetensors")
    npz.save_npz(marked, tmp_path / "a.npz")
    for loaded in (safetensors.load_file(tmp_path / "a.safetensors"), npz.load_npz(tmp_path / "a.npz")):
        assert {name: t.tolist() for name, t in loaded.items()} == {"c": [1 - 2j], "n": [-2]}
