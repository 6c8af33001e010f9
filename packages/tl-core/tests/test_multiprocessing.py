"""Tensors that go to other processes keep their memory; several processes run one function."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import tl_core as tl
from tl_core import multiprocessing as mp

PROGRAM = """
import os, signal, sys, time
import tl_core as tl
from tl_core import multiprocessing as mp

def count(number, shared, views, queue, go):
    shared[number] += 1
    views[1] += 10
    queue.put(tl.full((2,), float(number)))
    go.wait(60)

def fail(number):
    if number == 1:
        raise ValueError("boom")
    time.sleep(60)

def leave(number):
    os._exit(3)

def die(number):
    os.kill(os.getpid(), signal.SIGKILL)

def nothing(number, *args):
    assert args == ("x",)

if __name__ == "__main__":
    assert mp.spawn(nothing, ("x",), nprocs=2) is None

    context = mp.get_context("spawn")
    shared, base = tl.zeros(2), tl.zeros(4, 2)
    queue, go = context.SimpleQueue(), context.Event()
    started = mp.spawn(count, (shared, base[1::2], queue, go), nprocs=2, join=False)
    assert len(set(started.pids())) == 2
    got = sorted(queue.get().tolist() for _ in range(2))
    assert got == [[0, 0], [1, 1]], got
    assert started.join(timeout=0.01) is False
    go.set()
    while not started.join():
        pass
    assert started.join() is True
    assert shared.tolist() == [1, 1] and shared.is_shared()
    assert base[3].tolist() == [20, 20] and base[:3].sum() == 0, base

    begin = time.monotonic()
    for function, kind, text in [
        (fail, mp.ProcessRaisedException, "ValueError: boom"),
        (leave, mp.ProcessExitedException, "terminated with exit code 3"),
        (die, mp.ProcessExitedException, "terminated with signal SIGKILL"),
    ]:
        try:
            mp.start_processes(function, nprocs=2, start_method="spawn")
        except kind as error:
            assert text in str(error), error
            assert error.error_index in (0, 1) and error.pid > 0
        else:
            raise AssertionError(function)
    assert time.monotonic() - begin < 50
"""


def test_processes_that_run_one_function(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    process = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=120, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr


def sent(value):
    """What arrives at the other end of a pipe."""
    receiver, sender = mp.Pipe(duplex=False)
    sender.send(value)
    return receiver.recv()


def test_a_tensor_that_is_sent_keeps_its_memory():
    first = tl.zeros(2, 3)
    assert not first.is_shared()
    second = sent(first)
    second[1] = 5
    assert first.is_shared() and second.is_shared()
    assert first.tolist() == [[0, 0, 0], [5, 5, 5]]


@pytest.mark.parametrize("dtype", [tl.float32, tl.bfloat16, tl.int8, tl.bool, tl.complex128])
def test_every_geometry(dtype):
    base = tl.arange(24).to(dtype).view(4, 6)
    for view in (
        base,
        base.t(),
        base[1:, ::2],
        base[2, 3],
        base[:0],
        base.expand(2, 4, 6),
        tl.ones(0, dtype=dtype),
    ):
        received = sent(view)
        assert received.dtype == dtype and tl.equal(received, view)
        assert received.numel() == 0 or received.stride() == view.stride()


def test_two_views_stay_on_one_memory():
    base = tl.zeros(4)
    first, second = sent((base[:3], base[2:]))
    first[2] = 7
    assert second.tolist() == [7, 0] and base.tolist() == [0, 0, 7, 0]
    assert first.data_ptr() + 8 == second.data_ptr()


def test_parameters_and_gradients():
    received = sent(tl.Parameter(tl.ones(2), requires_grad=False))
    assert type(received) is tl.Parameter and not received.requires_grad
    pytest.importorskip("tl_autograd", reason="tl_autograd is not installed")
    leaf = tl.ones(2).requires_grad_()
    assert sent(leaf).requires_grad
    with pytest.raises(RuntimeError, match=r"no leaf.*send tensor\.detach"):
        sent(leaf * 2)


def test_storages():
    storage = tl.tensor([1, 2], dtype=tl.uint8).untyped_storage()
    received = sent(storage)
    received[0] = 9
    assert storage.tolist() == [9, 2]
    assert sent(tl.UntypedStorage(0)).nbytes() == 0


def test_a_storage_on_a_file_is_not_sent(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(b"abcd")
    storage = tl.UntypedStorage.from_file(str(path), shared=True, nbytes=4)
    with pytest.raises(RuntimeError, match="can't be sent to another process"):
        sent(storage)


def test_sharing_on_request():
    tensor = tl.arange(4)
    assert tensor.share_memory_() is tensor
    assert tensor.is_shared() and tensor[1:].is_shared() and tensor.tolist() == [0, 1, 2, 3]


def test_names_of_strategies():
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(AssertionError, match="got 'other'"):
        mp.set_sharing_strategy("other")


def test_the_standard_names_are_there():
    import multiprocessing

    assert all(getattr(mp, name) is getattr(multiprocessing, name) for name in multiprocessing.__all__)


def test_exceptions_can_be_sent():
    error = sent(mp.ProcessExitedException("left", 1, 20, -9, "SIGKILL"))
    assert (str(error), error.error_index, error.pid, error.exit_code, error.signal_name) == (
        "left", 1, 20, -9, "SIGKILL",
    )  # fmt: skip
    assert sent(mp.ProcessRaisedException("raised", 1, 20)).error_index == 1


SERVER = """
import os, sys, time
from tl_core import multiprocessing as mp

