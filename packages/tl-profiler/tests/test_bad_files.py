"""What cannot be written is refused with the file's name, an older file stays, and nothing half-written is left."""

import contextlib
import os
import pickle
import resource
import signal
import subprocess
import sys

import pytest

import tl_core
from tl_core.memory import history as memory_history
from tl_profiler import ExecutionTraceObserver, memory_page, profile, record_function, report


@pytest.fixture(scope="module")
def profiled():
    with profile(profile_memory=True, with_stack=True, record_shapes=True) as prof:
        for _ in range(200):
            x = tl_core.ones(16, 16, requires_grad=True)
            (x @ x).sum().backward()
    return prof


def trace_arguments(_, path):
    observer = ExecutionTraceObserver().register_callback(path)
    observer.start()
    with record_function("block"):
        for _ in range(50):
            tl_core.ones(2) + 1
    observer.stop()


def memory_html(_, path):
    memory_history.record_memory_history()
    try:
        values = [tl_core.zeros(100 + i) for i in range(100)]
        memory_page.write(path)
    finally:
        memory_history.record_memory_history(None)
    assert values


def snapshot(_, path):
    memory_history.record_memory_history()
    try:
        values = [tl_core.zeros(100 + i) for i in range(100)]
        memory_history.dump_snapshot(path)
    finally:
        memory_history.record_memory_history(None)
    assert values


WRITERS = {
    "trace.json": lambda prof, path: prof.export_chrome_trace(path),
    "trace.json.gz": lambda prof, path: prof.export_chrome_trace(path),
    "events.json": lambda prof, path: prof.events().export_chrome_trace(path),
    "stacks.txt": lambda prof, path: prof.export_stacks(path),
    "memory.html": lambda prof, path: prof.export_memory_timeline(path),
    "memory.json": lambda prof, path: prof.export_memory_timeline(path),
    "memory.raw.json.gz": lambda prof, path: prof.export_memory_timeline(path),
    "report.html": lambda prof, path: report.write(prof, path),
    "arguments.json": trace_arguments,
    "live.html": memory_html,
    "snapshot.pickle": snapshot,
}
each_writer = pytest.mark.parametrize("name", WRITERS)


@each_writer
def test_folders_that_cannot_be_written_to_are_named(profiled, tmp_path, name):
    (tmp_path / "file").write_text("no folder")
    for folder in ("nowhere", "file"):
        with pytest.raises(OSError, match=f"{folder}/{name}"):
            WRITERS[name](profiled, str(tmp_path / folder / name))
    (tmp_path / name).mkdir()
    with pytest.raises(OSError, match=name):
        WRITERS[name](profiled, str(tmp_path / name))
    assert sorted(os.listdir(tmp_path)) == sorted(["file", name])


@contextlib.contextmanager
def full_disk(room):
    """No file grows beyond some bytes, as on a disk that is full then."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@each_writer
def test_a_full_disk_leaves_the_older_file(profiled, tmp_path, name):
    path = tmp_path / name
    path.write_text("older")
    with full_disk(100), pytest.raises(OSError, match="File too large"):
        WRITERS[name](profiled, str(path))
    assert os.listdir(tmp_path) == [name] and path.read_text() == "older"
    WRITERS[name](profiled, str(path))
    assert os.listdir(tmp_path) == [name] and path.stat().st_size > 100


class Evil:
    def __reduce__(self):
        return os.system, ("true",)


BROKEN = {
    "nothing": b"",
    "no pickle": b"not a pickle",
    "cut off": pickle.dumps({"segments": [{"address": 1}] * 50, "device_traces": []})[:-40],
    "code": pickle.dumps(Evil()),
    "another thing": pickle.dumps([1, 2]),
    "no segments": pickle.dumps({"device_traces": []}),
    "segments of texts": pickle.dumps({"segments": "abc", "device_traces": [["x"]]}),
    "entries without a size": pickle.dumps({"segments": [], "device_traces": [[{"action": "alloc", "addr": 1}]]}),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_snapshots_are_refused(tmp_path, kind):
    (tmp_path / "s.pickle").write_bytes(BROKEN[kind])
    with pytest.raises(ValueError, match="snapshot"):
        memory_page.write(str(tmp_path / "page.html"), str(tmp_path / "s.pickle"))
    assert os.listdir(tmp_path) == ["s.pickle"]


def test_the_command_line_refuses_before_the_program_runs(tmp_path):
    (tmp_path / "train.py").write_text("open('ran', 'w')")
    for arguments, message in ((["--trace", "nowhere/t.json", "train.py"], "cannot be written"),
                            (["--last", "-1", "train.py"], "--last needs"),
                            (["--no-stacks", "--stacks", "s.txt", "train.py"], "--stacks needs"),
                            (["missing.py"], "there is no file")):  # fmt: skip
        ran = subprocess.run([sys.executable, "-m", "tl_profiler", "run", *arguments], cwd=tmp_path,
                             capture_output=True, text=True, timeout=120)  # fmt: skip
        assert ran.returncode != 0 and message in ran.stderr and "Traceback" not in ran.stderr
    assert os.listdir(tmp_path) == ["train.py"]
