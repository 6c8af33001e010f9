"""Workers: processes of three kinds, and threads."""

import multiprocessing
import os
import random
import subprocess
import sys
import time
import types
import warnings

import numpy as np
import pytest
from samples import (
    Failing,
    Noisy,
    Numbers,
    OwnNoise,
    Rows,
    Stream,
    TwoArguments,
    as_arrays,
    as_list,
    interrupt_oneself,
    plain,
    refuse,
    shift,
)

import tl_core
import tl_data
from tl_data import launch
from tl_data.dataloader import _MultiProcessingDataLoaderIter

EVERY = ["forkserver", "fork", "thread"]


@pytest.fixture
def fresh_by_default(monkeypatch):
    """Processes start as they do from Python 3.14 on."""
    monkeypatch.setattr("tl_data.launch.platform_method", lambda: "forkserver")
    monkeypatch.setattr("tl_data.launch.default_method", lambda: "forkserver")


@pytest.mark.parametrize("context", [None, *EVERY])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_the_same_batches_as_without(context, workers):
    expected = plain(list(tl_data.DataLoader(Rows(), batch_size=4)))
    loader = tl_data.DataLoader(
        Rows(),
        batch_size=4,
        num_workers=workers,
        multiprocessing_context=context,
        prefetch_factor=1 + workers % 2,
    )
    for _ in range(2):
        assert plain(list(loader)) == expected


def test_spawned_workers():
    loader = tl_data.DataLoader(Rows(5), batch_size=2, num_workers=1, multiprocessing_context="spawn")
    assert [b["number"].tolist() for b in loader] == [[0, 1], [2, 3], [4]]


@pytest.mark.parametrize("workers", [0, 1, 2, 8])
def test_a_seed_gives_the_same_order_for_any_number_of_workers(workers):
    tl_core.manual_seed(3)
    context = "fork" if workers else None
    loader = tl_data.DataLoader(
        Numbers(), batch_size=3, shuffle=True, num_workers=workers, multiprocessing_context=context
    )
    result = [n for _ in range(2) for batch in loader for n in batch.tolist()]
    tl_core.manual_seed(3)
    alone = tl_data.DataLoader(Numbers(), batch_size=3, shuffle=True)
    assert result == [n for _ in range(2) for batch in alone for n in batch.tolist()]


@pytest.mark.parametrize("context", EVERY)
def test_single_samples(context):
    loader = tl_data.DataLoader(Rows(3), batch_size=None, num_workers=2, multiprocessing_context=context)
    samples = list(loader)
    assert [s["number"] for s in samples] == [0, 1, 2]
    assert samples[2]["array"].tolist() == [[2] * 500] * 3


@pytest.mark.parametrize("context", EVERY)
def test_each_worker_reads_its_own_stream(context):
    loader = tl_data.DataLoader(Stream(11), batch_size=2, num_workers=2, multiprocessing_context=context)
    assert plain(list(loader)) == [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9]]
    loader = tl_data.DataLoader(Stream(4), num_workers=3, multiprocessing_context=context)
    assert plain(list(loader)) == [[0], [1], [2], [3]]


def test_init_function_configures_the_stream():
    loader = tl_data.DataLoader(Stream(0), num_workers=2, worker_init_fn=shift, batch_size=4)
    assert plain(list(loader)) == [[0, 2, 4, 6], [1, 3, 5, 7], [8], [9, 11, 13, 15], [17, 19]]


@pytest.mark.parametrize("context", EVERY)
def test_an_error_comes_with_traceback_and_sample(context):
    loader = tl_data.DataLoader(
        Failing(KeyError("thirteen")), batch_size=4, num_workers=2, multiprocessing_context=context
    )
    iterator = iter(loader)
    result = [next(iterator) for _ in range(3)]
    with pytest.raises(KeyError) as caught:
        next(iterator)
    text = str(caught.value)
    kind = "thread" if context == "thread" else "process"
    assert f"Caught KeyError in DataLoader worker {kind} 1 (pid " in text
    assert "in __getitem__\n    raise self.error\nKeyError: 'thirteen'" in text
    assert "while the sample 13 was fetched" in text
    assert plain([*result, *iterator]) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [16, 17, 18, 19]]