sent = []

class Slow:  # to be sent
    def __getstate__(self):
        begin = time.monotonic()
        time.sleep(0.3)
        sent.append((begin, time.monotonic()))
        return {}
    def __call__(self, number):
        pass

class Broken:
    def __getstate__(self):
        raise ValueError("cannot be sent")
    def __call__(self, number):
        pass

def fail(number):
    raise ValueError("boom")

if __name__ == "__main__":
    for parallel in ("0", "1"):
        os.environ[mp.ENV_VAR_PARALLEL_START] = parallel
        sent.clear()
        mp.start_processes(Slow(), nprocs=4, start_method="forkserver")
        sent.sort()
        overlap = [following[0] < earlier[1] for earlier, following in zip(sent, sent[1:])]
        assert overlap == [parallel == "1"] * 3, sent
    try:
        mp.start_processes(fail, nprocs=2, start_method="forkserver")
    except mp.ProcessRaisedException as error:
        assert "boom" in str(error)
    else:
        raise AssertionError
    for parallel in ("0", "1"):
        os.environ[mp.ENV_VAR_PARALLEL_START] = parallel
        try:
            mp.start_processes(Broken(), nprocs=2, start_method="forkserver")
        except ValueError as error:
            assert "cannot be sent" in str(error)
        else:
            raise AssertionError
    assert not mp.active_children()
    left = [name for name in os.listdir(os.environ["TMPDIR"]) if name.startswith("tl-process")]
    assert left == [], "no report stays"
"""


def test_a_forkserver_starts_processes_side_by_side(tmp_path):
    (tmp_path / "program.py").write_text(SERVER)
    (tmp_path / "reports").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "reports")}
    ran = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, env=environment, capture_output=True, text=True,
                         timeout=120)  # fmt: skip
    assert ran.returncode == 0, ran.stderr


def test_storages_by_their_address():
    from tl_core.multiprocessing.reductions import StorageWeakRef

    x = tl.ones(4)
    first, second = StorageWeakRef(x.untyped_storage()), StorageWeakRef(x[1:].untyped_storage())
    assert first == second and hash(first) == hash(second)
    assert first != StorageWeakRef(x.clone().untyped_storage())
    assert not first.expired()
    del x
    assert first.expired()
