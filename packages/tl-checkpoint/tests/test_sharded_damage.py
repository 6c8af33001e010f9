"""Directories that are damaged, mixed up or made to harm are refused, and nothing in them is executed."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import random
import shutil
from dataclasses import replace

import pytest

import tl_checkpoint
import tl_checkpoint.distributed as sharded
import tl_core as tl
from tl_checkpoint.distributed import metadata_file
from tl_checkpoint.distributed.default_planner import WholeLoadPlanner
from tl_checkpoint.distributed.metadata import ChunkStorageMetadata
from tl_checkpoint.distributed.state_dict_loader import _load_state_dict

STATE = {"a": tl.arange(6.0).reshape(2, 3), "b": tl.ones(4, dtype=tl.int16), "n": {"x": [1, 2]}, "s": "text"}


def whole(folder):
    state = {}
    _load_state_dict(state, sharded.FileSystemReader(folder), planner=WholeLoadPlanner())
    return state


@pytest.fixture
def folder(tmp_path):
    sharded.save(STATE, checkpoint_id=tmp_path / "good")
    return tmp_path / "good"


def refused(folder, said=None):
    with pytest.raises(sharded.CheckpointException, match=said):
        whole(folder)


def test_flipped_bits(folder):
    right = str(whole(folder))
    draw = random.Random(0)
    for path in sorted(folder.iterdir()):
        good = path.read_bytes()
        for at in draw.sample(range(len(good)), 250):
            path.write_bytes(good[:at] + bytes([good[at] ^ (1 << draw.randrange(8))]) + good[at + 1 :])
            with contextlib.suppress(
                sharded.CheckpointException
            ):  # what isn't refused: padding, dates of records
                assert str(whole(folder)) == right
            path.write_bytes(good)
    assert str(whole(folder)) == right


def test_every_byte_of_the_metadata(folder):
    path = folder / ".metadata"
    good = path.read_bytes()
    for at in range(len(good) - 20):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x20]) + good[at + 1 :])
        refused(folder)
    path.write_bytes(good[:-20])
    refused(folder, "their seal is missing")


@pytest.mark.parametrize("name", [".metadata", "__0_0.distcp"])
def test_cut_and_missing_files(folder, name):
    path = folder / name
    good = path.read_bytes()
    for size in (0, 1, 30, len(good) // 2, len(good) - 1):
        path.write_bytes(good[:size])
        refused(folder)
    path.unlink()
    refused(folder, "no checkpoint was completed" if name == ".metadata" else "file __0_0.distcp is missing")


def test_files_of_two_checkpoints(folder, tmp_path):
    shard, other = folder / "__0_0.distcp", tmp_path / "other" / "__0_0.distcp"
    for k in range(1, 100):  # manifests hold checksums in decimal: until the sizes agree
        sharded.save({**STATE, "a": STATE["a"] + k}, checkpoint_id=tmp_path / "other")
        if other.exists() and other.stat().st_size == shard.stat().st_size:
            break
        shutil.rmtree(tmp_path / "other")
    shutil.copy(other, shard)
    refused(folder, "the files of two checkpoints are mixed")
    sharded.load({"b": tl.zeros(4, dtype=tl.int16)}, checkpoint_id=folder)  # what is the same in both


def changed(folder, change):
    """Writes metadata that lie, with a seal that fits."""
    path = folder / ".metadata"
    metadata = metadata_file.parse(path.read_bytes())
    path.write_bytes(metadata_file.dump(change(metadata) or metadata))


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "", "a//b", "a\\b", "x\0y", "./x"])
def test_paths_out_of_the_directory(folder, path):
    def change(metadata):
        extents = metadata.storage_data
        extents.update({index: replace(extent, relative_path=path) for index, extent in extents.items()})

    changed(folder, change)
    refused(folder, "lies outside of the directory")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"offset": -1}, "has no place in its file"),
        ({"offset": 2**70}, "has no place in its file"),
        ({"offset": 10_000}, "is cut off: it has"),
        ({"length": 2**40}, "lie in|is cut off"),
        ({"length": 5}, "larger than its place"),
        ({"offset": "0"}, "has no place in its file"),
        ({"relative_path": b"x"}, "lies outside of the directory"),
        ({"crc32": "x"}, "has no checksum"),
    ],
)
def test_lies_about_extents(folder, fields, said):
    def change(metadata):
        (index,) = (index for index in metadata.storage_data if index.fqn == "a")
        metadata.storage_data[index] = replace(metadata.storage_data[index], **fields)

    changed(folder, change)
    refused(folder, said)


def test_two_entries_in_one_extent(folder):
    def change(metadata):
        a, b = (next(i for i in metadata.storage_data if i.fqn == name) for name in "ab")
        metadata.storage_data[b] = metadata.storage_data[a]

    changed(folder, change)
    refused(folder, "two entries lie in __0_0.distcp")


def box(offsets, sizes):
    return ChunkStorageMetadata(tl.Size(offsets), tl.Size(sizes))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"size": tl.Size([2, 10**9])}, "its chunks hold 6 of"),
        (
            {"size": tl.Size([10**9, 10**9]), "chunks": [box([0, 0], [10**9, 10**9])]},
            "is larger than its place",
        ),
        ({"chunks": [box([0, 0], [2, 3]), box([0, 0], [1, 1])]}, "overlap"),
        ({"chunks": [box([1, 0], [2, 3])]}, "reaches out of"),
        ({"chunks": [box([0], [6])]}, "hasn't 2 dimensions"),
        ({"chunks": [box([-1, 0], [2, 3])]}, "has a damaged chunk"),
        ({"chunks": []}, "its chunks hold 0 of 6 elements"),
        ({"chunks": None}, "has no size or chunks"),
        ({"size": [2, 3]}, "has no size or chunks"),
        ({"properties": None}, "has no properties"),
        ({"size": tl.Size([3, 2]), "chunks": [box([0, 0], [3, 2])]}, "can't be read from|dimensions"),
    ],
)
def test_lies_about_tensors(folder, entry, said):
    def change(metadata):
        metadata.state_dict_metadata["a"] = replace(metadata.state_dict_metadata["a"], **entry)

    changed(folder, change)
    refused(folder, said)


def test_a_tensor_of_another_shape_instead_of_one(folder):
    def change(metadata):
        metadata.storage_data = {
            i: replace(extent, crc32=None) for i, extent in metadata.storage_data.items()
        }
        entry = metadata.state_dict_metadata["b"]
        metadata.state_dict_metadata["b"] = replace(entry, size=tl.Size([2]), chunks=[box([0], [2])])

    changed(folder, change)
    refused(folder, r"it is a tensor of \(4,\), the metadata say one of \(2,\)")


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


class EvilPlanner(sharded.DefaultSavePlanner):
    def transform_object(self, write_item, object):
        return (
            io.BytesIO(object)
            if write_item.index.fqn == "s"
            else super().transform_object(write_item, object)
        )


@pytest.mark.parametrize("where", ["metadata", "planner_data", "entry"])
def test_nothing_is_executed(folder, where, tmp_path):
    evil = Evil(tmp_path / "was here")
    if where == "metadata":
        (folder / ".metadata").write_bytes(pickle.dumps(evil, 4))
    elif where == "planner_data":
        good = metadata_file.parse((folder / ".metadata").read_bytes())
        data, _ = metadata_file.pickle_object(replace(good, planner_data=evil, storage_data=None), 4)
        (folder / ".metadata").write_bytes(data)
    else:
        buffer = io.BytesIO()
        tl_checkpoint.save(evil, buffer)
        sharded.save({**STATE, "s": buffer.getvalue()}, checkpoint_id=folder, planner=EvilPlanner())
    refused(folder, r"(posix|nt)\.mkdir was not an allowed global")
    assert not evil.path.exists()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x04.",
        b"\x80\x04N.",
        pickle.dumps({"a": 1}, 4),
        b"\x80\x04\x8c\x25torch.distributed.checkpoint.metadata\x8c\x08Metadata\x93)\x81.",
        b"\x80\x04\x8c\x25torch.distributed.checkpoint.metadata\x8c\x08Metadata\x93)\x81Nb.",
        b"\x80\x04\x8c\x25torch.distributed.checkpoint.metadata\x8c\x0dMetadataIndex\x93)\x81}\x8c\x01xK\x01sb.",
        b"\x80\x04}\x8c\x25torch.distributed.checkpoint.metadata\x8c\x0dMetadataIndex\x93)\x81K\x01s.",
        b"\x80\x04\x8c\x25torch.distributed.checkpoint.metadata\x8c\x10TensorProperties\x93)\x81K\x01b.",
    ],
)
def test_pickles_that_are_no_metadata(folder, data):
    (folder / ".metadata").write_bytes(data)
    refused(folder)


def test_paths_that_contradict_each_other(folder):
    def change(metadata):
        metadata.planner_data = {**metadata.planner_data, "a": ("n", 0), "s": ("n", "s")}

    changed(folder, change)
    refused(folder, "the checkpoint's paths contradict each other")
