"""The backend `nccl` on a library that `fake_nccl.c` makes: the calls, their order, errors, the watch and the abort.

The library moves memory of the host between threads, so the tests say nothing of a device.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

import tl_core as tl
import tl_distributed as dist
from tl_distributed.backends import cuda_driver, nccl, nccl_library
from tl_distributed.backends.group_context import GroupContext
from tl_distributed.stores.store import HashStore

COMPILER = shutil.which("cc") or shutil.which("gcc")


@pytest.fixture(scope="module")
def library_file(tmp_path_factory):
    if COMPILER is None:
        pytest.skip("there is no C compiler")
    file = tmp_path_factory.mktemp("nccl") / "libfake.so"
    source = Path(__file__).with_name("fake_nccl.c")
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", file, source, "-lpthread"], check=True)
    return file


@pytest.fixture
def fake(library_file, monkeypatch):
    """The library, which the backend finds."""
    monkeypatch.setenv("TL_NCCL_LIBRARY", str(library_file))
    monkeypatch.setenv("TL_CUDA_DRIVER", str(library_file))
    library = ctypes.CDLL(str(library_file))
    library.fake_log.restype = ctypes.c_char_p
    return library


def on_ranks(size, body, seconds=30.0):
    """The results of a function of a backend and its rank, on ranks that are threads."""
    store = HashStore()

    def run(rank):
        context = GroupContext(rank, size, store, timedelta(seconds=seconds), "g", global_ranks=range(size))
        backend = nccl.NcclBackend(context)
        try:
            return body(backend, rank)
        finally:
            backend.close()

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(run, range(size)))


def values(rank, *shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) * (rank + 1) + rank


def logs(fake, since):
    """The calls of each rank of the communicators that were made last."""
    numbers = range(since, fake.fake_count())
    return {fake.fake_rank(i): fake.fake_log(i).decode().split() for i in numbers}


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (dist.ReduceOp.SUM, lambda x: x.sum(0)),
        (dist.ReduceOp.AVG, lambda x: x.mean(0)),
        (dist.ReduceOp.MAX, lambda x: x.max(0)),
        (dist.ReduceOp.MIN, lambda x: x.min(0)),
        (dist.ReduceOp.PRODUCT, lambda x: x.prod(0)),
    ],
)
def test_reductions(fake, op, expected):
    every = np.stack([values(rank, 3, 4) for rank in range(3)])

    def body(backend, rank):
        whole, transposed, one = tl.tensor(every[rank]), tl.tensor(every[rank].T).t(), tl.tensor(every[rank])
        backend.all_reduce(whole, op).wait()
        backend.all_reduce(transposed, op).wait()
        backend.reduce(one, 1, op).wait()
        part = tl.empty(2)
        pieces = [tl.tensor(values(rank, 2)) + 10.0 * i for i in range(3)]
        backend.reduce_scatter(part, pieces, op).wait()
        return whole.numpy(), transposed.numpy(), one.numpy(), part.numpy()

    for rank, (whole, transposed, one, part) in enumerate(on_ranks(3, body)):
        np.testing.assert_allclose(whole, expected(every), rtol=1e-6)
        np.testing.assert_allclose(transposed, expected(every), rtol=1e-6)
        np.testing.assert_allclose(one, expected(every) if rank == 1 else every[rank], rtol=1e-6)
        pieces = np.stack([values(r, 2) + 10.0 * rank for r in range(3)])
        np.testing.assert_allclose(part, expected(pieces), rtol=1e-6)


def test_numbers_of_other_types(fake):
    def body(backend, rank):
        numbers = tl.tensor([2**40 + rank, rank])
        backend.all_reduce(numbers, dist.ReduceOp.SUM).wait()
        flags = tl.tensor([rank == 0, False])
        backend.all_reduce(flags, dist.ReduceOp.SUM).wait()
        pairs = tl.tensor([complex(1, rank)])
        backend.all_reduce(pairs, dist.ReduceOp.SUM).wait()
        with pytest.raises(ValueError, match=r"Cannot use ReduceOp\.BAND with NCCL for tensors of .*int64"):
            backend.all_reduce(numbers, dist.ReduceOp.BAND)
        with pytest.raises(TypeError, match=r"can't reduce tensors of .*float8_e4m3fn"):
            backend.all_reduce(tl.zeros(2).to(tl.float8_e4m3fn), dist.ReduceOp.SUM)
        return numbers.tolist(), flags.tolist(), pairs.tolist()

    assert on_ranks(2, body) == [([2**41 + 1, 1], [True, False], [2 + 1j])] * 2


def test_copies(fake):
    def body(backend, rank):
        message = tl.tensor(values(1, 2, 3)) if rank == 1 else tl.zeros(2, 3)
        backend.broadcast(message, 1).wait()
        mine = tl.tensor(values(rank, 2))
        every, table = [tl.empty(2) for _ in range(3)], tl.empty(6)
        backend.all_gather(every, mine).wait()
        backend.all_gather_single(table, mine).wait()
        at_root = [tl.empty(2) for _ in range(3)] if rank == 2 else []
        backend.gather(at_root, mine, 2).wait()
        part = tl.empty(2)
        backend.scatter(part, [tl.tensor(values(r, 2)) for r in range(3)] if rank == 0 else [], 0).wait()
        results = [tl.empty(1) for _ in range(3)]
        backend.all_to_all(results, [tl.tensor([10.0 * rank + peer]) for peer in range(3)]).wait()
        words = [tl.empty(2) for _ in range(3)]
        backend.all_gather(words, mine.to(tl.bfloat16).to(tl.float32)).wait()
        backend.barrier().wait()
        return message.numpy(), every, table, at_root, part.numpy(), [x.item() for x in results]

    for rank, (message, every, table, at_root, part, results) in enumerate(on_ranks(3, body)):
        np.testing.assert_array_equal(message, values(1, 2, 3))
        for r in range(3):
            np.testing.assert_array_equal(every[r].numpy(), values(r, 2))
            np.testing.assert_array_equal(table.numpy()[2 * r : 2 * r + 2], values(r, 2))
        assert [x.tolist() for x in at_root] == (
            [values(r, 2).tolist() for r in range(3)] if rank == 2 else []
        )
        np.testing.assert_array_equal(part, values(rank, 2))
        assert results == [10.0 * peer + rank for peer in range(3)]


def test_messages_begin_together(fake):
    since = fake.fake_count()

    def body(backend, rank):
        mine, theirs = tl.tensor([float(rank)]), tl.empty(1)
        with backend.together():
            works = [backend.send(mine, 1 - rank, 0), backend.receive(theirs, 1 - rank, 0)]
            assert not any(work.is_completed() for work in works)
        for work in works:
            work.wait()
        with pytest.raises(NotImplementedError, match="recv of any rank"):
            backend.receive(theirs, None, 0)
        return theirs.item()

    assert on_ranks(2, body) == [1.0, 0.0]
    assert logs(fake, since)[0] == ["init", "send", "recv", "finalize", "destroy"]


def test_an_operation_is_under_way_until_all_ranks_call(fake):
    barrier = threading.Barrier(2)

    def body(backend, rank):
        backend.barrier().wait()
        x = tl.ones(3)
        if rank == 0:
            work = backend.all_reduce(x, dist.ReduceOp.SUM)
            before = work.is_completed()
            with pytest.raises(
                dist.DistBackendError, match=r"all_reduce of group g was not over after 0\.05 s"
            ):
                work.wait(timedelta(seconds=0.05))
        barrier.wait(10)
        if rank == 1:
            work, before = backend.all_reduce(x, dist.ReduceOp.SUM), False
        work.wait()
        return before, work.is_success(), x.tolist()

    assert on_ranks(2, body) == [(False, True, [2.0] * 3)] * 2


def test_a_rank_that_stays_away_from_the_set_up_is_named(fake):
    def body(backend, rank):
        if rank == 1:
            return None
        with pytest.raises(dist.DistBackendError) as caught:
            backend.all_reduce(tl.ones(1), dist.ReduceOp.SUM)
        return str(caught.value)

    text = on_ranks(2, body, seconds=0.3)[0]
    assert text == "rank 0 reached its timeout of 0.3 s in the set-up of group g, waiting for rank 1"


def test_a_late_operation_fails_on_all_ranks_and_names_the_silent_one(fake):
    """The watch aborts the communicator, so no wait lasts. A rank whose count has stopped is named."""
    since, stays = fake.fake_count(), threading.Event()

    def body(backend, rank):
        backend.barrier().wait()
        if rank == 2:
            backend._watch.stop()  # as if the process were dead
            stays.wait(20)
            return None
        began = time.monotonic()
        try:
            with pytest.raises(dist.DistBackendError) as caught:
                backend.all_reduce(tl.ones(1), dist.ReduceOp.SUM).wait()
            with pytest.raises(dist.DistBackendError, match="broadcast: the group g has failed: rank"):
                backend.broadcast(tl.ones(1), 0)
        finally:
            if rank == 0:
                time.sleep(0.5)
                stays.set()
        assert time.monotonic() - began < 20
        return str(caught.value)

    texts = on_ranks(3, body, seconds=1.0)
    first = texts[0].partition("failed: ")[2]
    assert first == texts[1].partition("failed: ")[2]
    assert "reached its timeout of 1 s in all_reduce of group g; rank 2 died or stands still" in first
    assert all(logs(fake, since)[rank][-1] == "abort" for rank in (0, 1))


def test_an_error_of_the_library_is_that_of_all_ranks(fake):
    since = fake.fake_count()

    def body(backend, rank):
        backend.barrier().wait()
        if rank == 0:
            number = next(i for i in range(since, fake.fake_count()) if fake.fake_rank(i) == 0)
            fake.fake_break(number, 6)
        with pytest.raises(dist.DistBackendError) as caught:
            while True:
                backend.all_reduce(tl.ones(1), dist.ReduceOp.SUM).wait()
        return str(caught.value)

    texts = on_ranks(2, body)
    assert all("NCCL 2.21.5: remote process exited (socket closed)" in text for text in texts), texts
    assert "the group g has failed: rank 0: " in texts[1]  # by the call, or by the watch


def test_an_abort_ends_the_waits_of_other_ranks(fake):
    def body(backend, rank):
        backend.barrier().wait()
        if rank == 1:
            backend.abort()
            return ""
        with pytest.raises(dist.DistBackendError) as caught:
            backend.all_reduce(tl.ones(1), dist.ReduceOp.SUM).wait()
        return str(caught.value)

    assert on_ranks(2, body)[0].endswith("rank 1 aborted the group g")


def test_memory_of_the_host_is_refused(fake):
    x = tl.ones(3)
    fake.fake_host(ctypes.c_uint64(x.data_ptr()))
    try:
        with pytest.raises(
            ValueError, match="all_reduce: the backend 'nccl' needs tensors on a GPU, got one on cpu"
        ):
            on_ranks(1, lambda backend, rank: backend.all_reduce(x, dist.ReduceOp.SUM))
    finally:
        fake.fake_host(ctypes.c_uint64(0))


def test_a_process_group(fake, tmp_path):
    """Found by its name, for tensors of a kind of device; batched messages begin together."""
    assert dist.is_nccl_available() and dist.is_backend_available("NCCL")
    dist.init_process_group("cpu:nccl", store=dist.FileStore(str(tmp_path / "store")), rank=0, world_size=1)
    try:
        x, y = tl.tensor([1.0, 2.0]), tl.empty(2)
        dist.all_reduce(x)
        dist.all_gather_into_tensor(y, x)
        assert y.tolist() == [1.0, 2.0] and dist.get_backend() == "cpu:nccl"
        for work in dist.batch_isend_irecv([dist.P2POp(dist.irecv, y, 0), dist.P2POp(dist.isend, 2 * x, 0)]):
            work.wait()
        assert y.tolist() == [2.0, 4.0]
    finally:
        dist.destroy_process_group()


def test_absent_libraries_are_named(monkeypatch, tmp_path):
    absent = str(tmp_path / "libnccl.so.2")
    monkeypatch.setenv("TL_NCCL_LIBRARY", absent)
    with pytest.raises(
        RuntimeError, match=r"'nccl' is not there: .*libnccl\.so\.2: cannot open .*install nvidia-nccl"
    ):
        nccl_library.load_nccl()
    monkeypatch.setenv("TL_CUDA_DRIVER", str(tmp_path / "libcuda.so.1"))
    with pytest.raises(
        RuntimeError, match=r"libcuda\.so\.1: cannot open .*needs an NVIDIA GPU and its driver"
    ):
        cuda_driver.load_driver()
    assert not dist.is_nccl_available()


def test_a_library_that_is_no_nccl(monkeypatch, tmp_path):
    if COMPILER is None:
        pytest.skip("there is no C compiler")
    source, file = tmp_path / "other.c", tmp_path / "other.so"
    source.write_text("int ncclGetVersion(int* version) { *version = 21000; return 0; }\n")
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", file, source], check=True)
    monkeypatch.setenv("TL_NCCL_LIBRARY", str(file))
    with pytest.raises(RuntimeError, match=r"needs NCCL 2\.14 or later: .*ncclGetUniqueId"):
        nccl_library.load_nccl()
