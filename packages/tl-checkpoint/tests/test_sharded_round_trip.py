"""What is saved in a directory comes back, in place, bit for bit; directories that torch 2.13 wrote are read."""

from __future__ import annotations

import os
import pickletools
from pathlib import Path
from typing import ClassVar

import pytest

import tl_checkpoint
import tl_checkpoint.distributed as sharded
import tl_core as tl
from tl_checkpoint.distributed import format_utils
from tl_checkpoint.distributed.coordinator import Ranks
from tl_checkpoint.distributed.default_planner import WholeLoadPlanner
from tl_checkpoint.distributed.format_utils import (
    BroadcastingTorchSaveReader,
    DynamicMetaLoadPlanner,
    dcp_to_torch_save,
    torch_save_to_dcp,
)
from tl_checkpoint.distributed.state_dict_loader import _load_state_dict, _load_state_dict_from_keys
from tl_core.base import ranks

DATA = Path(__file__).parent / "data"
DTYPES = "bool uint8 int8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64 complex64 complex128"


def bits(tensor):
    return bytes(memoryview(tensor.detach().contiguous().view(-1).view(tl.uint8)))


def whole(folder):
    state = {}
    _load_state_dict(state, sharded.FileSystemReader(folder), planner=WholeLoadPlanner())
    return state


@pytest.mark.parametrize("name", DTYPES.split())
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (5,), (2, 3, 4)])
def test_every_dtype_and_shape(tmp_path, name, shape):
    count = 1
    for n in shape:
        count *= n
    dtype = getattr(tl, name)
    raw = bytes((7 * i + 3) % (2 if dtype is tl.bool else 251) for i in range(count * dtype.itemsize))
    saved = (
        tl.frombuffer(bytearray(raw), dtype=dtype).reshape(shape) if count else tl.empty(shape, dtype=dtype)
    )
    sharded.save({"x": saved}, checkpoint_id=tmp_path)
    target = tl.zeros(shape, dtype=dtype)
    sharded.load({"x": target}, checkpoint_id=tmp_path)
    assert bits(target) == bits(saved) == raw


def test_views_of_all_kinds(tmp_path):
    base = tl.arange(24.0).reshape(4, 6)
    views = {
        "transposed": base.t(),
        "strided": base[::2, 1::2],
        "offset": base.view(-1)[5:9],
        "expanded": tl.ones(1).expand(3),
        "conjugate": tl.tensor([1 + 2j]).conj(),
        "parameter": tl.Parameter(tl.ones(2), requires_grad=False),
    }
    sharded.save(views, checkpoint_id=tmp_path)
    targets = {name: tl.zeros(view.shape, dtype=view.dtype) for name, view in views.items()}
    sharded.load(targets, checkpoint_id=tmp_path)
    for name, view in views.items():
        assert targets[name].tolist() == view.tolist(), name
    assert sum(os.path.getsize(tmp_path / name) for name in os.listdir(tmp_path)) < 12_000


def test_targets_of_all_kinds(tmp_path):
    sharded.save({"x": tl.arange(6.0).reshape(2, 3)}, checkpoint_id=tmp_path)
    for target in (
        tl.zeros(3, 2).t(),
        tl.zeros(4, 3)[1:3],
        tl.zeros(2, 6)[:, ::2],
        tl.zeros(2, 3, dtype=tl.int64),
    ):
        before = target._version
        sharded.load({"x": target}, checkpoint_id=tmp_path)
        assert target.tolist() == [[0, 1, 2], [3, 4, 5]] and target._version > before


