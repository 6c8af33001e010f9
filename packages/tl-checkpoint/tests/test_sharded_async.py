"""`async_save`: what was there when it was called is saved, failures are reported, saves come in order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import tl_checkpoint.distributed as sharded
import tl_core as tl
from tl_checkpoint.distributed import staging
from tl_checkpoint.distributed.background import background
from tl_checkpoint.distributed.filesystem import FileSystem
from tl_checkpoint.distributed.staging import AsyncStager, BlockingAsyncStager, DefaultStager, StagingOptions
from tl_checkpoint.distributed.state_dict_saver import AsyncCheckpointerType, AsyncSaveResponse
from tl_core.memory.snapshot import Snapshot
from tl_core.memory.usage import set_memory_limit

KINDS = list(AsyncCheckpointerType)


@pytest.fixture(autouse=True)
def nothing_pending():
    yield
    background.wait()
    background.raise_failure()


class Gate(FileSystem):
    """Waits before it opens a file."""

    def __init__(self):
        self.opened = threading.Event()

    def create_stream(self, path, mode):
        assert self.opened.wait(30)
        return super().create_stream(path, mode)


def gated(folder):
    writer = sharded.FileSystemWriter(folder)
    writer.fs = Gate()
    return writer


def loaded(folder, size=4):
    state = {"w": tl.zeros(size), "step": 0}
    sharded.load(state, checkpoint_id=folder)
    return state["w"].tolist(), state["step"]


def test_what_changes_later_is_not_saved(tmp_path):
    writer, weight, steps = gated(tmp_path), tl.ones(4), [1]
    state = {"w": weight, "step": 3, "deep": {"list": steps}, "view": weight[1:]}
    future = sharded.async_save(state, storage_writer=writer)
    assert not future.done()
    weight.zero_()
    steps.append(2)
    state["step"] = 4
    writer.fs.opened.set()
    assert isinstance(future.result(), sharded.Metadata)
    assert loaded(tmp_path) == ([1, 1, 1, 1], 3)
    more = {"deep": {"list": []}, "view": tl.zeros(3)}
    sharded.load(more, checkpoint_id=tmp_path)
    assert more["deep"]["list"] == [1] and more["view"].tolist() == [1, 1, 1]


def always(nbytes):
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_of_the_process_has_what_was_there(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(staging, "_is_quicker", always)
    weight, shared = tl.ones(4), tl.ones(2).share_memory_()
    pair = tl.arange(6.0).view(2, 3)
    state = {"w": weight, "step": 1, "shared": shared, "turned": pair.t(), "again": [weight], "row": pair[1]}
    state["z"] = tl.complex(weight, weight).conj()
    expected = {key: value.clone() for key, value in state.items() if isinstance(value, tl.Tensor)}
    writer = gated(tmp_path)
    first = sharded.async_save(
        {"w": tl.zeros(4), "step": 0}, storage_writer=writer, async_checkpointer_type=kind
    )
    future = sharded.async_save(state, checkpoint_id=tmp_path / "b", async_checkpointer_type=kind)
    for tensor in (weight, shared, pair, state["z"]):
        tensor.zero_()
    assert not (tmp_path / "b").exists() and not first.done()  # they come in order
    writer.fs.opened.set()
    assert set(future.result().state_dict_metadata) == {*state, "again.0"} - {"again"}
    matches = {key: tl.zeros_like(value) for key, value in expected.items()}
    sharded.load(matches, checkpoint_id=tmp_path / "b")
    assert all(tl.equal(matches[key], expected[key]) for key in expected)
    assert loaded(tmp_path / "b") == ([1, 1, 1, 1], 1) and loaded(tmp_path)[1] == 0


def test_a_copy_that_can_not_be_had_is_made_at_once(tmp_path, monkeypatch):
    def refused(tensors):
        raise OSError("no processes left")

    monkeypatch.setattr(staging, "_is_quicker", always)
    monkeypatch.setattr(staging, "Snapshot", refused)
    weight = tl.ones(4)
    future = sharded.async_save({"w": weight, "step": 1}, checkpoint_id=tmp_path)
    weight.zero_()
    future.result()
    assert loaded(tmp_path) == ([1, 1, 1, 1], 1)


def test_a_large_state_is_copied_by_a_process(tmp_path, monkeypatch):
    results = []
    monkeypatch.setattr(staging, "Snapshot", lambda tensors: results.append(tensors) or Snapshot(tensors))
    sharded.async_save({"w": tl.ones(4)}, checkpoint_id=tmp_path / "small").result()
    assert not results
    sharded.async_save({"w": tl.ones(1 << 24)}, checkpoint_id=tmp_path / "large").result()
    assert len(results) == 1
    set_memory_limit("100 MB")
    try:
        with pytest.raises(tl.OutOfMemoryError):
            sharded.async_save({"w": tl.ones(1 << 24)}, checkpoint_id=tmp_path / "limited")
    finally:
        set_memory_limit(None)
    for stager in (BlockingAsyncStager(), DefaultStager()):
        sharded.async_save(
            {"w": tl.ones(1 << 24)}, checkpoint_id=tmp_path / "x", async_stager=stager
        ).result()
    assert len(results) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_failure_is_reported_once(tmp_path, kind):
    (tmp_path / "file").write_text("in the way")
    wrong = {"checkpoint_id": tmp_path / "file" / "x", "async_checkpointer_type": kind}
    future = sharded.async_save({"w": tl.ones(4)}, **wrong)
    with pytest.raises(sharded.CheckpointException, match=r"Not a directory|File exists"):
        future.result()
    sharded.save({"w": tl.ones(4), "step": 1}, checkpoint_id=tmp_path / "good")  # it has been asked for
    sharded.async_save({"w": tl.ones(4)}, **wrong)
    background.wait()
    for call in (sharded.async_save, sharded.save):
        with pytest.raises(sharded.CheckpointException, match=r"Not a directory|File exists"):
            call({"w": tl.ones(4)}, checkpoint_id=tmp_path / "good")
        sharded.async_save({"w": tl.ones(4)}, **wrong)
        background.wait()
    with pytest.raises(sharded.CheckpointException):
        background.raise_failure()
    assert loaded(tmp_path / "good")[1] == 1


def test_a_process_that_is_killed(tmp_path, monkeypatch):
    def killed(tensors):
        snapshot = Snapshot(tensors)
        os.kill(snapshot._source[0], signal.SIGKILL)
        return snapshot

    sharded.save({"w": tl.ones(1 << 20), "step": 1}, checkpoint_id=tmp_path)
    monkeypatch.setattr(staging, "_is_quicker", always)
    monkeypatch.setattr(staging, "Snapshot", killed)
    state = {"w": tl.zeros(1 << 20), "step": 2}
    future = sharded.async_save(state, checkpoint_id=tmp_path)
    with pytest.raises(ChildProcessError, match="was killed"):
        future.result()
    sharded.async_save(state, checkpoint_id=tmp_path)
    background.wait()
    with pytest.raises(ChildProcessError):
        sharded.save(state, checkpoint_id=tmp_path)
    assert loaded(tmp_path, 1 << 20)[1] == 1


def test_saves_come_in_order(tmp_path):
    futures = [
        sharded.async_save({"w": tl.full((4,), float(k)), "step": k}, checkpoint_id=tmp_path)
        for k in range(8)
    ]
    futures[-1].result()
    assert all(future.done() for future in futures) and loaded(tmp_path) == ([7, 7, 7, 7], 7)


@pytest.mark.parametrize(
    "stager",
    [BlockingAsyncStager(True), DefaultStager(StagingOptions()), BlockingAsyncStager(type_check=True)],
)
def test_stagers(tmp_path, stager):
    assert isinstance(stager, AsyncStager) and stager.should_synchronize_after_execute
    for k in range(5):
        weight = tl.full((4,), float(k))
        sharded.async_save({"w": weight, "step": k}, checkpoint_id=tmp_path / str(k), async_stager=stager)
        weight.zero_()
    background.wait()
    for k in range(5):
        assert loaded(tmp_path / str(k)) == ([k] * 4, k)
    stager.close()


def test_a_copy_keeps_the_kind_of_everything():
    shared = tl.ones(2)
    chunked = sharded.ChunkedTensor((4,), [((2,), shared)])
    state = {"a": shared, "b": [shared, ({"c": 1},)], "chunks": chunked, "n": {1, 2}, "f": 1.5}
    staged = BlockingAsyncStager().stage(state)
    assert str({**staged, "chunks": 0}) == str({**state, "chunks": 0}) and staged["n"] is not state["n"]
    assert staged["a"] is staged["b"][0] and staged["a"] is not shared
    assert staged["chunks"].chunks[0][1].data_ptr() != shared.data_ptr()


def test_a_stager_that_copies_while_training_goes_on(tmp_path):
    class Later(BlockingAsyncStager):
        threads = ThreadPoolExecutor(1)

        def stage(self, state_dict):
            return self.threads.submit(super().stage, state_dict)

    response = sharded.async_save({"w": tl.ones(4), "step": 2}, checkpoint_id=tmp_path, async_stager=Later())
    assert isinstance(response, AsyncSaveResponse)
    response.staging_completion.result()
    response.upload_completion.result()
    assert loaded(tmp_path)[1] == 2


def test_a_program_that_ends_waits_for_its_saves(tmp_path):
    program = """
import sys, tl_core as tl, tl_checkpoint.distributed as sharded
sharded.async_save({"w": tl.ones(4_000_000), "step": 5}, checkpoint_id=sys.argv[1])
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "x")], check=True)
    assert loaded(tmp_path / "x", 4_000_000)[1] == 5
