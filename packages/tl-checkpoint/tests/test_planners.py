"""Plans of entries and boxes, flat and nested state dicts, futures and the entries of shard files."""

from __future__ import annotations

import io
import threading
from types import SimpleNamespace

import pytest

import tl_checkpoint
import tl_checkpoint.distributed as sharded
import tl_core as tl
from tl_checkpoint.distributed import default_planner as defaults
from tl_checkpoint.distributed import flatten, nested_dict, planner, storage, utils
from tl_checkpoint.distributed import planner_helpers as helpers
from tl_checkpoint.distributed.background import Background
from tl_checkpoint.distributed.coordinator import GroupRanks, Ranks, ranks_of
from tl_checkpoint.distributed.filesystem import FileSystem, FileSystemBase, SerializationFormat, box_of
from tl_checkpoint.distributed.future import Future, outcome
from tl_checkpoint.distributed.item import StoredTensor, write_tensor
from tl_checkpoint.distributed.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from tl_checkpoint.distributed.metadata_file import StorageInfo, dump, likely, parse
from tl_checkpoint.distributed.resharding import Overlap, overlap, volume
from tl_checkpoint.source import ObjectSource


def box(offsets, sizes):
    return ChunkStorageMetadata(tl.Size(offsets), tl.Size(sizes))


def stored(size, *chunks):
    return TensorStorageMetadata(TensorProperties(tl.float32), tl.Size(size), list(chunks))


# ---- items


def test_items_that_write_entries():
    (item,) = helpers.create_write_items("weight", tl.ones(2, 3, dtype=tl.float64))
    assert item.type is planner.WriteItemType.TENSOR and item.index == MetadataIndex("weight", (0, 0))
    data = item.tensor_data
    assert isinstance(data, planner.TensorWriteData) and data.chunk == box((0, 0), (2, 3))
    assert (data.properties.dtype, data.size, item.tensor_storage_size()) == (tl.float64, (2, 3), 48)
    (item,) = helpers.create_write_items("step", 3)
    assert item == planner.WriteItem(
        MetadataIndex("step"), planner.WriteItemType.BYTE_IO, planner.BytesIOWriteData(0)
    )
    assert item.tensor_storage_size() is None


def test_items_that_write_chunks():
    chunks = [box((0,), (2,)), box((5,), (1,))]
    first, second = helpers.create_chunk_items("weight", [6], TensorProperties(tl.int8), chunks)
    assert second.index == MetadataIndex("weight", (5,)) and (first.index.index, second.index.index) == (0, 1)
    assert second.type is planner.WriteItemType.SHARD and second.tensor_storage_size() == 6
    tensor = sharded.ChunkedTensor((6,), [((0,), tl.ones(2)), ((5,), tl.ones(1))])
    assert helpers.create_chunk_list(tensor) == chunks
    assert helpers.create_chunk_list(tl.ones(())) == [box((), ())]


def test_items_that_read_overlaps():
    entry = stored((6,), box((0,), (4,)), box((4,), (2,)))
    first, second = helpers.create_read_items_for_chunk_list("weight", entry, [box((3,), (2,))])
    assert isinstance(first, planner.ReadItem) and first.type is planner.LoadItemType.TENSOR
    assert (first.storage_index, first.storage_offsets, first.dest_offsets) == (
        MetadataIndex("weight", (0,)),
        (3,),
        (0,),
    )
    assert (second.storage_index, second.storage_offsets, second.dest_offsets, second.lengths) == (
        MetadataIndex("weight", (4,)),
        (0,),
        (1,),
        (1,),
    )
    with pytest.raises(RuntimeError, match="holds 1 of the 3 elements wanted of weight"):
        helpers.create_read_items_for_chunk_list("weight", entry, [box((5,), (3,))])


def test_items_that_read_entries():
    (item,) = helpers.create_read_items("step", BytesStorageMetadata(), None)
    assert item.type is planner.LoadItemType.BYTE_IO and item.dest_index == MetadataIndex("step")
    entry = stored((2,), box((0,), (2,)))
    (item,) = helpers.create_read_items("weight", entry, tl.empty(2))
    assert item.lengths == (2,) and item.storage_index == item.dest_index
    with pytest.raises(
        ValueError, match=r"Size mismatch between saved \(2,\) and current: \(3,\) for weight"
    ):
        helpers.create_read_items("weight", entry, tl.empty(3))
    with pytest.raises(ValueError, match="can't be loaded into a int"):
        helpers.create_read_items("weight", entry, 3)


