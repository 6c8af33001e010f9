"""A storage that fails at any moment: the save raises, and the checkpoint that was there stays as it was."""

from __future__ import annotations

import contextlib
import errno
import os

import pytest

import tl_checkpoint.distributed as sharded
import tl_core as tl
from tl_checkpoint.distributed.filesystem import FileSystem
from tl_checkpoint.distributed.format_utils import dcp_to_torch_save


class Stream:
    """A file that fails, or takes less than it is given."""

    def __init__(self, file, system):
        self.file, self.system = file, system

    def write(self, data):
        if self.system.short:
            data = data[: max(1, len(data) // 3)]
        fails = self.system.counts("write")
        if fails:
            self.file.write(data[: len(data) // 2])
            raise fails
        return self.file.write(data)

    def read(self):
        return self.file.read()

    def fileno(self):
        return self.file.fileno()


class Faulty(FileSystem):
    """Fails at one of its operations, counted from 0."""

    def __init__(self, at=None, error=errno.ENOSPC, short=False):
        self.at, self.error, self.short, self.done = at, error, short, []

    def counts(self, name):
        self.done.append(name)
        if self.at is not None and len(self.done) - 1 == self.at:
            return OSError(self.error, os.strerror(self.error))
        return None

    def check(self, name):
        error = self.counts(name)
        if error:
            raise error

    @contextlib.contextmanager
    def create_stream(self, path, mode):
        self.check("open")
        with super().create_stream(path, mode) as file:
            yield Stream(file, self)

    def rename(self, path, new_path):
        self.check("rename")
        super().rename(path, new_path)

    def mkdir(self, path):
        self.check("mkdir")
        super().mkdir(path)

    def sync(self, stream):
        self.check("sync")
        super().sync(stream)

    def sync_folder(self, path):
        self.check("sync folder")
        super().sync_folder(path)

    def ls(self, path):
        self.check("ls")
        return super().ls(path)


def state(value):
    return {"w": tl.full((3000,), float(value)), "v": tl.full((7,), value), "step": value}


def saved(folder):
    into = {"w": tl.zeros(3000), "v": tl.zeros(7, dtype=tl.int64), "step": -1}
    sharded.load(into, checkpoint_id=folder)
    assert bool((into["w"] == into["step"]).all()) and bool((into["v"] == into["step"]).all())
    return into["step"]


def save(folder, value, system, **options):
    writer = sharded.FileSystemWriter(folder, **options)
    writer.fs = system
    return sharded.save(state(value), storage_writer=writer)


def operations(folder, **options):
    system = Faulty()
    save(folder / "count", 0, system, **options)
    save(folder / "count", 0, again := Faulty(), **options)
    assert {"mkdir", "ls", "open", "write", "sync", "rename"} <= set(system.done)
    return max(len(system.done), len(again.done))


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize("options", [{}, {"thread_count": 2}, {"single_file_per_rank": False}])
def test_a_fault_at_every_operation(tmp_path, error, options):
    folder = tmp_path / "x"
    sharded.save(state(0), checkpoint_id=folder)
    files = sorted(os.listdir(folder))
    committed = 0
    for at in range(operations(tmp_path, **options)):
        before = saved(folder)
        system = Faulty(at, error)
        try:
            save(folder, at + 1, system, **options)
        except sharded.CheckpointException as failure:
            assert isinstance(failure.__cause__, OSError) and failure.__cause__.errno == error
            if saved(folder) == before:
                assert sorted(os.listdir(folder)) == files
            else:  # it went wrong when the new one was complete
                assert "rename" in system.done[:-1] and saved(folder) == at + 1
        else:
            assert system.at >= len(system.done)
            committed += 1
            assert saved(folder) == at + 1
        files = sorted(os.listdir(folder))
    assert committed <= 2


def test_short_writes_are_completed(tmp_path):
    save(tmp_path, 5, Faulty(short=True))
    assert saved(tmp_path) == 5


def test_a_file_that_takes_nothing(tmp_path):
    class Full(Faulty):
        @contextlib.contextmanager
        def create_stream(self, path, mode):
            with FileSystem.create_stream(self, path, mode) as file:
                stream = Stream(file, self)
                stream.write = lambda data: 0
                yield stream

    with pytest.raises(sharded.CheckpointException, match="the file took none of"):
        save(tmp_path, 1, Full())


def test_a_real_full_disk(tmp_path):
    """A limit on the size of files stands for a full disk."""
    import resource
    import signal

    sharded.save(state(1), checkpoint_id=tmp_path)
    before, action = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, before[1]))
    try:
        with pytest.raises(sharded.CheckpointException, match="File too large"):
            sharded.save(state(2), checkpoint_id=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, action)
    assert saved(tmp_path) == 1 and len(os.listdir(tmp_path)) == 2


def test_the_order_of_things(tmp_path):
    system = Faulty()
    save(tmp_path / "new", 1, system)
    order = [name for name in system.done if name != "write"][system.done.index("ls") :]
    shard = ["ls", "open", "sync", "sync folder"]
    assert order == [*shard, "open", "sync", "rename", "sync folder", "ls"]


def test_an_object_that_cannot_be_pickled(tmp_path):
    sharded.save(state(1), checkpoint_id=tmp_path)
    with pytest.raises(sharded.CheckpointException, match="pickle"):
        sharded.save({**state(2), "bad": lambda: 0}, checkpoint_id=tmp_path)
    assert saved(tmp_path) == 1 and len(os.listdir(tmp_path)) == 2


def test_what_another_program_put_there_stays(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for value in (1, 2):
        sharded.save(state(value), checkpoint_id=tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine" and saved(tmp_path) == 2
    dcp_to_torch_save(tmp_path, tmp_path / "whole.pt")
    sharded.save(state(3), checkpoint_id=tmp_path)
    assert (tmp_path / "whole.pt").exists()
