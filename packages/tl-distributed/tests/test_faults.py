"""What happens to the others when a rank dies, stands still, or is interrupted."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import select
import signal
import statistics
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from rank_program import OPERATIONS

SERVER = Path(__file__).with_name("rank_server.py")


class Rank:
    """A process that runs `rank_program.py`, known by its number and by what it writes."""

    def __init__(self, server: subprocess.Popen[str], pipe: Path, arguments: list[str]):
        os.mkfifo(pipe)
        request = {"pipe": str(pipe), "arguments": arguments, "environment": dict(os.environ)}
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        self.pid = int(server.stdout.readline())
        self._process = os.pidfd_open(self.pid)
        self.stdout = open(pipe)  # noqa: SIM115 - open as long as the rank

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._process, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self) -> None:
        assert select.select([self._process], [], [], 60)[0]

    def close(self) -> None:
        self.kill()
        self.wait()
        self.stdout.close()
        os.close(self._process)


class Job:
    """Processes that run `rank_program.py`: a context that ends them."""

    server: subprocess.Popen[str] | None = (
        None  # which starts them; it ends when this process closes its input
    )

    def __init__(self, folder: Path, size: int, action: str, timeout: float = 20):
        if Job.server is None:
            pipe = subprocess.PIPE
            Job.server = subprocess.Popen([sys.executable, SERVER], stdin=pipe, stdout=pipe, text=True)
        common = [str(size), action, str(timeout)]
        self.ranks = [
            Rank(Job.server, folder / f"rank{rank}", [str(folder / "store"), str(rank), *common])
            for rank in range(size)
        ]
        for process in self.ranks:
            line = process.stdout.readline()
            assert line.startswith("ready"), line + process.stdout.read()

    def outcome(self, rank: int) -> str:
        """What a rank said."""
        process = self.ranks[rank]
        timer = threading.Timer(30, process.kill)
        timer.start()
        output = process.stdout.read()
        timer.cancel()
        return output

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self.ranks:
            process.close()


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
        output = here.outcome(rank)
        match = re.match(r"([\d.]+) [\d.]+ DistBackendError: (.*)", output)
        assert match, output
        assert re.search(rf"rank {size - 1} \(pid {here.ranks[-1].pid}( on \S+)?\) died", match[2]), output
        limit = 0.2 if transport == "memory" else 1.0
        assert float(match[1]) - killed < limit * max(1, size - 1) + 0.3  # the machine may be busy
    assert not [name for name in os.listdir("/dev/shm") if name.startswith("tl-")]


def draw_cases(draw, cases, count):
    """As many of the cases, each as often as the others."""
    rounds = [draw.sample(cases, len(cases)) for _ in range(-(-count // len(cases)))]
    return list(itertools.chain(*rounds))[:count]


LIMITS = {"memory": 0.2, "network": 1.0}  # seconds until the last survivor has named the dead rank


def check_nothing_is_left(job):
    """No process of a job, and no shared memory of its own."""
    for process in job.ranks:
        until = time.monotonic() + 5
        while Path(f"/proc/{process.pid}").exists():
            assert time.monotonic() < until, process.pid
            time.sleep(0.01)
    assert not [name for name in os.listdir("/dev/shm") if name.startswith("tl-")]


def outcomes_of_a_kill(folder, size, work, victim, pause, **options):
    """Kills a rank after a pause: rank, output and wait of each survivor, whose output names the dead rank."""
    folder.mkdir()
    with Job(folder, size, work, **options) as here:
        time.sleep(pause)
        killed, dead = time.time(), here.ranks[victim]
        dead.kill()
        for rank in {*range(size)} - {victim}:
            output = here.outcome(rank)
            match = re.search(
                rf"([\d.]+) [\d.]+ DistBackendError: .*rank {victim} \(pid {dead.pid}\b", output
            )
            assert match, (work, size, victim, rank, output)
            yield rank, output, float(match[1]) - killed
            here.ranks[rank].wait()  # nobody else ends it
    check_nothing_is_left(here)


def test_kills_during_every_operation(tmp_path, transport, times):
    """540 for each transport in the long run: each survivor names the dead rank in time, and leaves nothing."""
    draw = random.Random(transport)
    cases = list(itertools.product(OPERATIONS, (2, 3, 4), ("before", "inside", "between")))
    waits: list[float] = []
    own = set()
    for number, (operation, size, moment) in enumerate(draw_cases(draw, cases, times(540, 6))):
        pause = draw.uniform(0, 0.1)
        victim = size - 1 if moment == "before" else draw.randrange(size)  # the last one stays away then
        killed = outcomes_of_a_kill(tmp_path / str(number), size, f"{operation}:{moment}", victim, pause)
        for _, output, wait in killed:
            assert output.endswith("\n0 descriptors left\n"), (operation, size, moment, victim, output)
            waits.append(wait)
        own.add(len(os.listdir("/proc/self/fd")))
    assert len(own) == 1
    late = [wait for wait in waits if wait > LIMITS[transport]]
    print(
        f"{transport}: {number + 1} killed, all named, the median after {statistics.median(waits):.3f} s, the slowest "
        f"after {max(waits):.2f} s; {len(late)} of {len(waits)} later than {LIMITS[transport]} s"
    )
    if times(True, False):
        assert not late


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
    for number, (operation, moment, (first, second), pause) in enumerate(
        draw_cases(draw, cases, times(300, 4))
    ):
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
                output = here.outcome(rank)
                named = rf"DistBackendError: .*rank {first} \(pid {here.ranks[first].pid}\b"
                assert re.search(named, output), (operation, moment, first, second, pause, output)


def test_a_rank_that_looks_late_names_the_first_to_die(tmp_path, monkeypatch, times):
    """It stands still until all others have gone: one died, one was ended because of it, one left after its error."""
    monkeypatch.setenv("TL_DISTRIBUTED_TRANSPORT", "tcp")
    draw = random.Random(6)
    cases = [
        (operation, moment, roles)
        for operation, moment in itertools.product(OPERATIONS, ("before", "inside", "between"))
        for roles in itertools.permutations(range(4))
        if moment != "before" or roles[0] == 3  # which stays away then
    ]
    cases_drawn = [("send", "before", (3, 0, 1, 2)), *draw_cases(draw, cases, times(100, 2))]
    for number, (operation, moment, (first, second, third, late)) in enumerate(cases_drawn):
        folder = tmp_path / str(number)
        folder.mkdir()
        with Job(folder, 4, f"{operation}:{moment}", timeout=60) as here:
            time.sleep(draw.uniform(0, 0.1))
            here.ranks[late].send_signal(signal.SIGSTOP)
            here.ranks[second].send_signal(signal.SIGSTOP)
            here.ranks[first].kill()
            here.ranks[first].wait()
            time.sleep(0.05)
            here.ranks[second].kill()
            here.ranks[second].wait()
            named = rf"DistBackendError: .*rank {first} \(pid {here.ranks[first].pid}\b"
            for rank in (third, late):
                here.ranks[rank].send_signal(signal.SIGCONT)
                output = here.outcome(rank)
                assert re.search(named, output), (operation, moment, first, second, third, late, rank, output)


def test_interrupts_during_every_operation(tmp_path, transport, times):
    draw = random.Random(transport)
    for number, operation in enumerate(draw_cases(draw, list(OPERATIONS), times(50, 2))):
        folder = tmp_path / str(number)
        folder.mkdir()
        with Job(folder, 2, f"{operation}:before") as here:
            time.sleep(draw.uniform(0, 0.1))
            here.ranks[0].send_signal(signal.SIGINT)
            assert here.outcome(0) == "interrupted\n0 descriptors left\n", operation


def test_stopped_ranks_are_named_when_the_time_is_over(tmp_path, transport, times):
    """50 for each transport in the long run, within 5 % of the timeout."""
    draw = random.Random(transport)
    names = [
        name for name in OPERATIONS if name not in ("send", "broadcast_object_list")
    ]  # which wait for nobody
    limit, waits = 2.0, []
    for number, operation in enumerate(draw_cases(draw, names, times(50, 2))):
        folder = tmp_path / str(number)
        folder.mkdir()
        with Job(folder, 2, f"{operation}:between", timeout=limit) as here:
            time.sleep(draw.uniform(0, 0.1))
            victim = draw.randrange(2) if operation in ("all_reduce", "all_gather", "barrier") else 1
            stopped = time.time()
            here.ranks[victim].send_signal(signal.SIGSTOP)
            output = here.outcome(1 - victim)
            match = re.search(
                rf"([\d.]+) [\d.]+ DistBackendError: .*rank {victim} \(pid {here.ranks[victim].pid}", output
            )
            assert match and "reached its timeout of 2 s" in output, (operation, victim, output)
            waits.append(float(match[1]) - stopped)
    print(
        f"{transport}: {len(waits)} stopped, all named after {min(waits):.3f} to {max(waits):.3f} s of {limit:g}"
    )
    if times(True, False):  # another machine may be busy
        assert all(abs(wait - limit) <= 0.05 * limit for wait in waits)


def test_a_stopped_rank_is_named_when_the_time_is_over(job, transport):
    here = job(2, "small", timeout=1)
    here.ranks[1].send_signal(signal.SIGSTOP)
    output = here.outcome(0)
    assert re.search(rf"rank 1 \(pid {here.ranks[1].pid}( on \S+)?\)", output), output
    assert "reached its timeout of 1 s in all_reduce" in output


def test_ctrl_c_ends_a_wait(job, transport):
    here = job(2, "wait")
    time.sleep(0.1)
    began = time.monotonic()
    here.ranks[0].send_signal(signal.SIGINT)
    assert here.outcome(0) == "interrupted\n0 descriptors left\n"
    assert time.monotonic() - began < 1.5


def test_a_forked_child_is_no_rank(job, transport):
    here = job(2, "fork")
    output = here.outcome(0)
    assert "child: this process was forked after its group had been made" in output
    assert "parent went on after 7" in output