def test_overlaps_of_boxes():
    assert volume(box((1, 0), (2, 3))) == 6 and volume(box((), ())) == 1
    assert overlap(box((0, 0), (4, 2)), box((3, 1), (9, 9))) == Overlap((3, 1), (0, 0), (1, 1))
    assert overlap(box((0,), (4,)), box((4,), (1,))) is None
    item = planner.ReadItem(
        planner.LoadItemType.TENSOR,
        MetadataIndex("w"),
        tl.Size((0, 0)),
        MetadataIndex("w"),
        tl.Size((1, 2)),
        tl.Size((2, 1)),
    )
    assert box_of(tl.arange(12).view(3, 4), item).tolist() == [[6], [10]]


def test_chunks_begin_with_the_one_at_the_hint():
    chunks = [box((i,), (1,)) for i in range(3)]
    assert next(iter(likely(chunks, 2))) is chunks[2]
    for hint in (3, -1, None, "1"):
        assert list(likely(chunks, hint)) == chunks


# ---- plans


def test_plans_of_one_rank_and_of_all():
    plans = [
        defaults.create_default_local_save_plan({"weight": tl.ones(2), "step": 3}, True),
        planner.SavePlan(helpers.create_chunk_items("bias", (4,), TensorProperties(), [box((0,), (2,))])),
        planner.SavePlan(helpers.create_chunk_items("bias", (4,), TensorProperties(), [box((2,), (2,))])),
    ]
    assert [item.index.fqn for item in plans[0].items] == ["weight", "step"] and plans[0].usable
    numbered, metadata = defaults.create_default_global_save_plan(plans)
    assert metadata.state_dict_metadata["bias"].chunks == [box((0,), (2,)), box((2,), (2,))]
    assert metadata.state_dict_metadata["step"] == BytesStorageMetadata()
    assert [plan.items[0].index.index for plan in numbered] == [0, 0, 1]
    unnumbered, _ = defaults.create_default_global_save_plan(plans, rewrite_index_hints=False)
    assert unnumbered[2].items[0].index.index == 0
    with pytest.raises(ValueError, match="'step' is written twice"):
        defaults.create_default_global_save_plan([plans[0], planner.SavePlan(plans[0].items[1:])])
    index = defaults.replace_hint(MetadataIndex("bias", (2,), 5), 7)
    assert index == MetadataIndex("bias", (2,)) and index.index == 7


def test_plans_of_reads():
    metadata = Metadata({"weight": stored((2,), box((0,), (2,)))})
    plan = defaults.create_default_local_load_plan({"weight": tl.empty(2), "empty": {}}, metadata)
    assert isinstance(plan, planner.LoadPlan) and [item.dest_index.fqn for item in plan.items] == ["weight"]
    assert defaults.create_default_global_load_plan((plan,)) == [plan]
    missing = {"weigth": tl.empty(2)}
    with pytest.raises(RuntimeError, match=r"Missing key .*: weigth. Did you mean 'weight'\?"):
        defaults.create_default_local_load_plan(missing, metadata)
    assert defaults.create_default_local_load_plan(missing, metadata, strict=False).items == []


def test_planners_and_storages_are_interfaces(tmp_path):
    for interface in (planner.SavePlanner, storage.StorageReader, storage.StorageWriter, FileSystemBase):
        with pytest.raises(TypeError, match="abstract"):
            interface()
    assert isinstance(sharded.DefaultSavePlanner(), planner.SavePlanner)
    with pytest.raises(NotImplementedError, match="LoadPlanner gives no buffers"):
        planner.LoadPlanner().resolve_bytes(None)
    writer = sharded.FileSystemWriter(tmp_path)
    assert isinstance(writer, storage.StorageWriter)
    assert isinstance(sharded.FileSystemReader(tmp_path), storage.StorageReader)
    assert SerializationFormat("torch_save") is SerializationFormat.TORCH_SAVE


