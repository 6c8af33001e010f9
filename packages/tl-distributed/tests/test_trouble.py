"""Jobs whose workers, agents and stores are killed; `TL_DISTRIBUTED_TROUBLE=full` makes the long run of it."""

from __future__ import annotations

import itertools
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tl_distributed.elastic.rendezvous.api import free_port

pytest.importorskip("tl_nn")

PROGRAM = Path(__file__).with_name("training_program.py")
RUN = [sys.executable, "-m", "tl_distributed.run"]


def train(folder, steps, options, kills=(), **variables):
    folder.mkdir(exist_ok=True)
    command = [*RUN, *options, str(PROGRAM), str(folder), str(steps), *kills]
    return subprocess.Popen(
        command, env={**os.environ, **variables}, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def outcome(folder):
    return (folder / "state.json").read_text()


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def processes_of(folder):
    """The processes that have a folder in their command line."""
    result = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if str(folder).encode() in words:
            result.append(int(path.parent.name))
    return result


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """What a training of so many steps on two ranks ends with, if nobody is killed."""
    result = {}

    def run(steps):
        if steps not in result:
            folder = tmp_path_factory.mktemp("unbroken")
            job = train(folder, steps, ["--standalone", "--nproc-per-node", "2"])
            _, errors = job.communicate(timeout=200)
            assert job.returncode == 0, errors
            result[steps] = outcome(folder)
        return result[steps]

    return run


def test_killed_workers(tmp_path, unbroken, times):
    count = times(200, 3)
    draw = random.Random(0)
    kills, step = [], 0
    for _ in range(count):
        step += draw.randint(0, 2)  # steps that an attempt makes before
        kills.append(f"{draw.randint(0, 1)}:{step}")
    steps = step + 2
    job = train(
        tmp_path / "job",
        steps,
        ["--standalone", "--nproc-per-node", "2", "--max-restarts", str(count)],
        kills,
    )
    _, errors = job.communicate(timeout=200 + 30 * count)
    assert job.returncode == 0, errors
    assert outcome(tmp_path / "job") == unbroken(steps)
    log = [line.split() for line in (tmp_path / "job" / "log").read_text().splitlines()]
    waits = [
        float(again[1]) - float(killed[1])
        for killed, again in itertools.pairwise(log)
        if killed[0] == "kill" and again[0] == "step"
    ]
    assert len(waits) == count
    print(f"{count} workers killed, median of {statistics.median(waits):.2f} s until the next step")
    assert not processes_of(tmp_path / "job")


def test_no_more_restarts_than_allowed(tmp_path):
    job = train(
        tmp_path / "job",
        9,
        ["--standalone", "--nproc-per-node", "2", "--max-restarts", "1"],
        ["0:1", "1:2", "0:3"],
    )
    _, errors = job.communicate(timeout=200)
    assert job.returncode == 1 and "restart 1 of 1" in errors and "rank      : 1" in errors
    assert (tmp_path / "job" / "log").read_text().count("kill") == 2


def agents(folder, steps, count, port, *more):
    options = ["--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{port}"]
    options += ["--rdzv-conf", "keep_alive_interval=0.2,heartbeat_timeout=1", "--max-restarts", "100", *more]
    return [train(folder, steps, options, TL_STEP_SECONDS="0.05") for _ in range(count)]


def steps_done(folder):
    path = folder / "state.json"
    return path.read_text().count("0x") if path.exists() else 0


def test_killed_agents(tmp_path, unbroken, times):
    """Agents that don't hold the store are killed, with SIGKILL; others take their place."""
    count, steps = times(20, 1), times(400, 30)
    folder, port = tmp_path / "job", free_port()
    first = agents(folder, steps, 1, port)[0]
    until(lambda: port_is_taken(port))
    second = agents(folder, steps, 1, port)[0]
    draw = random.Random(1)
    for _ in range(count):
        before = steps_done(folder)
        until(lambda: steps_done(folder) > before)  # noqa: B023
        time.sleep(draw.uniform(0, 0.3))
        workers = children(second.pid)
        second.kill()
        second.communicate()
        until(lambda: not any(map(runs, workers)), 30)  # noqa: B023 - they end with their agent
        second = agents(folder, steps, 1, port)[0]
    ends = [job.communicate(timeout=200)[1] for job in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], ends
    assert outcome(folder) == unbroken(steps)
    assert not processes_of(folder)


def test_a_killed_store_is_named(tmp_path):
    folder, port = tmp_path / "job", free_port()
    host = agents(folder, 10_000, 1, port)[0]
    until(lambda: port_is_taken(port))
    other = agents(folder, 10_000, 1, port)[0]
    until(lambda: steps_done(folder))
    killed = time.monotonic()
    host.kill()
    host.communicate()
    _, errors = other.communicate(timeout=200)
    assert other.returncode == 1
    assert re.search(rf"the store at localhost:{port} is lost|no server at localhost:{port}", errors), errors
    print(f"a lost store was named after {time.monotonic() - killed:.2f} s")
    assert not processes_of(folder)


def test_a_stopped_agent_is_taken_for_gone(tmp_path):
    folder, port = tmp_path / "job", free_port()
    first = agents(folder, 10_000, 1, port, "--nnodes", "1:2", "--rdzv-conf",
                   "keep_alive_interval=0.2,heartbeat_timeout=1,last_call_timeout=1")[0]  # fmt: skip
    until(lambda: port_is_taken(port))
    second = agents(folder, 10_000, 1, port, "--nnodes", "1:2")[0]
    until(lambda: steps_done(folder))
    workers = children(second.pid)
    for pid in (second.pid, *workers):
        os.kill(pid, signal.SIGSTOP)
    try:
        before = steps_done(folder)
        until(lambda: (folder / "log").read_text().count("step") > 1)
        until(lambda: steps_done(folder) > before)  # the others go on
    finally:
        for pid in (second.pid, *workers):
            os.kill(pid, signal.SIGKILL)
        first.terminate()
        for job in (first, second):
            job.communicate(timeout=200)


def port_is_taken(port):
    import socket

    with socket.socket() as link:
        return link.connect_ex(("localhost", port)) == 0


def children(pid):
    result = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in result]


def runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