def test_nested_state(tmp_path):
    state = {
        "model": {"w": tl.ones(2), "deep": {"er": [1, {"x": tl.ones(1)}, []]}},
        "optimizer": {
            "state": {0: {"step": tl.tensor(3.0)}, 1: {"step": 4}},
            "groups": [{"lr": 0.5, "p": [0, 1]}],
        },
        "step": 7,
        "nothing": None,
        "text": "x",
        "pair": (1, 2),
        "empty": {},
    }
    sharded.save(state, checkpoint_id=tmp_path)
    filled = {
        "model": {"w": tl.zeros(2), "deep": {"er": [0, {"x": tl.zeros(1)}, 0]}},
        "optimizer": {"state": {0: {"step": tl.tensor(0.0)}, 1: {"step": 0}}, "groups": [{"lr": 0, "p": 0}]},
        "step": 0,
        "nothing": 1,
        "text": "",
        "pair": 0,
        "empty": {},
    }
    weight = filled["model"]["w"]
    sharded.load(filled, checkpoint_id=tmp_path)
    assert str(filled) == str(state) and filled["model"]["w"] is weight
    again = whole(tmp_path)
    again["optimizer"]["state"] = {int(key): value for key, value in again["optimizer"]["state"].items()}
    assert str(again) == str(state)


def test_parts_of_a_checkpoint(tmp_path):
    sharded.save({"a": {"x": 1, "y": tl.ones(1)}, "b": 2}, checkpoint_id=tmp_path)
    part = {"a": {"x": 0}}
    sharded.load(part, checkpoint_id=tmp_path)
    assert part == {"a": {"x": 1}}
    assert _load_state_dict_from_keys("b", checkpoint_id=tmp_path) == {"b": 2}
    assert set(_load_state_dict_from_keys({"a"}, checkpoint_id=tmp_path)["a"]) == {"x", "y"}


class Counter:
    def __init__(self):
        self.count, self.weight = 0, tl.zeros(2)

    def state_dict(self):
        return {"count": self.count, "weight": self.weight}

    def load_state_dict(self, state):
        self.count = state["count"]


def test_objects_with_a_state(tmp_path):
    one, two = Counter(), Counter()
    one.count, one.weight = 3, tl.ones(2)
    assert isinstance(one, sharded.Stateful)
    sharded.save({"counter": one}, checkpoint_id=tmp_path)
    sharded.load({"counter": two}, checkpoint_id=tmp_path)
    assert two.count == 3 and two.weight.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"wieght": tl.zeros(2)}, r"Missing key in checkpoint state_dict: wieght\. Did you mean 'weight'\?"),
        ({"weight": tl.zeros(3)}, r"Size mismatch between saved \(2,\) and current: \(3,\) for weight"),
        ({"weight": 0}, "has a tensor of .* at weight, which can't be loaded into a int"),
    ],
)
def test_what_does_not_fit(tmp_path, wanted, said):
    sharded.save({"weight": tl.ones(2)}, checkpoint_id=tmp_path)
    with pytest.raises(sharded.CheckpointException, match=said) as caught:
        sharded.load(wanted, checkpoint_id=tmp_path)
    assert list(caught.value.failures) == [0] and caught.value.__cause__ is caught.value.failures[0][0]


def test_wrong_calls(tmp_path):
    with pytest.raises(RuntimeError, match="`checkpoint_id` must be specified"):
        sharded.save({})
    with pytest.raises(RuntimeError, match="no storage of tl writes to 's3://bucket'"):
        sharded.save({}, checkpoint_id="s3://bucket")
    with pytest.raises(NotImplementedError, match="needs a process group of tl-distributed, got object"):
        sharded.load({}, checkpoint_id=tmp_path, process_group=object())
    with pytest.raises(sharded.CheckpointException, match="no checkpoint was completed in it"):
        sharded.load({}, checkpoint_id=tmp_path)
    with pytest.raises(
        sharded.CheckpointException, match=r"two entries of the state dict have the name 'a\.b'"
    ):
        sharded.save({"a.b": 1, "a": {"b": 2}}, checkpoint_id=tmp_path)
    sharded.save({}, checkpoint_id=tmp_path)
    with pytest.raises(sharded.CheckpointException, match="Checkpoint already exists"):
        sharded.save({}, storage_writer=sharded.FileSystemWriter(tmp_path, overwrite=False))


class Group:
    """A process group: of one rank, or one that brings its own steps."""

    def __init__(self, size):
        self.size = lambda: size


