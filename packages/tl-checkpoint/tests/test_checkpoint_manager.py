"""The checkpoints of a training: the newest complete one is found, as many as wanted are kept."""

from __future__ import annotations

import os

import pytest

import tl_checkpoint.distributed as sharded
import tl_core as tl
from tl_checkpoint.distributed import CheckpointManager


def state(step):
    return {"w": tl.full((50,), float(step)), "step": step}


def newest(manager):
    into = state(-1)
    step = manager.load(into)
    assert into["step"] == step and bool((into["w"] == step).all())
    return step


def test_as_many_as_wanted_are_kept(tmp_path):
    manager = CheckpointManager(tmp_path / "run", keep=2)
    assert manager.latest() is None and manager.steps() == []
    with pytest.raises(FileNotFoundError, match="no complete checkpoint"):
        manager.load({})
    for step in (1, 5, 10, 20):
        manager.save(step, state(step))
        assert newest(manager) == step
    assert manager.steps() == [10, 20] and sorted(os.listdir(tmp_path / "run")) == [
        "step_00000010",
        "step_00000020",
    ]
    assert manager.load(into := state(0), step=10) == 10 and into["step"] == 10


def test_all_are_kept_by_default(tmp_path):
    manager = CheckpointManager(tmp_path)
    for step in range(4):
        manager.async_save(step, state(step))
    manager.wait()
    assert manager.steps() == [0, 1, 2, 3]


def test_in_the_background(tmp_path):
    manager = CheckpointManager(tmp_path, keep=1)
    futures = [manager.async_save(step, state(step)) for step in range(5)]
    manager.wait()
    assert manager.steps() == [4] == [newest(manager)] and all(future.done() for future in futures)
    assert sorted(os.listdir(tmp_path)) == ["step_00000004"]


def test_what_is_incomplete_is_skipped(tmp_path):
    manager = CheckpointManager(tmp_path, keep=3)
    for step in (1, 2, 3, 4):
        manager.save(step, state(step))
    (tmp_path / "step_00000004" / ".metadata").unlink()  # killed before the end
    assert manager.latest() == 3
    (tmp_path / "step_00000003" / "__0_0.distcp").write_bytes(b"PK")  # lost in a copy
    with pytest.warns(UserWarning, match="step_00000003 is skipped: .* is cut off"):
        assert manager.latest() == 2
    (tmp_path / "step_00000009").mkdir()
    (tmp_path / "unrelated").mkdir()
    (tmp_path / "step_x").write_text("")
    with pytest.warns(UserWarning, match="skipped"):
        assert newest(manager) == 2
    with pytest.warns(UserWarning, match="skipped"):
        manager.save(10, state(10))
    # Complete ones are kept, not counted among them is what was damaged or left behind by kills.
    assert manager.steps() == [2, 10]
    assert sorted(os.listdir(tmp_path)) == ["step_00000002", "step_00000010", "step_x", "unrelated"]


def test_half_deleted_is_no_checkpoint(tmp_path, monkeypatch):
    manager = CheckpointManager(tmp_path, keep=1)
    manager.save(1, state(1))
    unlink, losses = os.unlink, []

    def die_after_one(path):
        if losses:
            raise OSError(5, "Input/output error")
        losses.append(os.path.basename(path))
        unlink(path)

    monkeypatch.setattr(os, "unlink", die_after_one)
    with pytest.raises(OSError, match="Input/output"):
        manager.save(2, state(2))
    monkeypatch.undo()
    assert losses == [".metadata"] and manager.steps() == [2] == [newest(manager)]


def test_a_failed_save_deletes_nothing(tmp_path):
    manager = CheckpointManager(tmp_path, keep=1)
    manager.save(1, state(1))
    with pytest.raises(sharded.CheckpointException):
        manager.save(2, {"bad": lambda: 0})
    future = manager.async_save(3, state(3), planner=Broken())
    with pytest.raises(sharded.CheckpointException, match="broken"):
        future.result()
    manager.wait()
    assert manager.steps() == [1] == [newest(manager)]


class Broken(sharded.DefaultSavePlanner):
    def create_local_plan(self):
        raise RuntimeError("broken")


def test_a_step_is_saved_again(tmp_path):
    manager = CheckpointManager(tmp_path, keep=1)
    for value in (1, 2):
        manager.save(7, {"step": value})
    assert manager.load(into := {"step": 0}) == 7 and into["step"] == 2


@pytest.mark.parametrize("keep", [0, -1])
def test_wrong_numbers(tmp_path, keep):
    with pytest.raises(ValueError, match="keep must be at least 1"):
        CheckpointManager(tmp_path, keep=keep)
    with pytest.raises(ValueError, match="step must not be negative"):
        CheckpointManager(tmp_path).save(-1, {})


def test_another_rank_deletes_at_once(tmp_path, recwarn, monkeypatch):
    """Each rank deletes the old checkpoints: one may be half gone, or gone, when the next rank comes to it."""
    manager = CheckpointManager(tmp_path, keep=1)
    for step in (1, 2):
        CheckpointManager(tmp_path).save(step, state(step))
    (tmp_path / "step_00000002" / "__0_0.distcp").unlink()  # its metadata is still there
    listed = manager._there()
    monkeypatch.setattr(manager, "_there", lambda: [0, *listed, 3])  # 0 was there
    manager.save(3, state(3))
    assert sorted(os.listdir(tmp_path)) == ["step_00000003"]
    assert not recwarn.list