def test_results_of_writes(tmp_path):
    writer, save = sharded.FileSystemWriter(tmp_path), sharded.DefaultSavePlanner()
    writer.reset()
    save.set_up_planner({"weight": tl.ones(100)}, writer.storage_meta(), True)
    writer.set_up_storage_writer(True)
    plans, _ = save.create_global_plan([writer.prepare_local_plan(save.create_local_plan())])
    (result,) = writer.write_data(writer.prepare_global_plan(plans)[0], save).wait()
    assert isinstance(result, storage.WriteResult) and result.index == MetadataIndex("weight", (0,))
    assert isinstance(result.storage_data, StorageInfo) and result.storage_data.length >= 400
    assert (tmp_path / result.storage_data.relative_path).stat().st_size >= result.storage_data.length


def test_a_metadata_file_has_the_positions_of_entries():
    index = MetadataIndex("weight", (0,))
    extent = StorageInfo("__0_0.distcp", 0, 8, crc32=5)
    assert extent.__getstate__() == {"relative_path": "__0_0.distcp", "offset": 0, "length": 8, "crc32": 5}
    metadata = Metadata({"weight": stored((2,), box((0,), (2,)))}, storage_data={index: extent})
    assert parse(dump(metadata)).storage_data == {index: extent}
    extent.relative_path = "../elsewhere"
    with pytest.raises(RuntimeError, match="outside of the directory"):
        parse(dump(metadata))


def test_files_of_a_directory(tmp_path):
    files: FileSystemBase = FileSystem()
    path = files.concat_path(files.init_path(tmp_path / "new"), "a")
    files.mkdir(tmp_path / "new")
    with files.create_stream(path, "wb") as stream:
        stream.write(b"abc")
        files.sync(stream)
    files.rename(path, tmp_path / "new" / "b")
    assert files.ls(tmp_path / "new") == ["b"]
    files.rm_file(tmp_path / "new" / "b")
    assert files.exists(tmp_path / "new") and not files.exists(path)


# ---- state dicts


def test_flat_and_nested_state_dicts():
    nested = {"a": {"b": 1, 2: tl.ones(1)}, "c": [1, 2], "d": [{"e": 3}], "f": {}}
    flat, paths = flatten.flatten_state_dict(nested)
    assert set(flat) == {"a.b", "a.2", "c", "d.0.e", "f"} and paths["d.0.e"] == ("d", 0, "e")
    assert flatten.unflatten_state_dict(flat, paths) == nested
    assert flatten.flatten_state_dict(nested, {"a", "d.0"})[0].keys() == {"a", "c", "d.0", "f"}
    assert flatten.stored_path(nested, paths["a.2"]) == ("a", "2")
    with pytest.raises(ValueError, match=r"have the name 'a.b'"):
        flatten.flatten_state_dict({"a": {"b": 1}, "a.b": 2})
    assert nested_dict.flatten_state_dict({"a": {"b": 1}}) == ({"a.b": 1}, {"a.b": ("a", "b")})
    assert nested_dict.unflatten_state_dict({"a.b": 1}, {"a.b": ("a", 1)}) == {"a": [None, 1]}


def test_leaves_are_visited_with_their_keys():
    visits = []
    tree = {"a": {"b": 1}, "c": [1, 2], "d": [{"e": 3}, 4], "g": (tl.ones(1),)}
    nested_dict.traverse_state_dict(tree, lambda path, leaf: visits.append(path))
    assert visits == [("a", "b"), ("c",), ("d", 0, "e"), ("d", 1), ("g", 0)]
    visits.clear()
    nested_dict.traverse_state_dict(tree, lambda path, leaf: visits.append(path), lambda value: False)
    assert visits[-1] == ("g",)


def test_elements_are_set_at_their_path():
    root = {"a": None}
    flatten.set_element(root, ("a", 2, "b"), 5)
    flatten.set_element(root, ("a", 0), 4)
    assert root == {"a": [4, None, {"b": 5}]}
    assert flatten.is_tensor(tl.ones(1)) and not flatten.is_tensor([1])
    assert flatten.is_tensor(sharded.ChunkedTensor((1,), [((0,), tl.ones(1))]))