class Bringing(Group):
    steps: ClassVar[list[str]] = []

    def __checkpoint_ranks__(self, coordinator_rank):
        steps = self.steps

        class Counted(Ranks):
            def _guard(self, step, work):
                steps.append(step)
                return super()._guard(step, work)

        return Counted()


def test_process_groups(tmp_path):
    sharded.save({"n": 1}, checkpoint_id=tmp_path, process_group=Group(1))
    with pytest.raises(NotImplementedError, match="needs a process group of tl-distributed, got Group"):
        sharded.save({"n": 1}, checkpoint_id=tmp_path, process_group=Group(2))
    sharded.save({"n": 2}, checkpoint_id=tmp_path, process_group=Group(2), no_dist=True)
    sharded.save({"n": 3}, checkpoint_id=tmp_path, process_group=Bringing(2))
    sharded.load(into := {"n": 0}, checkpoint_id=tmp_path, process_group=Bringing(2))
    assert into["n"] == 3 and Bringing.steps == ["plan", "write", "plan", "read"]


def test_one_of_several_ranks_says_what_it_wants(tmp_path, monkeypatch):
    monkeypatch.setattr(ranks, "_query", lambda: (1, 4))
    state = {"n": 1}
    for call in (sharded.save, sharded.async_save, sharded.load):
        with pytest.raises(NotImplementedError, match="rank 1 of 4: give the process_group"):
            call(state, checkpoint_id=tmp_path)
    sharded.save(state, checkpoint_id=tmp_path, no_dist=True)
    sharded.load(into := {"n": 0}, checkpoint_id=tmp_path, no_dist=True)
    assert into == state
    format_utils.dcp_to_torch_save(tmp_path, tmp_path / "state.pt")
    monkeypatch.setattr(ranks, "_query", lambda: (0, 1))
    sharded.save(state, checkpoint_id=tmp_path)


def test_the_deprecated_forms(tmp_path):
    state = {"x": tl.zeros(1)}
    with pytest.warns(FutureWarning, match="deprecated"):
        sharded.save_state_dict({"x": tl.ones(1)}, sharded.FileSystemWriter(tmp_path))
    with pytest.warns(FutureWarning, match="deprecated"):
        sharded.load_state_dict(state, sharded.FileSystemReader(tmp_path))
    assert state["x"].tolist() == [1]


@pytest.mark.parametrize(
    "options", [{"thread_count": 3}, {"single_file_per_rank": False}, {"sync_files": False}]
)
def test_layouts(tmp_path, options):
    state = {f"x{i}": tl.full((i,), i) for i in range(7)} | {"n": 1}
    sharded.save(state, storage_writer=sharded.FileSystemWriter(tmp_path, **options))
    assert str(whole(tmp_path)) == str(state)
    files = [name for name in os.listdir(tmp_path) if name != ".metadata"]
    assert len(files) == {"thread_count": 3, "single_file_per_rank": 8, "sync_files": 1}[next(iter(options))]


def test_a_directory_is_saved_to_again(tmp_path):
    for value in range(3):
        sharded.save({"x": tl.full((2,), value)}, checkpoint_id=tmp_path)
        assert whole(tmp_path)["x"].tolist() == [value, value]
        assert len(os.listdir(tmp_path)) == 2  # what the save before has written is gone


def test_to_and_from_single_files(tmp_path):
    state = {"model": {"w": tl.arange(3.0)}, "step": 4}
    tl_checkpoint.save(state, tmp_path / "a.pt")
    torch_save_to_dcp(tmp_path / "a.pt", tmp_path / "sharded")
    dcp_to_torch_save(tmp_path / "sharded", tmp_path / "b.pt")
    assert str(tl_checkpoint.load(tmp_path / "b.pt")) == str(state)
    into = {"model": {"w": tl.zeros(3)}}
    reader, planner = BroadcastingTorchSaveReader(), DynamicMetaLoadPlanner()
    sharded.load(into, storage_reader=reader, planner=planner, checkpoint_id=tmp_path / "a.pt")
    assert into["model"]["w"].tolist() == [0, 1, 2]
    with pytest.raises(sharded.CheckpointException, match="only tensors are read from a file of save"):
        sharded.load({"step": 0}, storage_reader=reader, planner=planner)


