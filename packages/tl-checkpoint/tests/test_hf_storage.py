"""Checkpoints of safetensors files: one process's, several ranks' and the whole made of them, and what is refused."""

import json
import os

import pytest

import tl_core as tl
from tl_checkpoint import distributed as dcp
from tl_checkpoint.distributed import ChunkedTensor
from tl_checkpoint.distributed.hf_storage import INDEX, consolidate_safetensors_files, file_name
from tl_checkpoint.safetensors import load_file, save_file

STATE = {
    "a": tl.arange(12.0).view(3, 4),
    "b": tl.tensor([1, 2], dtype=tl.int64),
    "scalar": tl.tensor(2.5, dtype=tl.bfloat16),
    "empty": tl.empty(0, 3),
}


def zeros():
    return {name: tl.zeros_like(tensor) for name, tensor in STATE.items()}


def same(state):
    return all(tl.equal(state[name], tensor) for name, tensor in STATE.items())


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("mapping", [None, {"a": 1, "b": 2, "scalar": 2, "empty": 3}])
def test_one_process(tmp_path, mapping, threads):
    writer = dcp.HuggingFaceStorageWriter(str(tmp_path), mapping, thread_count=threads)
    dcp.save(STATE, storage_writer=writer, no_dist=True)
    index = json.loads((tmp_path / INDEX).read_text())
    count = max((mapping or {"": 1}).values())
    expected = {name: file_name((mapping or {}).get(name, 1), count) for name in STATE}
    assert index == {"metadata": {"total_size": 48 + 16 + 2}, "weight_map": expected}
    assert {*os.listdir(tmp_path)} == {INDEX, *expected.values()}
    loaded = load_file(tmp_path / INDEX)
    assert same(loaded) and loaded["scalar"].dtype is tl.bfloat16
    state = zeros()
    dcp.load(state, storage_reader=dcp.HuggingFaceStorageReader(str(tmp_path), threads), no_dist=True)
    assert same(state)


def test_a_part_of_a_model_of_another_program(tmp_path):
    save_file({"a": STATE["a"]}, tmp_path / "first.safetensors", {"format": "pt"}, checksums=False)
    save_file({"b": STATE["b"]}, tmp_path / "second.safetensors", checksums=False)
    reader = dcp.HuggingFaceStorageReader(str(tmp_path))
    state = {"b": tl.zeros(2, dtype=tl.int64)}
    dcp.load(state, storage_reader=reader, no_dist=True)
    assert state["b"].tolist() == [1, 2]
    assert reader.read_metadata().state_dict_metadata["a"].size == (3, 4)


def ranks_files(folder):
    """What two ranks write, of which each has some rows of `a`."""
    folder.mkdir()
    for rank, (begin, end) in enumerate([(0, 2), (2, 3)]):
        offsets = {"a": {"saved_offsets": [begin, 0]}, **({"b": {"saved_offsets": [0]}} if rank else {})}
        tensors = {"a": STATE["a"][begin:end], **({"b": STATE["b"]} if rank else {})}
        notes = {"DCP_SHARDING_INFO": json.dumps(offsets), "DCP_VERSION": "1.0", "format": "pt"}
        save_file(tensors, folder / file_name(1, 1, rank + 1), notes)


def test_boxes_of_ranks_are_read_however_they_are_cut(tmp_path):
    ranks_files(tmp_path / "ranks")
    full, rows = tl.zeros(3, 4), tl.zeros(2, 4)
    state = {"a": full, "b": tl.zeros(2, dtype=tl.int64)}
    dcp.load(state, storage_reader=dcp.HuggingFaceStorageReader(str(tmp_path / "ranks")), no_dist=True)
    assert tl.equal(full, STATE["a"]) and tl.equal(state["b"], STATE["b"])
    part = ChunkedTensor((3, 4), [((1, 0), rows)])
    dcp.load({"a": part}, storage_reader=dcp.HuggingFaceStorageReader(str(tmp_path / "ranks")), no_dist=True)
    assert tl.equal(rows, STATE["a"][1:])


def test_whole_tensors_are_made_of_boxes(tmp_path):
    ranks_files(tmp_path / "ranks")
    model = tmp_path / "model"
    model.mkdir()
    consolidate_safetensors_files(str(tmp_path / "ranks"), str(model), {"a": 1, "b": 2}, num_threads=2)
    assert json.loads((model / INDEX).read_text())["weight_map"] == {
        "a": file_name(1, 2),
        "b": file_name(2, 2),
    }
    loaded = load_file(model / INDEX)
    assert tl.equal(loaded["a"], STATE["a"]) and tl.equal(loaded["b"], STATE["b"])
    with pytest.raises(KeyError, match="have no tensor 'c'"):
        consolidate_safetensors_files(str(tmp_path / "ranks"), str(model), {"c": 1})
    os.unlink(tmp_path / "ranks" / file_name(1, 1, 1))
    with pytest.raises(RuntimeError, match="4 of the 12 elements of 'a'"):
        consolidate_safetensors_files(str(tmp_path / "ranks"), str(model), {"a": 1})


@pytest.mark.parametrize("mapping", [None, {"a": 1, "b": 2, "scalar": 2, "empty": 1}])
def test_a_writer_may_put_the_boxes_together(tmp_path, mapping):
    options = {"save_distributed": True, "enable_consolidation": True}
    writer = dcp.HuggingFaceStorageWriter(str(tmp_path), mapping, **options)
    dcp.save(STATE, storage_writer=writer, no_dist=True)
    assert same(load_file(tmp_path / INDEX))
    parts = sorted(os.listdir(tmp_path / "sharded"))
    assert all(name.startswith("shard-00001-model-0000") for name in parts) and len(parts) == (
        2 if mapping else 1
    )


def test_boxes_stay_where_nobody_puts_them_together(tmp_path):
    dcp.save(
        STATE,
        storage_writer=dcp.HuggingFaceStorageWriter(str(tmp_path), save_distributed=True),
        no_dist=True,
    )
    assert os.listdir(tmp_path) == [file_name(1, 1, 1)]


def test_what_cannot_be_kept_is_refused(tmp_path):
    def save(state, **options):
        writer = dcp.HuggingFaceStorageWriter(str(tmp_path), **options)
        dcp.save(state, storage_writer=writer, no_dist=True)

    with pytest.raises(
        dcp.CheckpointException, match="'step' is no tensor, and safetensors files hold tensors"
    ):
        save({"step": 3})
    with pytest.raises(dcp.CheckpointException, match="fqn_to_index_mapping has no file for 'a'"):
        save(STATE, fqn_to_index_mapping={"b": 1})
    with pytest.raises(FileNotFoundError, match=r"has no \.safetensors files"):
        dcp.HuggingFaceStorageReader(str(tmp_path / "..")).read_metadata()
