"""Kills a program that saves checkpoints, at random moments, and loads what is left.

    python kill_directories.py KIND --count 1000 --seed 0

KIND is "sharded" (one directory saved to again and again), "steps" (a directory a step, three kept), "async" or
"frozen" (the same in the background, where states are copied by the program or by a copy of the process). After every
kill the newest complete checkpoint must load, be all of one step, and be no older than the last one that was reported
saved, and no process may be left. The directory is kept from one kill to the next.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tl_checkpoint.distributed as sharded
import tl_core as tl

KINDS = ("sharded", "steps", "async", "frozen")
SIZES = (400_000, 3, 50_000)

PROGRAM = """
import sys
import tl_checkpoint.distributed as sharded, tl_core as tl
from tl_checkpoint.distributed import staging

folder, kind, begin, sizes = sys.argv[1], sys.argv[2], int(sys.argv[3]), eval(sys.argv[4])
checkpoints = sharded.CheckpointManager(folder, keep=3)
staging._is_quicker = lambda nbytes: kind == "frozen"
weights = [tl.zeros(n) for n in sizes]
before = None
for step in range(begin, begin + 100000):
    for weight in weights:
        weight.fill_(float(step))
    state = {"weights": weights, "step": step, "moments": {"deep": [{"m": weights[0] * 2}, {"step": step}]}}
    done = step
    if kind == "sharded":
        sharded.save(state, checkpoint_id=folder)
    elif kind == "steps":
        checkpoints.save(step, state)
    else:
        future = checkpoints.async_save(step, state)
        for weight in weights:
            weight.fill_(-1.0)
        if before is not None:
            before.result()
        before, done = future, step - 1
    print(done, flush=True)
"""


def load(folder: Path, kind: str) -> int:
    """Loads the newest complete checkpoint and returns its step; raises AssertionError if it is mixed."""
    weights = [tl.zeros(n) for n in SIZES]
    moments = {"deep": [{"m": tl.zeros(SIZES[0])}, {"step": -1}]}
    state = {"weights": weights, "step": -1, "moments": moments}
    if kind == "sharded":
        sharded.load(state, checkpoint_id=folder)
        newest = state["step"]
    else:
        newest = sharded.CheckpointManager(folder).load(state)
    step = state["step"]
    assert newest == step == moments["deep"][1]["step"], f"the steps {newest} and {step} are mixed"
    full = all(bool((weight == step).all()) for weight in weights)
    assert full and bool((moments["deep"][0]["m"] == 2 * step).all()), f"the tensors of step {step} are mixed"
    return int(step)


def kill_once(folder: Path, kind: str, begin: int, moment: float) -> int:
    """Runs the program, kills it some time after its first line; returns the last step it reported saved, or 0."""
    command = [sys.executable, "-c", PROGRAM, str(folder), kind, str(begin), repr(SIZES)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        reported = process.stdout.readline()
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        lines = [reported, *process.stdout.read().splitlines()]
    full = [line for line in lines if line.strip()]
    assert full, f"the program ended by itself with {process.returncode}"
    return int(full[-1]) if int(full[-1]) >= begin else 0


def left(folder: Path) -> int:
    """How many processes of killed programs are there a tenth of a second later."""
    time.sleep(0.1)
    result = 0
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has just ended
            result += str(folder).encode() in entry.read_bytes().split(b"\0")
    return result


def run(folder: Path, kind: str, count: int, seed: int) -> collections.Counter[str]:
    """Kills the program as often as asked; counts what was found."""
    draw = random.Random(seed)
    counts: collections.Counter[str] = collections.Counter()
    step = last = 0
    for _ in range(count):
        reported = kill_once(folder, kind, step + 1, draw.uniform(0, 0.15))
        must = max(reported, last)
        last = load(folder, kind) if must else 0
        counts["killed"] += 1
        counts["newer than reported"] += last > must
        counts["lost"] += last < must
        counts["processes left"] += left(folder) if kind == "frozen" else 0
        step = max(reported, last) + 1
    return counts


def main() -> int:
    """The program; returns its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = run(Path(folder), options.kind, options.count, options.seed)
    lost, there = result["lost"], result["processes left"]
    print(
        f"{options.kind}: {result['killed']} kills, all loaded, 0 mixed, {lost} lost, {there} processes left"
    )
    return 1 if lost or there else 0


if __name__ == "__main__":
    sys.exit(main())
