"""Copies of tensors that a copy of the process makes: what they hold, and that nothing is left of it."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import tl_core as tl
from tl_core.memory.snapshot import Snapshot, can_snapshot
from tl_core.storage import UntypedStorage

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies processes as Linux does")
LARGE = 1 << 24


def children():
    """The processes that this one has begun and not waited for."""
    own = str(os.getpid())
    result = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    parent = file.read().rpartition(")")[2].split()[1]
            except OSError:
                continue
            result += [int(name)] if parent == own else []
    return result


def copied(*tensors):
    snapshot = Snapshot(tensors)
    for tensor in tensors:
        tensor.zero_()
    snapshot.fill()
    return snapshot.copies


@pytest.mark.parametrize("dtype", [tl.float32, tl.int8, tl.bool, tl.bfloat16, tl.complex128])
def test_copies_hold_what_was_there(dtype):
    tensors = [tl.arange(24).reshape(2, 3, 4), tl.tensor(7), tl.zeros(0, 3), tl.ones(1000)]
    tensors = [t.to(dtype) for t in tensors]
    expected = [t.clone() for t in tensors]
    for copy, value in zip(copied(*tensors), expected, strict=True):
        assert copy.dtype == dtype and copy.shape == value.shape and tl.equal(copy, value)
    assert not any((t != 0).any() for t in tensors)


def test_the_order_of_elements_is_kept():
    turned, last = (
        tl.arange(6.0).view(2, 3).t(),
        tl.rand(2, 3, 4, 5).contiguous(memory_format=tl.channels_last),
    )
    expected = last.clone()
    first, second = copied(turned, last)
    assert first.tolist() == [[0, 3], [1, 4], [2, 5]] and first.stride() == (1, 3)
    assert tl.equal(second, expected) and second.stride() == last.stride()


def test_what_a_copy_of_the_process_has(tmp_path):
    base = tl.arange(12.0).view(3, 4)
    assert all(map(can_snapshot, (base, base.t(), base[1:], base[0, :2], tl.tensor(1), base[:, :1][:1])))
    (tmp_path / "file").write_bytes(bytes(48))
    foreign = [
        base.clone().share_memory_(),
        tl.tensor([], dtype=tl.float32).set_(UntypedStorage.from_file(str(tmp_path / "file"), True, 48)),
        tl.frombuffer(mmap.mmap(-1, 48), dtype=tl.float32),
        tl.empty(3, device="meta"),
    ]
    loose = [base[:, 1:], base[::2], base[0].expand(5, 4)]
    assert not any(map(can_snapshot, foreign + loose))


def test_copies_in_a_program_with_threads():
    """Whatever locks they hold: allocating, printing, and Python's own."""
    stop = threading.Event()

    def work():
        while not stop.is_set():
            tl.rand(3000) @ tl.rand(3000)
            f"{bytearray(100_000)}"

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for k in range(60):
            tensor = tl.full((50_000,), float(k))
            (copy,) = copied(tensor)
            assert (copy == k).all()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert children() == []


def test_the_program_waits_for_its_own_children_only():
    came = []
    before = signal.signal(signal.SIGCHLD, lambda *_: came.append(1))
    try:
        snapshot = Snapshot([tl.ones(LARGE)])
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, 0)
        snapshot.fill()
        assert not came and children() == []
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        assert copied(tl.ones(3))[0].tolist() == [1, 1, 1]
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_nothing_is_left_of_a_snapshot_that_is_forgotten():
    for _ in range(5):
        Snapshot([tl.ones(LARGE)])
    assert children() == []


def test_signals_and_descriptors_do_not_reach_the_copy():
    """A Ctrl-C goes to all processes of the terminal, and who reads a pipe waits for its last writer."""
    reader, writer = os.pipe()
    snapshot = Snapshot([tl.ones(2 * LARGE)])
    os.close(writer)
    os.kill(snapshot._source[0], signal.SIGINT)
    os.kill(snapshot._source[0], signal.SIGTERM)
    assert os.read(reader, 1) == b""
    os.close(reader)
    snapshot.fill()
    assert (snapshot.copies[0] == 1).all()


def test_a_copy_that_is_killed():
    snapshot = Snapshot([tl.ones(LARGE)])
    os.kill(snapshot._source[0], signal.SIGKILL)
    with pytest.raises(ChildProcessError, match="was killed"):
        snapshot.fill()
    assert children() == []


def test_limits_are_errors():
    program = """
import resource, tl_core as tl
from tl_core.memory.snapshot import Snapshot
resource.setrlimit(resource.RLIMIT_NOFILE, (1, 1))
try:
    Snapshot([tl.ones(3)])
except OSError as error:
    print(error.strerror)
"""
    result = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert result.stdout == "Too many open files\n"


@pytest.mark.parametrize("more", ["", "if not os.fork(): time.sleep(60)"])
def test_the_copy_ends_with_the_program(more):
    """Also if other processes of the program's hold the pipe."""
    program = f"""
import os, time, tl_core as tl
from tl_core.memory.snapshot import Snapshot
snapshot = Snapshot([tl.ones(1 << 20)])
{more}
print(snapshot._source[0], flush=True)
time.sleep(60)
"""
    command = [sys.executable, "-c", program]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        copier = int(process.stdout.readline())
        assert not is_gone(copier, 0.1)
        process.kill()
        assert is_gone(copier, 20)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def is_gone(process, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with open(f"/proc/{process}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":  # left to who waits for orphans
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.005)
    return False