def test_errors_of_other_types():
    with pytest.raises(RuntimeError, match="Caught TwoArguments in DataLoader worker"):
        list(tl_data.DataLoader(Failing(TwoArguments(1, 2)), num_workers=1))
    with pytest.raises(RuntimeError, match="Caught StopIteration in DataLoader worker"):
        list(tl_data.DataLoader(Failing(StopIteration()), num_workers=1))
    with pytest.raises(OSError, match=r"(?s)Caught OSError in DataLoader worker process 0.*no such device"):
        list(tl_data.DataLoader(Numbers(), num_workers=1, worker_init_fn=refuse))


def test_a_batch_that_cannot_be_sent():
    with pytest.raises(Exception, match=r"while the batch of \[0\] was pickled"):
        list(
            tl_data.DataLoader(
                Unsendable(), num_workers=1, multiprocessing_context="fork", collate_fn=as_list
            )
        )


class Unsendable(Numbers):
    """Its samples are functions."""

    def __getitem__(self, index):
        return lambda: index


def test_persistent_workers_live_on():
    loader = tl_data.DataLoader(Pids(6), num_workers=2, persistent_workers=True)
    first, second = (plain(list(loader)) for _ in range(2))
    assert first == second and len({pid for (pid,) in first}) == 2
    iterator = iter(loader)
    next(iterator)
    assert plain(list(loader)) == first  # an epoch that is broken off leaves nothing behind
    assert isinstance(iterator, _MultiProcessingDataLoaderIter)
    iterator._shutdown_workers()
    again = plain(list(loader))
    assert again != first
    loader._iterator._shutdown_workers()


class Watched(_MultiProcessingDataLoaderIter):
    """Notes when its workers go, as trainers do."""

    def __init__(self, loader):
        self.ends = loader.ends
        super().__init__(loader)

    def _shutdown_workers(self):
        self.ends.append(self._pool.pids[0])
        super()._shutdown_workers()


class WatchedLoader(tl_data.DataLoader):
    ends = None  # a list of this loader's own

    def _get_iterator(self):
        return Watched(self)


def test_a_subclass_learns_when_workers_go():
    loader = WatchedLoader(Pids(4), num_workers=1)
    loader.ends = []
    (first,) = {pid for (pid,) in plain(list(loader))}
    assert loader.ends == [first, first], "at the end of the epoch, and when the iterator is let go"
    iterator = iter(loader)
    second = next(iterator).item()
    del iterator
    assert loader.ends[2:] == [second], "an epoch that is broken off"


def test_a_subclass_learns_of_an_epoch_that_fails():
    loader = WatchedLoader(Bad(4), num_workers=1, timeout=0)
    loader.ends = []
    with pytest.raises(ZeroDivisionError):
        list(loader)
    assert loader.ends


class Bad(Numbers):
    def __getitem__(self, index):
        raise ZeroDivisionError


class FromQueue(tl_data.IterableDataset):
    def __init__(self, queue):
        self.queue = queue

    def __iter__(self):
        for _ in range(3):
            yield self.queue.get(timeout=20)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
def test_a_queue_for_forked_processes_reaches_the_workers(fresh_by_default):
    queue = multiprocessing.get_context("fork").Queue()
    for i in range(6):
        queue.put(i)
    loader = tl_data.DataLoader(FromQueue(queue), num_workers=1, batch_size=None)
    assert list(loader) == [0, 1, 2] and list(loader) == [3, 4, 5]


@pytest.mark.skipif("forkserver" not in multiprocessing.get_all_start_methods(), reason="needs its server")
def test_a_queue_for_fresh_processes_reaches_the_workers(fresh_by_default):
    queue = multiprocessing.get_context("forkserver").Queue()
    for i in range(3):
        queue.put(i)
    assert list(tl_data.DataLoader(FromQueue(queue), num_workers=1, batch_size=None)) == [0, 1, 2]


class Pids(Numbers):
    """Samples are process ids."""

    def __getitem__(self, index):
        return os.getpid()


def test_worker_info():
    assert tl_data.get_worker_info() is None
    tl_core.manual_seed(11)
    loader = tl_data.DataLoader(Infos(4), num_workers=2, batch_size=None)
    seeds = []
    for i, (worker, workers, seed, length, initial) in enumerate(loader):
        assert (worker, workers, length) == (i % 2, 2, 4) and seed == initial
        seeds.append(seed)
    assert seeds[1] == seeds[0] + 1 and seeds[:2] == seeds[2:]


class Infos(Numbers):
    """Samples tell of the worker."""

    def __getitem__(self, index):
        info = tl_data.get_worker_info()
        return info.id, info.num_workers, info.seed, len(info.dataset), tl_core.initial_seed()


