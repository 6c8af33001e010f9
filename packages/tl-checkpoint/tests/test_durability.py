"""Whatever fails while a file is saved, whenever the machine stops: the old file is there, or the new one, whole."""

from __future__ import annotations

import errno
import itertools
import os
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import tl_checkpoint
import tl_core as tl
from tl_checkpoint import atomic, safetensors
from tl_checkpoint.disk import Disk

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import kill  # noqa: E402 - stands beside this file

OLD = {"a": tl.arange(30_000), "b": tl.zeros(7)}
NEW = {"a": tl.arange(30_000) * 2, "b": tl.ones(7), "c": tl.full((90_000,), 3.0)}


def is_state(loaded: dict[str, Any], state: dict[str, Any]) -> bool:
    return list(loaded) == list(state) and all(tl.equal(loaded[name], state[name]) for name in state)


def save(state: dict[str, Any], path: Path) -> None:
    if path.suffix == ".pt":
        tl_checkpoint.save(state, path)
    else:
        safetensors.save_file(state, path)


def load(path: Path) -> dict[str, Any]:
    if path.suffix == ".pt":
        return tl_checkpoint.load(path)
    return dict(sorted(safetensors.load_file(path).items()))


# ---- every step of a save fails


class FailingDisk(Disk):
    """The system's disk, of which one call fails."""

    def __init__(self, at: int, number: int) -> None:
        self.at, self.number, self.calls = at, number, []

    def _step(self, name: str) -> None:
        self.calls.append(name)
        if len(self.calls) - 1 == self.at:
            raise OSError(self.number, os.strerror(self.number))


def _failing(name: str) -> Any:
    def call(self: FailingDisk, *arguments: Any) -> Any:
        if name == "close":
            getattr(Disk, name)(self, *arguments)
            return self._step(name)
        self._step(name)
        return getattr(Disk, name)(self, *arguments)

    return call


for _name in ("create", "write", "set_mode", "sync", "give_name", "close", "rename", "sync_folder"):
    setattr(FailingDisk, _name, _failing(_name))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS])
@pytest.mark.parametrize("nameless", [True, False])
@pytest.mark.parametrize("name", ["x.pt", "x.safetensors"])
def test_a_step_that_fails_raises_and_keeps_the_old_file(tmp_path, monkeypatch, number, nameless, name):
    path = tmp_path / name
    save(OLD, path)
    if not nameless:
        monkeypatch.setattr("tl_checkpoint.disk._DESCRIPTORS", "/nowhere")
    failed = []
    for at in itertools.count():
        disk = FailingDisk(at, number)
        monkeypatch.setattr(atomic, "Disk", lambda disk=disk: disk)
        try:
            save(NEW, path)
        except OSError as error:
            assert error.errno == number
            failed.append(disk.calls[at])
            is_synced = "sync_folder" in disk.calls
            assert is_state(load(path), NEW if is_synced else OLD)
            assert os.listdir(tmp_path) == [name]
            monkeypatch.setattr(atomic, "Disk", Disk)
            save(OLD, path)
        else:
            break
    assert set(failed) >= {"create", "write", "sync", "close", "rename", "sync_folder"}
    assert is_state(load(path), NEW)


# ---- the machine stops between any two steps


@dataclass
class RecordingDisk(Disk):
    """A disk that notes what it is asked."""

    steps: list[tuple[Any, ...]] = field(default_factory=list)

    def create(self, folder: str, name: str) -> tuple[int, str]:
        result = super().create(folder, name)
        self.steps.append(("create", result[1]))
        return result

    def write(self, descriptor: int, offset: int, data: Any) -> int:
        self.steps.append(("write", offset, bytes(data)))
        return super().write(descriptor, offset, data)

    def sync(self, descriptor: int) -> None:
        self.steps.append(("sync",))
        super().sync(descriptor)

    def give_name(self, descriptor: int, folder: str, name: str) -> str:
        path = super().give_name(descriptor, folder, name)
        self.steps.append(("name", path))
        return path

    def rename(self, source: str, target: str) -> None:
        self.steps.append(("rename", source, target))
        super().rename(source, target)

    def sync_folder(self, folder: str) -> None:
        self.steps.append(("sync_folder",))
        super().sync_folder(folder)