# ---- the reference's directories (tests/data), and what it needs of ours


def test_a_directory_of_the_reference():
    state = whole(DATA / "one_rank")
    assert state["model"]["w"].tolist() == tl.arange(12.0).reshape(3, 4).tolist()
    assert state["model"]["b"].dtype is tl.bfloat16 and state["model"]["v"].tolist()[1] == [2, 6, 10]
    assert state["model"]["z"].item() == 3 and state["model"]["e"].shape == (0, 2)
    assert state["opt"]["param_groups"] == [{"lr": 0.1, "params": [0]}]
    assert (state["step"], state["n"], state["s"], state["l"][0]) == (3, None, "hi", 1)


def test_shards_of_two_ranks_of_the_reference():
    state = whole(DATA / "two_ranks")
    assert state["rows"].tolist() == tl.arange(21.0).reshape(7, 3).tolist()
    assert state["columns"].tolist() == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    assert state["few"].tolist() == [0] and state["same"].tolist() == [1, 1] and state["step"] == 7
    middle = sharded.ChunkedTensor((7, 3), [((2, 1), tl.zeros(4, 2))])
    sharded.load({"rows": middle}, checkpoint_id=DATA / "two_ranks")
    assert middle.chunks[0][1].tolist() == [[7, 8], [10, 11], [13, 14], [16, 17]]


def test_the_names_that_the_reference_looks_for(tmp_path):
    sharded.save({"x": tl.ones(2), "n": 1}, checkpoint_id=tmp_path)
    texts, named = [], set()
    for opcode, argument, _ in pickletools.genops((tmp_path / ".metadata").read_bytes()):
        if "UNICODE" in opcode.name:
            texts.append(argument)
        elif opcode.name == "STACK_GLOBAL":
            named.add(texts[-1])
    classes = {
        "Metadata",
        "TensorStorageMetadata",
        "TensorProperties",
        "ChunkStorageMetadata",
        "MetadataIndex",
    }
    assert classes | {"_StorageInfo", "_MEM_FORMAT_ENCODING", "StorageMeta", "float32", "Size"} <= named
    assert {"torch.distributed.checkpoint.metadata", "torch.distributed.checkpoint.filesystem"} <= set(texts)
    assert not any("tl_" in text for text in texts)
    (shard,) = tmp_path.glob("*.distcp")
    assert shard.name == "__0_0.distcp"


def test_storages_by_position(tmp_path):
    """The former order of arguments, which warns."""
    with pytest.warns(UserWarning, match="write storage_writer="):
        sharded.save({"x": tl.arange(3)}, sharded.FileSystemWriter(tmp_path))
    state = {"x": tl.zeros(3, dtype=tl.int64)}
    with pytest.warns(UserWarning, match="write storage_reader="):
        sharded.load(state, sharded.FileSystemReader(tmp_path))
    assert state["x"].tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="positional"):
        sharded.load(state, sharded.FileSystemReader(tmp_path), None)


def test_objects_are_asked_in_the_order_of_their_keys(tmp_path):
    """Their methods may call collectives, and ranks may have the keys in another order."""
    calls = []

    class Recorder:
        def __init__(self, name):
            self.name = name

        def state_dict(self):
            calls.append(("save", self.name))
            return {"x": tl.ones(1)}

        def load_state_dict(self, state):
            calls.append(("load", self.name, state["x"].tolist()))

    for names in ("abc", "cab"):
        state = {name: Recorder(name) for name in names} | {"step": 1}
        calls.clear()
        sharded.save(state, checkpoint_id=tmp_path / names)
        assert calls == [("save", name) for name in "abc"]
        calls.clear()
        sharded.load(state, checkpoint_id=tmp_path / names)
        assert calls == [("save", name) for name in "abc"] + [("load", name, [1.0]) for name in "abc"]
        assert [*state] == [*names, "step"]
        assert [type(value) for value in state.values()] == [Recorder] * 3 + [int]
