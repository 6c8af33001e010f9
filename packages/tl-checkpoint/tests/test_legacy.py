"""Files from before 2020 and before 2016, built here byte by byte as their programs wrote them."""

from __future__ import annotations

import inspect
import io
import pickle
import struct
import sys
import tarfile
import warnings
from collections import OrderedDict

import pytest

import tl_checkpoint
import tl_core as tl

MAGIC = 0x1950A86A20F9469CFC6C
MACHINE = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}


class Named:
    """A name of PyTorch in a pickle, which need not be importable."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Reference:
    """What a pickle refers to by a persistent identity."""

    def __init__(self, *description):
        self.description = description


class Instance:
    """An object of a class that is pickled by a persistent identity, with its attributes."""

    def __init__(self, kind, **attributes):
        self.kind, self.attributes = kind, attributes


class Call:
    """A call that a pickle makes."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return Function(self.function), self.arguments


class Function:
    """A callable that is pickled by the name of a function of PyTorch."""

    def __init__(self, name):
        self.name = name

    def __call__(self, *_):
        raise AssertionError


class OldPickler(pickle._Pickler):
    """Writes what a program of that time wrote."""

    dispatch = pickle._Pickler.dispatch.copy()

    def persistent_id(self, obj):
        return obj.description if isinstance(obj, Reference) else None

    def save_name(self, obj):
        self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())

    def save_function(self, obj):
        self.save_name(Named("torch._utils", obj.name))

    def save_instance(self, obj):
        self.save(obj.kind)
        self.write(pickle.EMPTY_TUPLE + pickle.NEWOBJ)
        self.save(obj.attributes)
        self.write(pickle.BUILD)

    dispatch[Named] = save_name
    dispatch[Instance] = save_instance
    dispatch[Function] = save_function


class Container:
    """A class that is saved with its source."""

    factor = 3


def dump(obj):
    file = io.BytesIO()
    OldPickler(file, 2).dump(obj)
    return file.getvalue()


def storage(name, key, count, view=None):
    return Reference("storage", Named("torch", name), key, "cpu", count, view)


def tensor(storage, offset, size, stride):
    return Call("_rebuild_tensor_v2", storage, offset, size, stride, False, OrderedDict())


def old_file(obj, storages):
    """The five pickles, then each storage's number of elements and bytes."""
    parts = [MAGIC, 1001, MACHINE, obj, list(storages)]
    data = b"".join(struct.pack("<q", count) + content for count, content in storages.values())
    return io.BytesIO(b"".join(map(dump, parts)) + data)


FLOATS = struct.pack("<4f", 1, 2, 3, 4)


@pytest.mark.parametrize("weights_only", [True, False])
def test_views_of_storages_share_their_memory(weights_only):
    full = tensor(storage("FloatStorage", "7", 4), 0, (4,), (1,))
    part = tensor(storage("FloatStorage", "7", 4, ("8", 1, 2)), 0, (2,), (1,))
    state = tl_checkpoint.load(old_file([full, part], {"7": (4, FLOATS)}), weights_only=weights_only)
    assert state[0].tolist() == [1, 2, 3, 4] and state[1].tolist() == [2, 3]
    state[1].fill_(9)
    assert state[0].tolist() == [1, 9, 9, 4]


@pytest.mark.parametrize("view", [("8", 3, 2), ("8", -1, 2), ("8", 0, -1), ("8", 0), (8, 0, 1), "8"])
def test_a_view_that_reaches_out_of_its_storage_is_refused(view):
    part = tensor(storage("FloatStorage", "7", 4, view), 0, (2,), (1,))
    with pytest.raises(pickle.UnpicklingError, match="part"):
        tl_checkpoint.load(old_file(part, {"7": (4, FLOATS)}))


@pytest.mark.parametrize("changed", [True, False])
def test_whole_objects_come_with_their_class(changed):
    source = "class Container: ..." if changed else inspect.getsource(Container)
    described = Reference("module", Container, "file.py", source)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        state = tl_checkpoint.load(old_file(Instance(described, bias=2), {}), weights_only=False)
    assert type(state) is Container and state.bias == 2
    assert [w.category for w in caught] == [tl_checkpoint.serialization.SourceChangeWarning] * changed


def test_a_class_of_the_program_is_refused_as_data():
    with pytest.raises(pickle.UnpicklingError, match="Container"):
        tl_checkpoint.load(old_file(Reference("module", Container, "file.py", ""), {}))


def test_storages_go_where_map_location_says():
    stored = tensor(storage("FloatStorage", "7", 4), 0, (4,), (1,))
    file = {"7": (4, FLOATS)}
    assert tl_checkpoint.load(old_file(stored, file), map_location="meta").is_meta
    tags = []

    def locate(storage, tag):
        tags.append(tag)
        return storage

    loaded = tl_checkpoint.load(old_file(stored, file), map_location=locate)
    assert loaded.tolist() == [1, 2, 3, 4] and tags == ["cpu"]


def test_booleans_are_zeros_and_ones():
    stored = tensor(storage("BoolStorage", "7", 2), 0, (2,), (1,))
    assert tl_checkpoint.load(old_file(stored, {"7": (2, b"\0\1")})).tolist() == [False, True]
    with pytest.raises(pickle.UnpicklingError, match="booleans"):
        tl_checkpoint.load(old_file(stored, {"7": (2, b"\0\2")}))


