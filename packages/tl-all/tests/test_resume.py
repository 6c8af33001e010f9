"""Trainings that are killed at random steps and resumed end with the bits of one that was never killed."""

import random
import signal
import subprocess
import sys
from importlib.util import find_spec

import pytest

pytestmark = pytest.mark.skipif(
    find_spec("sklearn") is None or find_spec("tqdm") is None, reason="the extra `examples` is not installed"
)

# Kills itself in the middle of a step: after the step's number has been counted and, every few steps, a save begun.
PROGRAM = """
import importlib, os, sys
from tl.examples import _resume, corpus

name, deadly = sys.argv[1], int(sys.argv[2])
text = corpus.encode("def add(a, b):\\n    return a + b\\n" * 40)
corpus.read = lambda: corpus.Corpus(text, text[:600])
counted = _resume.Checkpoints.step

def step(self):
    counted(self)
    step.done += 1
    if step.done == deadly:
        os.kill(os.getpid(), 9)

step.done = 0
_resume.Checkpoints.step = step
sys.exit(importlib.import_module(f"tl.examples.{name}").main(sys.argv[3:]))
"""
DIGITS = ["--epochs=2", "--batch-size=100"]  # 30 steps
LSTM = ["--steps=60", "--batch-size=4", "--length=8", "--layers=2", "--width=16"]
RESNET = ["--epochs=1", "--batch-size=100"]  # 15 steps
GPT = ["--steps=30", "--batch-size=2", "--context=16", "--layers=1", "--heads=2", "--width=16", "--sample=8"]


def run(name, options, folder, deadly=0):
    """Runs an example until it ends, or kills itself at a step; returns whether it ended."""
    command = [sys.executable, "-c", PROGRAM, name, str(deadly), "--quiet", *options]
    command += [f"--checkpoint={folder}", "--resume", "--every=2"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert process.returncode in (0, -signal.SIGKILL), process.stderr
    return process.returncode == 0


def outcome(folder):
    """All that the last checkpoint holds, in bits: model, optimizer, generator, losses."""
    from tl.distributed.checkpoint import CheckpointManager
    from tl.distributed.checkpoint.state_dict_loader import _load_state_dict_from_keys

    manager = CheckpointManager(folder)
    state = _load_state_dict_from_keys(checkpoint_id=manager.directory(manager.latest()))
    seconds = state["record"].pop("seconds", 0)
    assert seconds >= 0 and state["record"]["losses" if "losses" in state["record"] else "learned"]
    return {name: bits(value) for name, value in leaves(state)}


def leaves(value, name=""):
    if isinstance(value, (dict, list)):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(entry, f"{name}.{key}")
    else:
        yield name, value


def bits(value):
    import tl

    if isinstance(value, tl.Tensor):
        return (
            value.dtype,
            value.shape,
            bytes(memoryview(value.detach().contiguous().view(-1).view(tl.uint8))),
        )
    return value.hex() if isinstance(value, float) else value


@pytest.mark.parametrize(
    ("name", "options", "kills", "furthest"),
    [("digits", DIGITS, 3, 9), ("lstm", LSTM, 3, 20), ("resnet", RESNET, 2, 6), ("gpt", GPT, 2, 12)],
)
def test_ten_kills_change_no_bit(tmp_path, name, options, kills, furthest):
    assert run(name, options, tmp_path / "unbroken")
    draw = random.Random(name)
    for _ in range(kills):
        assert not run(name, options, tmp_path / "killed", deadly=draw.randint(1, furthest))
    assert run(name, options, tmp_path / "killed")
    unbroken, killed = outcome(tmp_path / "unbroken"), outcome(tmp_path / "killed")
    assert unbroken.keys() == killed.keys()
    assert [key for key in unbroken if unbroken[key] != killed[key]] == []


def test_what_can_not_be_resumed(tmp_path):
    folder = tmp_path / "run"
    assert run("digits", ["--epochs=1", "--batch-size=500"], folder)
    command = [sys.executable, "-m", "tl.examples.digits", "--quiet", "--epochs=1", f"--checkpoint={folder}"]
    for arguments, text in (
        (["--batch-size=500"], "has checkpoints: add --resume, or name another folder"),
        (["--batch-size=400", "--resume"], "was begun with batch_size=500, not 400"),
    ):
        process = subprocess.run(
            [*command, *arguments], capture_output=True, text=True, timeout=300, check=False
        )
        assert process.returncode == 1 and text in process.stderr and "Traceback" not in process.stderr
