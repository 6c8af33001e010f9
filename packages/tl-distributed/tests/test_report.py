"""Who stood where when a job stopped."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from tl_distributed import report
from tl_distributed._C import read_ring
from tl_distributed.backends.flight_recorder import Operation, Recording

SECOND = 10**9


def call(number, began, ended=0, name="all_reduce", text=None, stage=None, group="0"):
    text = f"{name} #{number}" if text is None else text
    return Operation(group, number, name, text, 4, began, ended, stage or ("done" if ended else "running"))


def test_who_is_missing():
    ranks = [Recording(r, 70 + r, [call(1, SECOND, 2 * SECOND), call(2, 3 * SECOND)]) for r in range(2)]
    ranks.append(Recording(2, 72, [call(1, SECOND, 2 * SECOND)]))
    assert report.lines(ranks, 5 * SECOND) == [
        "rank 0 (pid 70): in all_reduce #2 of group 0 for 2.0 s",
        "rank 1 (pid 71): in all_reduce #2 of group 0 for 2.0 s",
        "rank 2 (pid 72): last all_reduce #1 of group 0, done 3.0 s before",
        "group 0: ranks 0, 1 came to all_reduce #2, rank 2 did not; rank 2's last was all_reduce #1 (done)",
    ]


def test_who_called_something_else():
    ranks = [
        Recording(0, 70, [call(1, SECOND)]),
        Recording(1, 71, [call(1, SECOND, name="broadcast", text="broadcast #1 (3 float32, root 0)")]),
    ]
    assert report.lines(ranks, 2 * SECOND)[-1] == (
        "group 0: the ranks disagree: rank 0 called all_reduce #1, rank 1 called broadcast #1 (3 float32, root 0)"
    )


def test_who_is_slow():
    def rank(number, late):
        calls = [call(i, i * SECOND + late, i * SECOND + SECOND // 2) for i in range(1, 21)]
        return Recording(number, 70 + number, calls)

    slow = report.lines([rank(0, 0), rank(1, SECOND // 4), rank(2, 1000)], 30 * SECOND)
    assert slow[-1] == (
        "group 0: rank 1 is slow: it came last to 20 of 20 collectives, and all others waited 250 ms for it each "
        "time, of 1e+03 ms from one to the next"
    )
    even = report.lines([rank(0, 0), rank(1, 2000), rank(2, 1000)], 30 * SECOND)
    assert not any("slow" in line for line in even)


def test_files_that_are_none(tmp_path):
    with pytest.raises(ValueError, match="no flight recorder"):
        read_ring(b"something else")
    assert report.main([str(tmp_path)]) == 2
    folder = tmp_path / "job_x" / "attempt_0" / "0"
    folder.mkdir(parents=True)
    (folder / "flight_recorder").write_bytes(bytes(10))
    assert report.main([str(tmp_path)]) == 2


PROGRAM = """
import os, signal, sys, time
import tl_core as tl, tl_distributed as dist
dist.init_process_group("gloo")
rank, action = dist.get_rank(), sys.argv[1]
for i in range(12):
    if rank == 1 and action == "slow":
        time.sleep(0.02)
    dist.all_reduce(tl.ones(3))
if rank == 1 and action != "slow":
    if action == "die":
        time.sleep(0.5)  # until the other rank has come to the next collective
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)
if action != "slow":
    dist.broadcast(tl.ones(3), 0)
dist.destroy_process_group()
"""


def launch(tmp_path, action):
    program = tmp_path / "worker.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "tl_distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += ["--log-dir", str(tmp_path / "logs"), str(program), action]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def test_a_job_that_failed(tmp_path):
    job = launch(tmp_path, "die")
    _, errors = job.communicate(timeout=200)
    assert job.returncode == 1
    lines = report.of_folder(tmp_path / "logs")
    assert any(line.startswith("rank 0 ") and "broadcast #13" in line for line in lines)
    assert any(
        "rank 1's last was all_reduce #12" in line and "came to broadcast #13" in line for line in lines
    )
    assert "rank 1's last was all_reduce #12" in errors  # the launcher says so by itself


def test_a_job_that_hangs(tmp_path):
    job = launch(tmp_path, "hang")
    end = time.monotonic() + 30
    while True:
        assert time.monotonic() < end
        try:
            lines = report.of_folder(tmp_path / "logs")
        except FileNotFoundError:
            lines = []
        if any("came to broadcast #13" in line for line in lines):
            break
        time.sleep(0.05)
    assert any(line.startswith("rank 0 ") and "in broadcast #13" in line for line in lines)
    job.terminate()
    job.communicate(timeout=30)
    files = report.last_start(tmp_path / "logs")
    assert not any(os.path.islink(file) for file in files)  # what they did last has outlived them


def test_a_slow_rank(tmp_path):
    job = launch(tmp_path, "slow")
    job.communicate(timeout=200)
    assert job.returncode == 0
    assert any("rank 1 is slow" in line for line in report.of_folder(tmp_path / "logs"))


def test_a_worker_whose_recorder_is_blank(tmp_path):
    folder = tmp_path / "logs" / "job_x" / "attempt_0"
    memory = tmp_path / "memory"
    memory.write_bytes(bytes(224032))
    (folder / "0").mkdir(parents=True)
    (folder / "0" / "flight_recorder").symlink_to(memory)
    assert report.recordings(report.last_start(tmp_path / "logs")) == ([], False)


def test_a_folder_that_is_absent_or_has_no_records(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder '.*logs'"):
        report.last_start(tmp_path / "logs")
    with pytest.raises(FileNotFoundError, match="no flight_recorder below"):
        report.last_start(tmp_path)
