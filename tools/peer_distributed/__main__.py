"""Runs the tests of torch's `distributed_test.py` that speak of gloo and the CPU on several processes.

    python -m tools.peer_distributed FILE [--module tl] [--world 4] [-k REGEX] [--baseline FILE] [--json FILE]

FILE is shipped in torch's wheel as torch/testing/_internal/distributed/distributed_test.py; nothing of it is kept here.
It may also be a file or the folder of test/distributed/_tensor or test/distributed/tensor/parallel of torch's source.
`--module torch --json FILE` says which tests torch itself passes so; with `--baseline FILE` only those count.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import selectors
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PATIENCE = 30  # seconds that the others have when one process has failed
LONG = {"test_ddp_uneven_inputs": 300}


class Ranks:
    """The processes; they start again when a test has ended them."""

    def __init__(self, world: int, file: str, module: str, wheel: str = "", devices: int = 0):
        self._command = [sys.executable, "-u", str(HERE / "rank.py")]
        self._wheel, self._devices = wheel, devices or world
        self._world, self._file, self._module = world, file, module
        self.processes: list[subprocess.Popen[str]] = []

    def start(self) -> list[str]:
        """Starts them; returns the names of the tests."""
        env = {**os.environ, "WORLD_SIZE": str(self._world), "BACKEND": "gloo", "OMP_NUM_THREADS": "1"}
        env |= {"MASTER_ADDR": "127.0.0.1", "DEVICES": str(self._devices)}
        self.processes = [
            subprocess.Popen(
                [*self._command, str(rank), self._file, self._module, self._wheel],
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if rank else None,
                text=True,
            )
            for rank in range(self._world)
        ]
        names = [self._read(process) for process in self.processes]
        if not all(names):
            raise SystemExit("a process could not load the tests")
        return list(names[0]["tests"])

    @staticmethod
    def _read(process: subprocess.Popen[str]) -> dict[str, Any]:
        assert process.stdout is not None
        line = process.stdout.readline()
        return dict(json.loads(line)) if line else {}

    def stop(self) -> None:
        """Ends them."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.communicate()

    def run(self, name: str, limit: float) -> list[dict[str, Any]]:
        """Runs a test on all; what became of it, by rank."""
        with tempfile.TemporaryDirectory() as folder:
            for part in ("barrier", "test_dir", "init_dir"):
                Path(folder, part).mkdir()
            for process in self.processes:
                assert process.stdin is not None
                process.stdin.write(f"{name} {folder}\n")
                process.stdin.flush()
            said = self._collect(limit)
        if any(each["outcome"] in ("hung", "died") for each in said):
            self.stop()
            self.start()
        return said

    def _collect(self, limit: float) -> list[dict[str, Any]]:
        said: list[dict[str, Any]] = [{"outcome": "hung"} for _ in self.processes]
        end = time.monotonic() + limit
        with selectors.DefaultSelector() as selector:
            for rank, process in enumerate(self.processes):
                assert process.stdout is not None
                selector.register(process.stdout, selectors.EVENT_READ, rank)
            while selector.get_map() and (left := end - time.monotonic()) > 0:
                for key, _ in selector.select(left):
                    selector.unregister(key.fileobj)
                    said[key.data] = self._read(self.processes[key.data]) or {"outcome": "died"}
                    if said[key.data]["outcome"] not in ("passed", "skipped"):
                        end = min(end, time.monotonic() + PATIENCE)
        return said


def outcome_of(said: list[dict[str, Any]]) -> dict[str, Any]:
    """What became of a test, of all ranks together: the worst, of several failures the first in time."""
    for outcome in ("died", "failed", "hung", "skipped"):
        ranks = [rank for rank, each in enumerate(said) if each["outcome"] == outcome]
        if ranks:
            rank = min(ranks, key=lambda rank: said[rank].get("seconds", 0.0))
            return {**said[rank], "rank": rank}
    return said[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("file")
    parser.add_argument("--module", default="tl", choices=("tl", "torch"))
    parser.add_argument("--wheel", default="", help="the folder torch/testing/_internal of PyTorch's wheel")
    parser.add_argument("--world", type=int, default=4)
    parser.add_argument("--devices", type=int, default=0, help="the number of GPUs that tests see; --world")
    parser.add_argument("--limit", type=float, default=60, help="seconds for a test")
    parser.add_argument("-k", default="", help="the tests whose names match")
    parser.add_argument("--baseline", help="what torch passes: a file that --json wrote")
    parser.add_argument("--json", help="where to write what became of each test")
    parser.add_argument("--stacks", action="store_true", help="show the stacks of what failed")
    parser.add_argument("--at-least", type=float, default=0, help="fail below so many per cent")
    parser.add_argument(
        "--resume", action="store_true", help="keep what the file of --json has, and run the rest"
    )
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no test after so many")
    given = parser.parse_args()
    ranks = Ranks(given.world, given.file, given.module, given.wheel, given.devices)
    names = [name for name in ranks.start() if re.search(given.k, name)]
    if given.baseline:
        passed = {
            n for n, r in json.loads(Path(given.baseline).read_text()).items() if r["outcome"] == "passed"
        }
        names = [name for name in names if name in passed]
    found: dict[str, dict[str, Any]] = {}
    if given.resume and Path(given.json).exists():
        found = json.loads(Path(given.json).read_text())
    end = time.monotonic() + given.seconds
    for name in [name for name in names if name not in found]:
        if time.monotonic() > end:
            print("the time is over; --resume runs the rest")
            break
        found[name] = outcome_of(ranks.run(name, LONG.get(name, given.limit)))
        if given.json:  # after each test, so that a run that is ended leaves its results
            Path(given.json).write_text(json.dumps(found, indent=1))
        if found[name]["outcome"] not in ("passed", "skipped"):
            print(f"{found[name]['outcome']:7} {name}: {found[name].get('why', '')[:300]}", flush=True)
            if given.stacks:
                print(found[name].get("stack", ""), flush=True)
    ranks.stop()
    counts = Counter(each["outcome"] for each in found.values())
    ran = sum(counts.values()) - counts["skipped"]
    share = 100 * counts["passed"] / max(1, ran)
    print(f"{counts['passed']} of {ran} passed ({share:.1f} %), {counts['skipped']} need something else")
    return int(share < given.at_least)


if __name__ == "__main__":
    sys.exit(main())
