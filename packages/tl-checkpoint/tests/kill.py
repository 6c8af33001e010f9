"""Kills saves at random points: `python kill.py --count 1000`.

A child saves one state after the other over the only file, and is killed with SIGKILL after a random time. The newest
state that the child said was complete, or one begun later, must load then, bit-equal, and no scratch file may be taken
for a checkpoint. Prints the counts; the exit status is 1 if one was lost.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tl_checkpoint
import tl_core as tl
from tl_checkpoint import safetensors

SIZES = [1, 1000, 70_000, 300_000]


def state(step: int) -> dict[str, Any]:
    """What is saved at a step; every value follows from the step."""
    size = SIZES[step % len(SIZES)]
    return {
        "step": tl.tensor(step),
        "weight": tl.arange(size) * 7 + step,
        "bias": tl.full((33,), float(step)),
    }


def is_whole(loaded: dict[str, Any], step: int) -> bool:
    """Whether what was loaded is that step's state, bit by bit."""
    expected = state(step)
    return list(loaded) == list(expected) and all(tl.equal(loaded[name], expected[name]) for name in expected)


def save_forever(path: Path, start: int, done: int) -> None:
    """Saves states until it is killed; says after each that it is complete."""
    save: Callable[[Any, Path], Any] = (
        safetensors.save_file if path.suffix == ".safetensors" else tl_checkpoint.save
    )
    for step in range(start, start + 10**6):
        save(
            dict(sorted(state(step).items())) if path.suffix == ".safetensors" else state(step),
            path,
        )
        os.write(done, step.to_bytes(8, "little"))


def load(path: Path) -> dict[str, Any]:
    """What the file holds."""
    if path.suffix == ".safetensors":
        value = safetensors.load_file(path)
        return {name: value[name] for name in state(0)}
    return tl_checkpoint.load(path)


def kill_once(path: Path, start: int, rng: random.Random) -> tuple[int, int]:
    """Runs a child, kills it; returns the last step that it completed and the one that loads."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            save_forever(path, start, writer)
        os._exit(1)
    os.close(writer)
    first = os.read(reader, 8)
    time.sleep(rng.choice([rng.random() * 0.002, rng.random() * 0.01, rng.random() * 0.04]))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    text = first
    with open(reader, "rb") as pipe:
        text += pipe.read()
    completed = int.from_bytes(text[-8:], "little")
    loaded = load(path)
    step = int(loaded["step"].item())
    if not is_whole(loaded, step):
        raise RuntimeError(f"step {step} loads with other values")
    return completed, step


def run(count: int, seed: int, folder: Path, name: str = "state.pt") -> tuple[int, int, list[str]]:
    """Kills so many children; returns how often the last completed state was there, a later one, and the faults."""
    rng = random.Random(seed)
    path, step, last, later, faults = folder / name, 0, 0, 0, []
    for number in range(count):
        try:
            completed, result = kill_once(path, step + 1, rng)
        except Exception as error:
            faults.append(f"{number}: {type(error).__name__}: {error}")
            continue
        if result not in (completed, completed + 1):
            faults.append(f"{number}: step {completed} was complete, {result} loads")
        last, later, step = last + (result == completed), later + (result > completed), result + 1
        for scratch in folder.glob(".*.part"):
            scratch.unlink()
    return last, later, faults


def main() -> int:
    """Reads the arguments, and prints the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    lost = 0
    for name in ("state.pt", "state.safetensors"):
        with tempfile.TemporaryDirectory() as folder:
            last, later, faults = run(options.count // 2, options.seed, Path(folder), name)
        for fault in faults:
            print(fault)
        count = last + later + len(faults)
        print(
            f"{name}: {count} kills, {last} load the last complete state, {later} the next, {len(faults)} lost"
        )
        lost += len(faults)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