def test_workers_have_random_numbers_of_their_own():
    loader = tl_data.DataLoader(Noisy(8), num_workers=2, batch_size=None)
    columns = list(zip(*plain(list(loader))))
    assert all(len(set(column)) == 8 for column in columns)


def test_batches_out_of_order():
    loader = tl_data.DataLoader(Numbers(), batch_size=4, num_workers=3, in_order=False)
    assert sorted(n for batch in loader for n in batch.tolist()) == list(range(50))
    stream = tl_data.DataLoader(Stream(), batch_size=4, num_workers=3, in_order=False)
    assert sorted(n for batch in stream for n in batch.tolist()) == list(range(43))


def test_arrays_come_as_arrays():
    result = list(tl_data.DataLoader(Rows(4), batch_size=2, num_workers=1, collate_fn=as_arrays))
    assert isinstance(result[1], np.ndarray)
    np.testing.assert_array_equal(result[1][:, 0, 0], [2, 3])


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float64", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (70, 50), (2, 0, 3)])
def test_tensors_of_every_kind_arrive(dtype, shape):
    output = (tl_core.arange(max(int(np.prod(shape)), 1)) % 2).to(getattr(tl_core, dtype))
    tensor = output[: int(np.prod(shape))].view(shape)
    samples = [tensor, tensor.t() if tensor.dim() == 2 else tensor, tensor.clone()]
    loader = tl_data.DataLoader(samples, batch_size=None, num_workers=1, multiprocessing_context="fork")
    for result, sample in zip(loader, samples):
        assert result.dtype == sample.dtype and result.shape == sample.shape
        assert result.tolist() == sample.tolist()


def test_workers_start_as_processes_of_the_program_do(monkeypatch):
    monkeypatch.setattr("multiprocessing.get_start_method", lambda allow_none=False: None)
    expected = "forkserver" if sys.version_info >= (3, 14) else "fork"
    assert sys.platform != "linux" or launch.default_method() == expected
    monkeypatch.setattr("multiprocessing.get_start_method", lambda allow_none=False: "spawn")
    assert launch.default_method() == "spawn" and not launch.may_fork()
    with pytest.raises(Exception, match=r"(?i)can't (pickle|get local)"):
        iter(tl_data.DataLoader(Numbers(3), num_workers=1, collate_fn=lambda batch: batch))


def test_what_cannot_be_sent_to_a_fresh_process_is_forked(fresh_by_default):
    loader = tl_data.DataLoader(Numbers(3), num_workers=2, collate_fn=lambda batch: batch)
    assert list(loader) == [[0], [1], [2]]
    loader = tl_data.DataLoader(
        Numbers(3), num_workers=2, collate_fn=lambda batch: batch, multiprocessing_context="forkserver"
    )
    with pytest.raises(Exception, match=r"(?i)can't (pickle|get local)"):
        iter(loader)


def test_what_a_fresh_process_cannot_load_is_forked(fresh_by_default):
    module = types.ModuleType("nowhere_to_be_found")
    module.Numbers = type("Numbers", (Numbers,), {"__module__": module.__name__})
    sys.modules[module.__name__] = module
    try:
        with pytest.warns(UserWarning, match="workers are forked.*ModuleNotFoundError"):
            assert plain(list(tl_data.DataLoader(module.Numbers(3), num_workers=2))) == [[0], [1], [2]]
        loader = tl_data.DataLoader(module.Numbers(3), num_workers=2, multiprocessing_context="forkserver")
        with pytest.raises(ModuleNotFoundError, match="nowhere_to_be_found"):
            list(loader)
    finally:
        del sys.modules[module.__name__]


def test_locks_and_values_go_along_with_a_process():
    context = multiprocessing.get_context("forkserver")
    dataset = Counting(context.Value("i", 0))
    assert len(list(tl_data.DataLoader(dataset, num_workers=2, multiprocessing_context=context))) == 6
    assert dataset.value.value == 6


class Counting(Numbers):
    """Counts its samples over all processes."""

    def __init__(self, value):
        super().__init__(6)
        self.value = value

    def __getitem__(self, index):
        with self.value.get_lock():
            self.value.value += 1
        return index


