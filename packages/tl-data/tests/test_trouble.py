"""Workers that die, hang, fail and are interrupted: said at once, and nothing is left behind."""

import gc
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import trouble
from samples import Dying, Failing, Hanging, Numbers, Rows, Slow, interrupt_oneself

import tl_core
import tl_data

CONTEXTS = ["forkserver", "fork"]


@pytest.fixture(autouse=True)
def nothing_left():
    """No worker, no shared memory and no descriptor more than before."""
    list(
        tl_data.DataLoader(Numbers(1), num_workers=1, multiprocessing_context="forkserver")
    )  # starts the servers
    gc.collect()
    memory, files = trouble.shared_memory(), trouble.open_files()
    yield
    gc.collect()
    assert trouble.until(lambda: not trouble.workers()), trouble.workers()
    # Other programs of this machine may have memory with a name for a while.
    assert trouble.until(lambda: trouble.shared_memory() == memory), (trouble.shared_memory(), memory)
    assert trouble.open_files() == files


@pytest.mark.parametrize("context", CONTEXTS)
def test_killed_workers_are_reported_at_once(context):
    choose = random.Random(1)
    for _ in range(trouble.times(100, 4)):
        iterator = iter(
            tl_data.DataLoader(Slow(1000), batch_size=2, num_workers=2, multiprocessing_context=context)
        )
        next(iterator)
        time.sleep(choose.uniform(0, 0.05))
        victim = choose.choice(iterator._workers).pid
        os.kill(victim, signal.SIGKILL)
        began = time.monotonic()
        with pytest.raises(
            RuntimeError, match=rf"DataLoader worker \(pid {victim}\) is killed by signal: SIGKILL"
        ):
            for _ in iterator:
                pass
        assert time.monotonic() - began < 1
        assert not trouble.workers()


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_worker_that_dies_of_a_sample(context):
    with pytest.raises(RuntimeError, match=r"worker \d of 2\) while it fetched the samples \[12, 13, 14\]"):
        list(tl_data.DataLoader(Dying(), batch_size=3, num_workers=2, multiprocessing_context=context))


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_worker_killed_in_the_middle_of_an_answer(context):
    """One that sends more than fits through the pipe, to a program that does not read."""
    options = {"num_workers": 1, "arena_size": 4096, "multiprocessing_context": context}
    loader = tl_data.DataLoader(Rows(2000), batch_size=1000, **options)
    iterator = iter(loader)
    time.sleep(0.5)
    os.kill(iterator._workers[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="is killed by signal: SIGKILL"):
        next(iterator)


@pytest.mark.parametrize("context", CONTEXTS)
def test_hung_workers_are_reported_in_time(context):
    for _ in range(trouble.times(25, 1)):
        loader = tl_data.DataLoader(
            Hanging(), batch_size=4, num_workers=2, timeout=2, multiprocessing_context=context
        )
        with pytest.raises(RuntimeError, match=r"timed out after 2 seconds.*samples \[12, 13, 14, 15\]"):
            list(loader)
        assert not trouble.workers()


def test_stopped_workers_are_reported_in_time():
    iterator = iter(tl_data.DataLoader(Slow(1000), num_workers=1, timeout=2))
    next(iterator)
    os.kill(iterator._workers[0].pid, signal.SIGSTOP)
    with pytest.raises(RuntimeError, match=f"pid {iterator._workers[0].pid}\\) has not answered"):
        for _ in iterator:
            pass


@pytest.mark.parametrize("context", CONTEXTS)
def test_exceptions_leave_nothing(context):
    for _ in range(trouble.times(50, 3)):
        loader = tl_data.DataLoader(
            Failing(ValueError("bad")), batch_size=4, num_workers=2, multiprocessing_context=context
        )
        with pytest.raises(ValueError, match=r"(?s)Caught ValueError.*while the sample 13 was fetched"):
            list(loader)


@pytest.mark.parametrize("context", CONTEXTS)
def test_epochs_that_are_broken_off_leave_nothing(context):
    for _ in range(trouble.times(50, 3)):
        for _ in tl_data.DataLoader(Slow(), num_workers=2, multiprocessing_context=context):
            break


@pytest.mark.parametrize("context", CONTEXTS)
def test_interrupts(context):
    choose = random.Random(2)
    for _ in range(trouble.times(100, 2)):
        seconds, errors, session = trouble.interrupt(choose.uniform(0, 1), context)
        assert seconds < 2 and errors.rstrip().endswith("KeyboardInterrupt"), errors
        assert trouble.until(lambda: all(s != session for _, s, _ in trouble.processes().values()))  # noqa: B023


@pytest.mark.parametrize("context", ["forkserver", "spawn"])
def test_workers_that_start_hear_no_interrupt(context):
    _, errors, _ = trouble.interrupt(0, context, "0.2")
    assert errors.count("Traceback") == 1 and errors.rstrip().endswith("KeyboardInterrupt"), errors


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals cannot be held here")
@pytest.mark.parametrize("context", [*CONTEXTS, "spawn"])
def test_workers_let_handlers_of_their_own_hear(context):
    loader = tl_data.DataLoader(
        Numbers(2), num_workers=1, worker_init_fn=interrupt_oneself, multiprocessing_context=context
    )
    with pytest.raises(RuntimeError, match="heard"):
        list(loader)
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.parametrize("context", ["forkserver", "fork", "spawn"])
def test_workers_end_with_a_program_that_is_killed(context):
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    running = subprocess.Popen(
        [sys.executable, Path(__file__).parent / "endless_program.py", context],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )

    def left():
        return [p for p, (_, s, _) in trouble.processes().items() if s == running.pid and p != running.pid]

    try:
        assert trouble.until(lambda: len(left()) >= 2, 10)
        time.sleep(0.3)
    finally:
        running.kill()
        running.wait()
    assert trouble.until(lambda: not left(), 5), left()


def test_the_memory_is_bounded_and_used_again():
    loader = tl_data.DataLoader(Rows(400), batch_size=10, num_workers=2, arena_size=1 << 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for batch in loader:
            assert batch["row"][:, 0].tolist() == [float(n) for n in batch["number"].tolist()]


def test_batches_that_are_kept_do_not_block():
    loader = tl_data.DataLoader(Rows(200), batch_size=10, num_workers=2, arena_size=1 << 18)
    values = list(loader)
    assert [int(n) for b in values for n in b["row"][:, 7]] == list(range(200))
    del loader
    gc.collect()
    values[0]["row"].add_(1)
    assert values[-1]["row"][-1, 0].item() == 199.0


def test_a_batch_larger_than_the_memory_says_so():
    loader = tl_data.DataLoader(Rows(20), batch_size=20, num_workers=1, arena_size=4096)
    with pytest.warns(UserWarning, match=r"does not fit into .* 4096 bytes.* larger arena_size"):
        (batch,) = loader
    assert batch["array"][:, 0, 0].tolist() == list(range(20))


def test_tensors_outlive_their_loader():
    iterator = iter(tl_data.DataLoader(Rows(40), batch_size=20, num_workers=2))
    first = next(iterator)["row"]
    iterator._shutdown_workers()
    del iterator
    gc.collect()
    row = first[3]
    del first
    assert row.tolist() == [3.0] * 600


@pytest.mark.parametrize("context", CONTEXTS)
def test_workers_do_not_grow(context):
    """Objects of Python are touched in every epoch; a process that shares them with the program copies them, once."""
    count = trouble.times(400_000, 40_000)
    options = {"num_workers": 2, "persistent_workers": True, "multiprocessing_context": context}
    loader = tl_data.DataLoader(Dicts(count), batch_size=500, **options)
    sizes = []
    for _ in range(4):
        for _ in loader:
            pass
        sizes.append(sum(dirty(worker.pid) for worker in loader._iterator._workers))
    loader._iterator._shutdown_workers()
    assert sizes[-1] - sizes[0] < 2 << 20, sizes


@pytest.mark.parametrize("context", CONTEXTS)
def test_workers_share_the_tensors_of_a_dataset(context):
    rows = tl_core.zeros(4_000_000)
    array = np.zeros(4_000_000, np.float32)
    dataset = tl_data.StackDataset(tl_data.TensorDataset(rows), array)
    options = {"num_workers": 2, "persistent_workers": True, "multiprocessing_context": context}
    loader = tl_data.DataLoader(dataset, batch_size=100, **options)
    iterator = iter(loader)
    assert next(iterator)[1].shape == (100,)
    assert max(dirty(worker.pid) for worker in iterator._workers) < 30 << 20  # 32 MB would be a copy
    iterator._shutdown_workers()


def dirty(pid):
    """Bytes of memory that only one process has."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Private_Dirty"))


class Dicts(tl_data.Dataset):
    """A list of dicts."""

    def __init__(self, count):
        self.samples = [{"path": f"/data/{i}", "label": i} for i in range(count)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        return self.samples[index]["label"]


def test_no_file_system_has_to_hold_the_memory():
    """A small /dev/shm is no limit: the memory has no name in it."""
    before = trouble.named_shared_memory()
    iterator = iter(tl_data.DataLoader(Rows(20), batch_size=10, num_workers=2))
    next(iterator)
    assert trouble.named_shared_memory() == before
    assert tl_core.is_tensor(next(iterator)["row"])


def test_memory_that_cannot_be_mapped_says_so():
    with pytest.raises(OSError, match=r"can't be mapped .*smaller arena_size"):
        iter(tl_data.DataLoader(Numbers(), num_workers=2, arena_size=1 << 60))


def test_memory_that_does_not_fit_says_so(monkeypatch, tmp_path):
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr("tempfile.tempdir", "/dev/shm")
    free = os.statvfs("/dev/shm")
    size = free.f_bavail * free.f_frsize + (1 << 30)
    with pytest.raises(OSError, match=r"do not fit into '/dev/shm', where \d+ are free.*smaller arena_size"):
        iter(tl_data.DataLoader(Numbers(), num_workers=2, arena_size=size))
    (batch,) = tl_data.DataLoader(Rows(4), batch_size=4, num_workers=1, arena_size=1 << 20)
    assert batch["row"].shape == (4, 600)