def contents(writes: list[tuple[Any, ...]], kept: list[bool], torn: int) -> bytes:
    """A file of which some writes have reached the disk, the last of them only so far."""
    data = bytearray()
    for i, ((_, offset, part), there) in enumerate(zip(writes, kept, strict=True)):
        if there:
            part = part[:torn] if i == len(writes) - 1 and torn >= 0 else part
            data += bytes(max(offset + len(part) - len(data), 0))
            data[offset : offset + len(part)] = part
    return bytes(data)


def crash_states(steps: list[tuple[Any, ...]], rng: random.Random):
    """What the disk can hold when the machine stops: whether the name is the new file's, and its bytes.

    Writes that weren't synced may be there or not, each for itself, the last one in part; a renaming that wasn't synced
    as well.
    """
    for end in range(len(steps) + 1):
        part = steps[:end]
        writes = [step for step in part if step[0] == "write"]
        synced = [step[0] for step in part].count("sync") > 0
        renamed = any(step[0] == "rename" for step in part)
        certain = any(step[0] == "sync_folder" for step in part)
        for is_new in {certain, renamed}:
            if synced:
                yield is_new, contents(writes, [True] * len(writes), -1), certain
                continue
            for _ in range(12):
                values = [rng.random() < 0.7 for _ in writes]
                yield is_new, contents(writes, values, rng.choice([-1, 0, 1, 1000])), certain


@pytest.mark.parametrize("name", ["x.pt", "x.safetensors"])
def test_every_crash_state_loads_the_old_or_the_new_one(tmp_path, monkeypatch, name):
    path = tmp_path / name
    save(OLD, path)
    old = path.read_bytes()
    disk = RecordingDisk()
    monkeypatch.setattr(atomic, "Disk", lambda: disk)
    save(NEW, path)
    monkeypatch.undo()
    kinds = [step[0] for step in disk.steps]
    assert kinds.index("sync") > max(i for i, kind in enumerate(kinds) if kind == "write")
    assert kinds[-2:] == ["rename", "sync_folder"]
    after, records = tmp_path / f"after{path.suffix}", []
    for is_new, data, certain in crash_states(disk.steps, random.Random(1)):
        after.write_bytes(data if is_new else old)
        loaded = load(after)
        assert is_state(loaded, NEW if is_new else OLD)
        assert is_new or not certain
        records.append(is_new)
    assert set(records) == {True, False} and len(records) > 30


# ---- the system's own calls misbehave


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    """A library that makes calls of the system fail, or do less than they were asked."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("needs a C compiler to stand between Python and the system")
    target = tmp_path_factory.mktemp("shim") / "faults.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", target, HERE / "faults.c", "-ldl"], check=True)
    return target


PROGRAM = """
import sys, os, tl_checkpoint, tl_core as tl
state = {"a": tl.arange(500_000), "b": tl.ones(7)}
try:
    tl_checkpoint.save(state, sys.argv[1])
    print("saved")
except OSError as error:
    print("OSError", error.errno)
"""


def run_with(shim: Path, path: Path, **faults: str) -> str:
    environment = {**os.environ, "LD_PRELOAD": str(shim), **faults}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.strip()


@pytest.mark.parametrize("call", ["pwrite", "fsync", "rename", "linkat"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_calls_that_fail(tmp_path, shim, call, number):
    path = tmp_path / "x.pt"
    save(OLD, path)
    assert run_with(shim, path, FAULT_CALL=call, FAULT_ERRNO=str(number)) == f"OSError {number}"
    assert is_state(load(path), OLD)
    assert os.listdir(tmp_path) == ["x.pt"]


@pytest.mark.parametrize("size", ["1000", "65537"])
def test_short_writes_are_continued(tmp_path, shim, size):
    path = tmp_path / "x.pt"
    assert run_with(shim, path, FAULT_SHORT=size, FAULT_EINTR="3") == "saved"
    loaded = load(path)
    assert tl.equal(loaded["a"], tl.arange(500_000)) and tl.equal(loaded["b"], tl.ones(7))


# ---- kills


@pytest.mark.parametrize("name", ["state.pt", "state.safetensors"])
def test_killed_saves(tmp_path, name):
    last, later, faults = kill.run(12, 5, tmp_path, name)
    assert faults == []
    assert last + later == 12
