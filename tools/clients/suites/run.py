"""Runs a suite with pytest in a process of its own, and in another where that one ends early."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tools.clients.__main__ import environment
from tools.clients.suites.table import Suite

PLUGIN = Path(__file__).parent / "plugin"
TEST_SECONDS = 120  # of the processor
HUNG_SECONDS = 900  # without a word, once there was one: the process is ended
COLLECT_SECONDS = 1200  # until the first


@dataclass(frozen=True)
class Ending:
    """How a test ended: passed, failed, skipped, expected (to fail), uncollected, crashed or hung; the error."""

    outcome: str
    message: str


def run(suite: Suite, folder: Path, record: Path, python: str, peer: bool) -> dict[str, Ending]:
    """How each test of a suite ends; `record` is the file that they are written to while they run."""
    record.unlink(missing_ok=True)
    while True:
        before = len(endings(record))
        ending = _process(suite, folder, record, python, peer)
        found = endings(record)
        unfinished = [name for name, end in found.items() if end.outcome == "begun"]
        for name in unfinished:
            _write(record, name, Ending(*ending))
        if not unfinished or len(found) == before:
            return endings(record)


def endings(record: Path) -> dict[str, Ending]:
    """What a record says of each test; a failure stands, whatever comes after it."""
    found: dict[str, Ending] = {}
    for line in record.read_text().splitlines() if record.exists() else ():
        said = json.loads(line)
        earlier = found.get(said["id"])
        if earlier is None or earlier.outcome not in ("failed", "uncollected"):
            found[said["id"]] = Ending(said["outcome"], said["message"])
    return found


def _write(record: Path, name: str, ending: Ending) -> None:
    with record.open("a") as file:
        file.write(json.dumps({"id": name, "outcome": ending.outcome, "message": ending.message}) + "\n")


def _process(suite: Suite, folder: Path, record: Path, python: str, peer: bool) -> tuple[str, str]:
    """Runs what the record lacks; says in what way the process ended, should a test have been running."""
    empty = record.with_suffix(".ini")  # the suite's own settings ask for plug-ins that measure coverage
    empty.write_text("[pytest]\n")
    command = [python, "-P", "-m", "pytest", "-q", "-c", str(empty), f"--rootdir={folder}"]
    command += ["-p", "tl_suite", "-p", "no:cacheprovider", "--tb=short", "--continue-on-collection-errors"]
    command += [f"--deselect={name}" for name in suite.left_out if "::" in name]
    variables = environment(**dict(suite.settings))
    variables |= {"TL_SUITE_RECORD": str(record), "TL_SUITE_SECONDS": str(TEST_SECONDS)}
    variables["TL_SUITE_SAMPLE"] = str(suite.sample)
    variables["PATH"] = f"{Path(python).parent}{os.pathsep}{variables['PATH']}"  # tests start "python"
    variables["PYTHONPATH"] = str(PLUGIN)
    variables["TL_SUITE_TORCH"] = str(int(peer))
    with record.with_suffix(".log").open("a") as log:
        return _watch(
            [*command, *suite.arguments, *_files(suite, folder)], folder / suite.at, variables, record, log
        )


def _files(suite: Suite, folder: Path) -> Iterable[str]:
    left_out = [folder / name for name in suite.left_out]
    for pattern in suite.files:
        for path in sorted(folder.glob(pattern)):
            if not any(path.is_relative_to(one) for one in left_out):
                yield str(path)


def _watch(
    command: list[str], folder: Path, environment: dict[str, str], record: Path, log: IO[str]
) -> tuple[str, str]:
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
    )
    said, since, limit = _size(record), time.monotonic(), COLLECT_SECONDS
    while process.poll() is None:
        time.sleep(0.2)
        if _size(record) != said:
            said, since, limit = _size(record), time.monotonic(), HUNG_SECONDS
        elif time.monotonic() - since > limit:
            process.kill()
            process.wait()
            return "hung", f"not done after {limit} s"
    return "crashed", f"the process ended with status {process.returncode}"


def _size(record: Path) -> int:
    return record.stat().st_size if record.exists() else 0