def test_many_keys_at_once_do_not_block():
    """Questions and answers that are larger than a pipe."""
    keys = list(range(60_000))
    loader = tl_data.DataLoader(
        Numbers(60_000), batch_sampler=[keys] * 6, num_workers=1, prefetch_factor=6, arena_size=4096
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for batch in loader:
            assert batch.tolist() == keys


def test_interpreter_ends_with_workers_alive(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import tl_data\n"
        "from samples import Numbers\n"
        "if __name__ == '__main__':\n"
        "    kept = iter(tl_data.DataLoader(Numbers(), num_workers=2))\n"
        "    print(next(kept).item())\n"
    )
    assert run_program(program) == ("0\n", "")


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_samples_seeded_by_their_index_are_the_same(workers):
    random.seed(1)
    before = random.getstate()
    dataset = tl_data.Seeded(Noisy(10), seed=4)
    loader = tl_data.DataLoader(dataset, batch_size=3, num_workers=workers)
    first, second = (plain(list(loader)) for _ in range(2))
    assert random.getstate() == before
    alone = tl_data.DataLoader(dataset, batch_size=3)
    assert [first, second] == [plain(list(alone)) for _ in range(2)]
    assert first != second
    assert first != plain(list(tl_data.DataLoader(tl_data.Seeded(Noisy(10), seed=5), batch_size=3)))


@pytest.mark.parametrize("context", EVERY)
def test_a_generator_for_each_sample(context):
    dataset = tl_data.Seeded(OwnNoise(10), seed=4, default_generators=False)
    expected = plain(list(tl_data.DataLoader(dataset, batch_size=3)))
    loader = tl_data.DataLoader(dataset, batch_size=3, num_workers=3, multiprocessing_context=context)
    assert plain(list(loader)) == expected
    with pytest.raises(RuntimeError, match=r"sample_generator\(\) is for samples of a Seeded dataset"):
        tl_data.sample_generator()


def test_threads_share_the_default_generators():
    loader = tl_data.DataLoader(
        tl_data.Seeded(Noisy(3), seed=1), num_workers=1, multiprocessing_context="thread"
    )
    with pytest.raises(RuntimeError, match="can't seed the default generators in a thread"):
        next(iter(loader))


def test_loaders_in_turn_are_in_epochs_of_their_own():
    dataset = tl_data.Seeded(Noisy(4), seed=2)
    first, second = tl_data.DataLoader(dataset), tl_data.DataLoader(dataset)
    list(first)
    expected = plain(list(first))
    again = tl_data.DataLoader(dataset)
    list(again)
    assert plain([a for a, _ in zip(again, second)]) == expected


@pytest.mark.parametrize("method", ["fork", "forkserver"])
@pytest.mark.parametrize("guarded", [True, False])
def test_main_programs(tmp_path, guarded, method):
    """Where fresh processes are the default, one that asks for its name is imported again by its workers, a loader made
    beside it too; another is forked."""
    program = tmp_path / "program.py"
    start = (
        f"from tl_data import launch\nlaunch.default_method = launch.platform_method = lambda: {method!r}\n"
    )
    program.write_text(start + (GUARDED if guarded else UNGUARDED))
    kind = "fresh" if guarded and method == "forkserver" else "forked"
    assert run_program(program) == (f"{kind} [0, 1]\n{kind} [2, 3]\n", "")


DATASET = """
import os
from tl_data import DataLoader, Dataset


class Parents(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return index, os.getppid()


loader = DataLoader(Parents(), batch_size=2, num_workers=2)
"""
SHOW = """for index, parent in loader:
    print("forked" if parent[0] == os.getpid() else "fresh", index.tolist())
"""
UNGUARDED = DATASET + SHOW
GUARDED = DATASET + 'if __name__ == "__main__":\n    ' + SHOW.replace("\n    ", "\n        ")


def run_program(path):
    """The output and the errors of a program."""
    paths = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths}
    process = subprocess.run(
        [sys.executable, path], env=environment, capture_output=True, text=True, timeout=30, check=True
    )
    return process.stdout, process.stderr


def test_a_forked_loader_ends_at_once_beside_another():
    """The workers of the second one have copies of the first one's pipes."""
    options = {"num_workers": 2, "multiprocessing_context": "fork"}
    first = iter(tl_data.DataLoader(Numbers(), **options))
    second = iter(tl_data.DataLoader(Numbers(), **options))
    next(first)
    began = time.monotonic()
    first._shutdown_workers()
    assert time.monotonic() - began < 3
    assert len(list(second)) == 50


def test_processes_of_the_program_hear_interrupts():
    """They come from another server than workers do."""
    list(tl_data.DataLoader(Numbers(1), num_workers=1, multiprocessing_context="forkserver"))
    process = multiprocessing.get_context("forkserver").Process(target=interrupt_oneself, args=(0,))
    process.start()
    process.join()
    assert process.exitcode == 1
