"""Programs in fresh processes: time and peak memory."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

from tools.bench.cases import Program
from tools.bench.pair import Measured, Side, environment
from tools.packages import ROOT

ROUNDS = 5
# The peak is read inside: what wait4 tells of it includes the memory of the process that forked.
PEAK = "\nimport sys; sys.stdout.write(open('/proc/self/status').read())"


@dataclass(frozen=True)
class Run:
    """One run of a program: seconds of wall-clock and CPU time, bytes at the peak."""

    wall: float
    cpu: float
    peak: int


def run(side: Side, program: Program, env: dict[str, str]) -> Run:
    """Runs a program once; raises RuntimeError if it fails."""
    text = program.text.replace("import torch", f"import {side.module} as torch") + PEAK
    started = time.perf_counter()
    process = subprocess.Popen(
        [side.python, "-c", text],
        cwd="/",
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    with process.stdout as pipe:
        output = pipe.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    peak = re.search(r"VmHWM:\s+(\d+) kB", output)
    if process.returncode or peak is None:
        raise RuntimeError(f"{side.module}: {(output.splitlines() or ['no output'])[-1]}")
    return Run(wall, usage.ru_utime + usage.ru_stime, int(peak[1]) * 1024)


def measure(
    ours: Side, peer: Side, program: Program, threads: int, clock: str, unpinned: bool
) -> list[Measured]:
    """Time (the fastest of each round, A B B A) and peak memory of a program."""
    env = {k: v for k, v in environment(threads, unpinned).items() if k != "PYTHONPATH"}
    name, group = program.name, "fresh process"
    rounds = []
    try:
        for side in (ours, peer):
            run(side, program, env)  # files come into the cache
        for _ in range(ROUNDS):
            a, b, c, d = (run(side, program, env) for side in (ours, peer, peer, ours))
            times = [getattr(r, clock) for r in (a, b, c, d)]
            rounds.append((min(times[0], times[3]), min(times[1], times[2]), a.peak, b.peak))
    except RuntimeError as error:
        limits = (("time", program.time), ("peak memory", program.memory))
        return [Measured(f"{name}: {what}", group, limit, error=str(error)) for what, limit in limits]
    columns = [statistics.median(column) for column in zip(*rounds, strict=True)]
    ratio = statistics.median(a / b for a, b, _, _ in rounds)
    return [
        Measured(f"{name}: time", group, program.time, columns[0], columns[1], ratio),
        Measured(
            f"{name}: peak memory", group, program.memory, columns[2], columns[3], columns[2] / columns[3]
        ),
    ]


def cold_build(folder: str) -> float:
    """CPU seconds, user and system, of building all packages from nothing, in a copy and without a compiler cache."""
    program = f"""
import os, shutil, sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from tools import wheels
from tools.packages import ROOT, packages
python = wheels.build_environment(list(packages().values()))
root = Path({folder!r})
for name in ("packages", "dist"): shutil.rmtree(root / name, ignore_errors=True)
made = shutil.ignore_patterns("build", "vendor", "__pycache__", "*.so")
shutil.copytree(ROOT / "packages", root / "packages", ignore=made)
before = os.times()
for package in packages(root).values():
    wheels.build(package, python, root / "dist" / package.dist)
after = os.times()
print("cpu", after.children_user + after.children_system - before.children_user - before.children_system)
"""
    env = {**os.environ, "CCACHE_DISABLE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, check=True, stdout=subprocess.PIPE, text=True
    )
    return float(done.stdout.split()[-1])


def installed_bytes(side: Side, dists: list[str]) -> int:
    """The size of all files of the given distributions in an environment."""
    program = (
        "import sys; from importlib.metadata import files\n"
        "print(sum(f.locate().stat().st_size for d in sys.argv[1:] for f in files(d) or [] if f.locate().exists()))"
    )
    done = subprocess.run([side.python, "-c", program, *dists], check=True, stdout=subprocess.PIPE, text=True)
    return int(done.stdout)
