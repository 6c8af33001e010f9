"""A save that fails leaves the file that was there."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time

import pytest

import tl_checkpoint
import tl_core as tl


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.pt"
    tl_checkpoint.save(tl.ones(2), path)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        tl_checkpoint.save(tl.zeros(2), path)
    monkeypatch.undo()
    assert tl_checkpoint.load(path).tolist() == [1, 1] and os.listdir(tmp_path) == ["x.pt"]


def test_an_object_that_cannot_be_pickled_writes_nothing(tmp_path):
    with pytest.raises(Exception, match="pickle"):
        tl_checkpoint.save(lambda: 0, tmp_path / "x.pt")
    assert os.listdir(tmp_path) == []


def test_links_are_followed_and_modes_kept(tmp_path):
    real, link = tmp_path / "real.pt", tmp_path / "link.pt"
    tl_checkpoint.save(tl.ones(1), real)
    real.chmod(0o640)
    link.symlink_to(real)
    tl_checkpoint.save(tl.zeros(1), link)
    assert link.is_symlink() and tl_checkpoint.load(real).tolist() == [0]
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_device_is_written_as_it_is():
    tl_checkpoint.save(tl.ones(1), os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


PROGRAM = """
import sys, tl_checkpoint, tl_core as tl
for step in range(1, 100000):
    tl_checkpoint.save({"step": step, "w": tl.full((200_000,), float(step))}, sys.argv[1])
    print(step, flush=True)
"""


@pytest.mark.parametrize("moment", [0.0, 0.003, 0.008, 0.02, 0.05])
def test_a_killed_save_leaves_a_whole_file(tmp_path, moment):
    path = tmp_path / "x.pt"
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(path)], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        for _ in range(3):
            last_step = int(process.stdout.readline())
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
    state = tl_checkpoint.load(path)
    assert state["step"] >= last_step and bool((state["w"] == state["step"]).all())
