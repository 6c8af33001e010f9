"""Devices of storages, the settings of saving and loading, and storages of archives."""

from __future__ import annotations

import io
import mmap
import pickle
import random
import struct
import sys
import zipfile

import pytest

import tl_checkpoint
import tl_core as tl
from tl_checkpoint import config, locations, serialization
from tl_checkpoint import serialization_steps as steps
from tl_checkpoint.archive_reader import ArchiveReader
from tl_checkpoint.class_names import STORAGES
from tl_checkpoint.config import LoadEndianness
from tl_checkpoint.pickler import SavedStorage, pickle_object
from tl_checkpoint.source import ObjectSource
from tl_checkpoint.storages import Storages, bytes_of, is_swapped
from tl_checkpoint.testing.damage import NUMBERS, pack_boundary
from tl_checkpoint.testing.fuzzing import GoodFile, draw_case

OTHER = "big" if sys.byteorder == "little" else "little"


def saved(obj):
    file = io.BytesIO()
    tl_checkpoint.save(obj, file)
    file.seek(0)
    return file


# ---- places


@pytest.fixture
def packages(monkeypatch):
    monkeypatch.setattr(locations, "_packages", [])


def test_devices_that_map_location_names():
    assert (
        locations.target_of(None, "cuda:0") == "cuda:0"
        and locations.target_of(tl.device("meta"), "cpu") == "meta"
    )
    assert locations.target_of({"cuda:0": "cpu"}, "cuda:0") == "cpu"
    assert locations.target_of({"cuda:0": "cpu"}, "cuda:1") == "cuda:1"


def test_packages_by_their_priority(packages):
    storage = tl.ones(2).untyped_storage()
    assert locations.location_tag(storage) == "cpu"
    locations.register_package(20, lambda s: "late", lambda s, tag: None)
    locations.register_package(
        10, lambda s: "first" if s.nbytes() == 8 else None, lambda s, tag: (tag, s.nbytes())
    )
    assert locations.location_tag(storage) == "first" and locations.location_tag(storage[:4]) == "late"
    assert locations.restore_location(storage, "elsewhere") == ("elsewhere", 8)
    assert locations.restore_location(storage, "cpu") is storage


def test_devices_that_are_not_there(packages):
    storage = tl.ones(2).untyped_storage()
    assert locations.restore_location(storage, "meta").device.type == "meta"
    with pytest.raises(RuntimeError, match="deserialize object on a CUDA device"):
        locations.restore_location(storage, "cuda:1")
    with pytest.raises(RuntimeError, match=r"restore data location .* \(tagged with nowhere\)"):
        locations.restore_location(storage, "nowhere")


# ---- settings


def test_defaults_are_those_of_PyTorch():
    save, load = config.Save(), config.Load()
    assert (save.compute_crc32, save.storage_alignment, save.use_pinned_memory_for_d2h) == (True, 64, False)
    assert (load.mmap, load.mmap_flags, load.endianness) == (False, mmap.MAP_PRIVATE, None)
    assert (load.calculate_storage_offsets, load.skip_data, save.skip_data) == (False, False, False)
    assert {each.name: each.value for each in LoadEndianness} == {"NATIVE": 1, "LITTLE": 2, "BIG": 3}


def test_checksums_are_a_setting():
    assert serialization.get_crc32_options()
    serialization.set_crc32_options(False)
    try:
        assert not serialization.get_crc32_options()
        reader = ArchiveReader(ObjectSource(saved(tl.ones(4))))
    finally:
        serialization.set_crc32_options(True)
    assert reader.record("data/0").crc == 0
    assert ArchiveReader(ObjectSource(saved(tl.ones(4)))).record("data/0").crc != 0


def test_flags_of_maps_are_a_setting():
    assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    with serialization.set_default_mmap_options(mmap.MAP_SHARED):
        assert serialization.get_default_mmap_options() == mmap.MAP_SHARED
    assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE


def without_order(obj):
    """The file of an object, without the record of its byte order."""
    source, target = zipfile.ZipFile(saved(obj)), io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name in source.namelist():
            if name.split("/")[-1] in ("data.pkl", "version") or "/data/" in name:
                archive.writestr(name, source.read(name))
    target.seek(0)
    return target


def test_the_byte_order_is_a_setting():
    file = without_order(tl.tensor([1, 256], dtype=tl.int16))
    assert serialization.get_default_load_endianness() is None
    for order, values in ((LoadEndianness[OTHER.upper()], [256, 1]), (LoadEndianness.NATIVE, [1, 256]),
                          (LoadEndianness[sys.byteorder.upper()], [1, 256])):  # fmt: skip
        serialization.set_default_load_endianness(order)
        try:
            assert serialization.get_default_load_endianness() is order
            file.seek(0)
            assert tl_checkpoint.load(file).tolist() == values
        finally:
            serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError, match="set_default_load_endianness"):
        serialization.set_default_load_endianness("little")


