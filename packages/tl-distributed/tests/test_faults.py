"""What happens to the others when a rank dies, stands still, or is interrupted."""

from __future__ import annotations

import itertools
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from rank_program import OPERATIONS

PROGRAM = Path(__file__).with_name("rank_program.py")


class Job:
    """Processes that run `rank_program.py`: a context that ends them."""

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

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self.ranks:
            process.kill()
            process.communicate()


@pytest.fixture
def job(tmp_path):
    with ExitStack() as jobs:
        yield lambda *arguments, **more: jobs.enter_context(Job(tmp_path, *arguments, **more))


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


def drawn(draw, cases, count):
    """As many of the cases, each as often as the others."""
    rounds = [draw.sample(cases, len(cases)) for _ in range(-(-count // len(cases)))]
    return list(itertools.chain(*rounds))[:count]


def test_kills_during_every_operation(tmp_path, transport, times):
    """540 for each transport in the long run: no survivor may hang, and each names the dead rank."""
    draw = random.Random(transport)
    cases = list(itertools.product(OPERATIONS, (2, 3, 4), ("before", "inside", "between")))
    slowest = 0.0
    for number, (operation, size, moment) in enumerate(drawn(draw, cases, times(540, 6))):
        folder = tmp_path / str(number)
        folder.mkdir()
        with Job(folder, size, f"{operation}:{moment}") as here:
            time.sleep(draw.uniform(0, 0.1))
            killed, dead = time.time(), here.ranks[-1]
            dead.kill()
            for rank in range(size - 1):
                said = here.outcome(rank)
                found = re.search(
                    rf"([\d.]+) [\d.]+ DistBackendError: .*rank {size - 1} \(pid {dead.pid}\b", said
                )
                assert found, (operation, size, moment, said)
                slowest = max(slowest, float(found[1]) - killed)
    print(f"{transport}: {number + 1} killed, all named, the slowest after {slowest:.2f} s")


def test_the_first_to_die_is_named_where_others_are_ended_because_of_it(tmp_path, monkeypatch, times):
    """An agent ends the ranks beside one that died, rank 0 among them: it stands still, and passes nothing on."""
    monkeypatch.setenv("TL_DISTRIBUTED_TRANSPORT", "tcp")
    draw = random.Random(5)
    pairs = {
        "before": [(3, 0), (3, 1)],
        "inside": [(1, 0), (0, 1), (3, 0)],
        "between": [(2, 0), (0, 1), (3, 2)],
    }
    cases = [
        (operation, moment, pair, pause)
        for operation, (moment, every) in itertools.product(OPERATIONS, pairs.items())
        for pair, pause in itertools.product(every, (0.02, 0.05, 0.3))
    ]
    for number, (operation, moment, (first, second), pause) in enumerate(drawn(draw, cases, times(300, 4))):
        folder = tmp_path / str(number)
        folder.mkdir()
        with Job(folder, 4, f"{operation}:{moment}", timeout=60) as here:
            time.sleep(draw.uniform(0, 0.1))
            here.ranks[second].send_signal(signal.SIGSTOP)
            here.ranks[first].kill()
            here.ranks[first].wait()  # a busy machine takes its time
            time.sleep(pause)
            here.ranks[second].kill()
            for rank in {0, 1, 2, 3} - {first, second}:
                said = here.outcome(rank)
                named = rf"DistBackendError: .*rank {first} \(pid {here.ranks[first].pid}\b"
                assert re.search(named, said), (operation, moment, first, second, pause, said)


def test_interrupts_during_every_operation(tmp_path, transport, times):
    draw = random.Random(transport)
    for number, operation in enumerate(drawn(draw, list(OPERATIONS), times(50, 2))):
        folder = tmp_path / str(number)
        folder.mkdir()
        with Job(folder, 2, f"{operation}:before") as here:
            time.sleep(draw.uniform(0, 0.1))
            here.ranks[0].send_signal(signal.SIGINT)
            assert here.outcome(0) == "interrupted\n", operation


def test_a_stopped_rank_is_named_when_the_time_is_over(job, transport):
    here = job(2, "small", timeout=1)
    here.ranks[1].send_signal(signal.SIGSTOP)
    said = here.outcome(0)
    assert re.search(rf"rank 1 \(pid {here.ranks[1].pid}( on \S+)?\)", said), said
    assert "reached its timeout of 1 s in all_reduce" in said


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
