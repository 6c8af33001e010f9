"""`async_save`: what was there when it was called is saved, failures are reported, saves come in order."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import tl_checkpoint.distributed as sharded
import tl_core as tl
from tl_checkpoint.distributed.background import background
from tl_checkpoint.distributed.filesystem import FileSystem
from tl_checkpoint.distributed.staging import AsyncStager, BlockingAsyncStager, DefaultStager, StagingOptions
from tl_checkpoint.distributed.state_dict_saver import AsyncCheckpointerType, AsyncSaveResponse

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


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_saves_what_was_there(tmp_path):
    weight, writer = tl.ones(4), gated(tmp_path / "a")
    first = sharded.async_save({"w": tl.zeros(4), "step": 0}, storage_writer=writer)
    kind = AsyncCheckpointerType.PROCESS
    future = sharded.async_save(
        {"w": weight, "step": 1}, checkpoint_id=tmp_path / "b", async_checkpointer_type=kind
    )
    weight.zero_()
    time.sleep(0.2)
    assert not (tmp_path / "b").exists() and not first.done()  # they come in order
    writer.fs.opened.set()
    assert set(future.result().state_dict_metadata) == {"w", "step"}
    assert loaded(tmp_path / "b") == ([1, 1, 1, 1], 1) and loaded(tmp_path / "a")[1] == 0


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
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


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_that_is_killed(tmp_path):
    class Deadly(FileSystem):
        def create_stream(self, path, mode):
            os.kill(os.getpid(), 9)

    sharded.save({"w": tl.ones(4), "step": 1}, checkpoint_id=tmp_path)
    writer = sharded.FileSystemWriter(tmp_path)
    writer.fs = Deadly()
    kind = AsyncCheckpointerType.PROCESS
    future = sharded.async_save(
        {"w": tl.zeros(4), "step": 2}, storage_writer=writer, async_checkpointer_type=kind
    )
    with pytest.raises(ChildProcessError, match="ended with signal SIGKILL"):
        future.result()
    assert loaded(tmp_path) == ([1, 1, 1, 1], 1)
    with pytest.raises(ValueError, match="needs no stager"):
        sharded.async_save(
            {}, checkpoint_id=tmp_path, async_checkpointer_type=kind, async_stager=DefaultStager()
        )


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
