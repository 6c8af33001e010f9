"""What happens to the others when a rank dies, stands still, or is interrupted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("rank_program.py")


class Job:
    """Processes that run `rank_program.py`."""

    def __init__(self, folder: Path, size: int, action: str, timeout: float = 20):
        command = [sys.executable, str(PROGRAM), str(folder / "store")]
        self.ranks = [
            subprocess.Popen(
                [*command, str(rank), str(size), action, str(timeout)],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for rank in range(size)
        ]
        for process in self.ranks:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("ready"), line + process.stdout.read()

    def outcome(self, rank: int) -> str:
        """What a rank said."""
        process = self.ranks[rank]
        assert process.stdout is not None
        timer = threading.Timer(30, process.kill)
        timer.start()
        said = process.stdout.read()  # communicate() would miss what the line before has read
        timer.cancel()
        return said

    def end(self) -> None:
        for process in self.ranks:
            process.kill()
            process.communicate()


@pytest.fixture
def job(tmp_path):
    made = []

    def start(*arguments, **more):
        made.append(Job(tmp_path, *arguments, **more))
        return made[-1]

    yield start
    for each in made:
        each.end()


@pytest.mark.parametrize(
    ("size", "action"), [(2, "small"), (3, "large"), (2, "arena"), (3, "wait"), (2, "receive")]
)
def test_a_killed_rank_is_named_at_once(job, size, action, transport):
    here = job(size, action)
    time.sleep(0.1)
    killed = time.time()
    here.ranks[-1].kill()
    for rank in range(size - 1):
        said = here.outcome(rank)
        found = re.match(r"([\d.]+) [\d.]+ DistBackendError: (.*)", said)
        assert found, said
        assert re.search(rf"rank {size - 1} \(pid {here.ranks[-1].pid}( on \S+)?\) died", found[2]), said
        limit = 0.2 if transport == "memory" else 1.0
        assert float(found[1]) - killed < limit * max(1, size - 1) + 0.3  # the machine may be busy
    assert not [name for name in os.listdir("/dev/shm") if name.startswith("tl-")]


def test_a_stopped_rank_is_named_when_the_time_is_over(job, transport):
    here = job(2, "small", timeout=1)
    here.ranks[1].send_signal(signal.SIGSTOP)
    said = here.outcome(0)
    assert re.search(rf"rank 1 \(pid {here.ranks[1].pid}( on \S+)?\).*\(timeout\)", said), said
    assert "waited 1 s in all_reduce" in said


def test_ctrl_c_ends_a_wait(job, transport):
    here = job(2, "wait")
    time.sleep(0.1)
    began = time.monotonic()
    here.ranks[0].send_signal(signal.SIGINT)
    assert here.outcome(0) == "interrupted\n"
    assert time.monotonic() - began < 1.5


def test_a_forked_child_is_no_rank(job, transport):
    here = job(2, "fork")
    said = here.outcome(0)
    assert "child: this process was forked after its group had been made" in said
    assert "parent went on after 7" in said
