"""Groups of ranks of which one has no descriptors left: it is named on all ranks, and nothing stays open."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import tl_distributed as dist

PROGRAM = Path(__file__).with_name("descriptor_program.py")
SIZE = 3


def test_a_rank_without_descriptors_is_named_on_all_ranks(times):
    free = times(range(16), (0, 3, 8))
    store = dist.TCPStore("localhost", 0, is_master=True)
    jobs = [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), *map(str, (store.port, rank, SIZE, *free))],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(SIZE)
    ]
    outputs = [job.communicate(timeout=600)[0].splitlines() for job in jobs]
    assert [job.returncode for job in jobs] == [0] * SIZE, outputs
    refused = set()
    for case in zip(*outputs, strict=True):
        transport, victim, left, _, _ = case[0].split(" ", 4)
        if "sum" in case[0]:
            expected = rf"{transport} {victim} {left} 0 sum {SIZE}\.0"
        else:
            refused.add((transport, victim))
            expected = (
                rf"{transport} {victim} {left} 0 DistBackendError group \S+: rank {victim} "
                rf"\(pid {jobs[int(victim)].pid}\) can't take part: .*Too many open files.*ulimit -n.*"
            )
        assert all(re.fullmatch(expected, each) for each in case), case
    assert len(refused) == 2 * SIZE  # over memory and over a network, each rank once at least