# ---- storages


def test_storages_of_an_archive():
    reader = ArchiveReader(ObjectSource(saved([tl.arange(3.0), tl.ones(2)])))
    storages = Storages(reader)
    description = ("storage", STORAGES["torch.FloatStorage"], "0", "cpu", 3)
    first = storages.find(description)
    assert first.tolist() == [0, 1, 2] and storages.find(description).untyped() is first.untyped()
    assert storages.keys_of([tl.ones(1), tl.tensor([]).set_(first.untyped())]) == {"0"}
    assert bytes(bytes_of(first.untyped())[4:8]) == b"\0\0\x80\x3f"[:: 1 if sys.byteorder == "little" else -1]
    for changed, text in (((*description[:4], -1), "can't have -1 elements"), ((*description[:4], 2), "two sizes"),
                          (("other", *description[1:]), "no storage"), (description[:4], "no storage"),
                          (("storage", int, "0", "cpu", 3), "something else")):  # fmt: skip
        with pytest.raises(pickle.UnpicklingError, match=text):
            storages.find(changed)
    with pytest.raises(RuntimeError, match="storage 1 should have 12 bytes, its record has 8"):
        storages.find((*description[:2], "1", "cpu", 3))


def test_storages_that_are_not_read():
    reader = ArchiveReader(ObjectSource(saved(tl.arange(3.0))))
    description = ("storage", STORAGES["torch.FloatStorage"], "0", "cpu", 3)
    assert Storages(reader, keys=set()).find(description).untyped().device.type == "meta"
    assert Storages(reader, empty=True).find(description).tolist() == [0, 0, 0]
    swapped = Storages(reader, swapped=True).find(description).untyped()
    assert bytes(bytes_of(swapped)[4:8]) == b"\x3f\x80\0\0"[:: 1 if sys.byteorder == "little" else -1]
    assert is_swapped(OTHER) and not is_swapped(sys.byteorder)


def test_bytes_of_saved_storages():
    x = tl.arange(8, dtype=tl.int32)
    _, (storage,) = pickle_object([x[2:3], x[4:6].view(tl.int16)], 2)
    assert isinstance(storage, SavedStorage) and storage.dtypes == {tl.int32, tl.int16}
    values = x[storage.begin // 4 : storage.end // 4].tolist()
    assert storage.nbytes == 32 and bytes(storage.data()) == struct.pack(f"={len(values)}i", *values)
    assert storage.begin <= 8 and storage.end >= 24
    part = SavedStorage("0", x, tl.int32, 32, 0, 0)
    part.need(tl.int32, 8, 12)
    part.need(tl.int8, 4, 6)
    part.need(tl.int32, 0, 0)
    assert (part.begin, part.end) == (4, 12) and bytes(part.data()) == struct.pack("=2i", 1, 2)


def test_older_classes_by_their_names():
    class FloatStorage:
        """A class with the name of a storage."""

    assert steps.storage_to_tensor_type(FloatStorage()) is tl.FloatTensor
    assert steps.normalize_storage_type(FloatStorage) is tl.FloatStorage
    with pytest.raises(AttributeError, match="TypedTensor"):  # as in PyTorch
        steps.storage_to_tensor_type(tl.FloatStorage([1.0]))


def test_archives_are_read_whole_or_by_keys():
    file = saved({"a": tl.ones(2), "b": tl.zeros(3)})
    source = ObjectSource(file)
    full = serialization.read_archive(source, None, True, None, None, {})
    assert full["b"].tolist() == [0, 0, 0]
    part = serialization.read_archive(source, "cpu", True, None, "a*", {})
    assert list(part) == ["a"] and part["a"].tolist() == [1, 1]
    with pytest.raises(KeyError, match="no key of the file matches 'c'"):
        serialization.read_archive(source, None, True, None, "c", {})


# ---- drawn files


def test_numbers_near_limits_as_bytes():
    rng = random.Random(5)
    near = {(n + step) % 2**bits for n in NUMBERS for step in (-1, 0, 1) for bits in (8, 16, 32, 64)}
    for _ in range(200):
        data = pack_boundary(rng)
        assert len(data) in (1, 2, 4, 8) and {int.from_bytes(data, o) for o in ("little", "big")} & near


def test_drawn_files_depend_on_their_number():
    def forge(data, rng):
        return b"forged" + rng.randbytes(2)

    files = [GoodFile("a", bytes(500), bytes, forge, None, True, damage_share=share) for share in (0.0, 1.0)]
    cases = [draw_case(files, 3, number) for number in range(60)]
    assert [draw_case(files, 3, number) for number in range(60)] == cases
    assert all(case.is_damage == (case.source.damage_share == 1.0) for case in cases)
    assert any(case.method == "forge" and case.data[:6] == b"forged" for case in cases)
    assert len({case.data for case in cases}) > 40