def test_files_behind_each_other_are_read_in_turn():
    file = io.BytesIO()
    for number in range(3):
        tl_checkpoint.save(tl.full((2,), number), file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert [tl_checkpoint.load(file).tolist() for _ in range(3)] == [[0, 0], [1, 1], [2, 2]]


def test_what_is_written_has_the_format_of_that_time(tmp_path):
    path = tmp_path / "old.pt"
    base = tl.arange(6, dtype=tl.float32)
    state = {"whole": base, "part": base[2:4], "bits": tl.tensor([True, False]), "plain": [1, "x"]}
    tl_checkpoint.save(state, path, _use_new_zipfile_serialization=False)
    with open(path, "rb") as file:
        assert pickle.load(file) == MAGIC
        assert pickle.load(file) == 1001
        assert pickle.load(file) == MACHINE
        described = []

        class Unpickler(pickle.Unpickler):
            def find_class(self, module, name):
                return name if module == "torch" else lambda *arguments: arguments

            def persistent_load(self, description):
                described.append(description)
                return description[2]

        state = Unpickler(file).load()
        assert described[0][:2] == ("storage", "FloatStorage") and described[0][3:] == ("cpu", 6, None)
        assert state["part"][:4] == (state["whole"][0], 2, (2,), (1,)) and state["plain"] == [1, "x"]
        assert pickle.load(file) == ["0", "1"]
        assert struct.unpack("<q6f", file.read(32)) == (6, 0, 1, 2, 3, 4, 5)
        assert file.read() == struct.pack("<q", 2) + b"\1\0"


def test_memory_of_two_types_is_refused():
    base = tl.arange(4, dtype=tl.float32)
    with pytest.raises(RuntimeError, match="as different types"):
        tl_checkpoint.save([base, base.view(tl.int32)], io.BytesIO(), _use_new_zipfile_serialization=False)
    with (
        tl_checkpoint.serialization.skip_data(),
        pytest.raises(RuntimeError, match="Cannot use skip_data=True"),
    ):
        tl_checkpoint.save(base, io.BytesIO(), _use_new_zipfile_serialization=False)


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "old.pt"
    path.write_bytes(b"before")
    base = tl.arange(4, dtype=tl.float32)
    with pytest.raises(RuntimeError):
        tl_checkpoint.save([base, base.view(tl.int32)], path, _use_new_zipfile_serialization=False)
    assert path.read_bytes() == b"before"


def tar(**members):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    file.seek(0)
    return file


def tar_of_tensors(count=4):
    """A tar archive with a storage, a part of it, and a tensor on each."""
    stored = dump(1) + dump((50, "cpu", Named("torch", "FloatStorage"))) + struct.pack("<q", count) + FLOATS
    tensors = dump(2)
    for key, on, sizes, strides, offset in ((60, 50, (2, 2), (1, 2), 0), (61, 51, (1,), (1,), 1)):
        tensors += dump((key, on, Named("torch", "FloatTensor"))) + struct.pack("<i4x", len(sizes))
        tensors += struct.pack(f"<{2 * len(sizes) + 1}q", *sizes, *strides, offset)

    class Pickler(pickle._Pickler):
        def persistent_id(self, obj):
            return obj.description[0] if isinstance(obj, Reference) else None

    file = io.BytesIO()
    Pickler(file, 2).dump({"whole": Reference("60"), "part": Reference("61"), "storage": Reference("50")})
    return tar(
        sys_info=dump(MACHINE),
        storages=stored + dump([(51, 50, 1, 2)]),
        tensors=tensors,
        pickle=file.getvalue(),
    )


def test_a_tar_archive():
    state = tl_checkpoint.load(tar_of_tensors(), weights_only=False)
    assert state["whole"].tolist() == [[1, 3], [2, 4]] and state["part"].tolist() == [3]
    state["part"].fill_(7)
    assert state["whole"].tolist() == [[1, 7], [2, 4]] and list(state["storage"]) == [1, 2, 7, 4]


def test_a_tar_archive_is_never_data():
    with pytest.raises(RuntimeError, match=r"legacy \.tar format"):
        tl_checkpoint.load(tar_of_tensors())


def test_damaged_tar_archives_are_refused():
    with pytest.raises(RuntimeError, match="no member 'storages'"):
        tl_checkpoint.load(tar(pickle=dump(1)), weights_only=False)
    for count in (5, -1, 2**60):
        with pytest.raises(pickle.UnpicklingError):
            tl_checkpoint.load(tar_of_tensors(count), weights_only=False)


@pytest.mark.skipif(sys.byteorder != "little", reason="the files are little-endian")
def test_cut_files_are_refused():
    text = old_file(tensor(storage("FloatStorage", "7", 4), 0, (4,), (1,)), {"7": (4, FLOATS)}).getvalue()
    for size in range(0, len(text), 7):
        for weights_only in (True, False):
            with pytest.raises((pickle.UnpicklingError, RuntimeError, EOFError)):
                tl_checkpoint.load(io.BytesIO(text[:size]), weights_only=weights_only)