def test_entries_and_chunks_by_their_index():
    full, chunked = tl.ones(2), sharded.ChunkedTensor((3,), [((0,), tl.ones(1)), ((1,), tl.zeros(2))])
    state = {"whole": full, "chunked": chunked, "step": 3}
    assert utils.find_state_dict_object(state, MetadataIndex("step")) == 3
    assert utils.find_tensor_shard(full, MetadataIndex("whole", (0,))) is full
    assert utils.find_state_dict_object(state, MetadataIndex("chunked", (1,))).tolist() == [0, 0]
    for index, text in (
        (MetadataIndex("other"), "no entry 'other'"),
        (MetadataIndex("step", (0,)), "has no chunk"),
        (MetadataIndex("whole", (1,)), "isn't cut into chunks"),
    ):
        with pytest.raises(ValueError, match=text):
            utils.find_state_dict_object(state, index)


# ---- entries of shard files


def test_a_tensor_of_a_shard_file():
    parts = []
    tensor = tl.arange(6.0).view(2, 3).t()
    checksum = write_tensor(lambda data: parts.append(bytes(data)), tensor)
    source = ObjectSource(io.BytesIO(b"".join(parts)))
    entry = StoredTensor(source, checksum)
    assert entry.outline.shape == (3, 2) and tl.equal(entry.tensor(), tensor)
    for target in (tl.zeros(3, 2), tl.zeros(3, 2, dtype=tl.float64), tl.zeros(2, 3).t()):
        entry.read_into(target)
        assert target.tolist() == tensor.tolist()
    with pytest.raises(RuntimeError, match="files of two checkpoints are mixed"):
        StoredTensor(source, checksum + 1)
    file = io.BytesIO()
    tl_checkpoint.save([1], file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="it holds a list"):
        StoredTensor(ObjectSource(file), None)


# ---- futures and ranks


def test_futures():
    future = Future.of(3)
    assert (future.wait(), outcome(future), future.failed()) == (3, 3, False)
    failed: Future = Future()
    assert not failed.failed()
    failed.set_exception(ValueError("full"))
    assert failed.failed()
    with pytest.raises(ValueError, match="full"):
        failed.wait()
    assert outcome(SimpleNamespace(result=lambda: 4)) == 4


def test_tasks_run_in_order():
    tasks, order, gate = Background(), [], threading.Event()
    first = tasks.submit(lambda: gate.wait(10) and order.append(1))
    second = tasks.submit(lambda: order.append(2) or "done")
    assert not first.done()
    gate.set()
    assert second.result(10) == "done" and order == [1, 2]
    tasks.submit(lambda: 1 / 0)
    tasks.wait()
    with pytest.raises(ZeroDivisionError):
        tasks.raise_failure()
    assert tasks.raise_failure() is None
    with pytest.raises(ZeroDivisionError):
        tasks.submit(lambda: 1 / 0).result(10)
    assert tasks.raise_failure() is None


class Group:
    """A process group of two ranks whose channel is a list of numbers."""

    def size(self):
        return 2

    def __checkpoint_channel__(self, coordinator):
        return SimpleNamespace(rank=1, world_size=2, coordinator=coordinator)


def test_the_ranks_of_a_group():
    assert type(ranks_of(None)) is Ranks and type(ranks_of(Group(), no_dist=True)) is Ranks
    ranks = ranks_of(Group(), coordinator_rank=1)
    assert isinstance(ranks, GroupRanks) and (ranks.rank, ranks.world_size, ranks.is_coordinator) == (
        1,
        2,
        True,
    )
    assert not ranks_of(Group()).is_coordinator
    assert type(ranks_of(SimpleNamespace(size=lambda: 1))) is Ranks
    with pytest.raises(NotImplementedError, match="coordinator_rank=1 needs several ranks"):
        ranks_of(None, coordinator_rank=1)
    with pytest.raises(
        NotImplementedError, match="needs a process group of tl-distributed, got SimpleNamespace"
    ):
        ranks_of(SimpleNamespace(size=lambda: 2))
