"""Batches of datasets and of streams, one after the other, and the response of a worker to each request."""

import pickle

import pytest
from samples import Failing, Numbers, TwoArguments

import tl_core
import tl_data
from tl_data import info, randomness
from tl_data.failure import Failure, how_it_ended
from tl_data.fetch import IterableFetcher, MapFetcher
from tl_data.threads import ThreadPool
from tl_data.worker import Response, Server, WorkerConfig


class Stream(tl_data.IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return iter(range(self.count))


def test_batches_of_keys():
    assert MapFetcher(Numbers(), True, list).fetch([3, 1]) == [3, 1]
    assert MapFetcher(Numbers(), True, list).fetch(tl_core.tensor([3, 1])) == [3, 1]
    assert MapFetcher(Numbers(), False, str).fetch(7) == "7"
    rows = tl_data.TensorDataset(tl_core.arange(12).reshape(4, 3))
    (batch,) = MapFetcher(rows, True, tl_data.default_collate).fetch([2, 0])
    assert batch.tolist() == [[6, 7, 8], [0, 1, 2]]


@pytest.mark.parametrize("keys", [(0, 1), [0, 1], range(2), tl_core.tensor([0, 1])])
@pytest.mark.parametrize(
    "wrap", [lambda d: d, lambda d: tl_data.Subset(d, [0, 1, 2]), lambda d: tl_data.ConcatDataset([d])]
)
def test_keys_of_a_batch_may_be_a_tuple(keys, wrap):
    """As an index, a tuple means one element."""
    rows = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    dataset = wrap(tl_data.TensorDataset(tl_core.tensor(rows), tl_core.tensor(rows) + 10))
    first, second = next(iter(tl_data.DataLoader(dataset, batch_sampler=[keys])))
    assert first.tolist() == rows[:2] and second.tolist() == [[10, 11], [12, 13]]


def test_errors_name_the_sample():
    for batching, keys in ((True, [1, 13]), (False, 13)):
        with pytest.raises(ZeroDivisionError) as raised:
            MapFetcher(Failing(ZeroDivisionError("bad")), batching, list).fetch(keys)
        assert raised.value.__notes__ == ["while the sample 13 was fetched"]


@pytest.mark.parametrize("drop_last", [False, True])
def test_batches_of_a_stream(drop_last):
    fetcher = IterableFetcher(Stream(5), True, list, drop_last)
    assert fetcher.fetch(2) == [0, 1] and fetcher.state() == {"skip": 2}
    resumed = IterableFetcher(Stream(5), True, list, drop_last, fetcher.state())
    for each in (fetcher, resumed):
        assert each.fetch(2) == [2, 3]
        if not drop_last:
            assert each.fetch(2) == [4]
        for _ in range(2):
            with pytest.raises(StopIteration):
                each.fetch(2)


def config_of(dataset, **fields):
    rest = {"batching": True, "collate_fn": list, "drop_last": False, "worker_init_fn": None, "num_workers": 2,
            "base_seed": 9, "iterable": isinstance(dataset, Stream)}  # fmt: skip
    return WorkerConfig(dataset, **{**rest, **fields})


def test_responses_of_a_worker():
    server = Server(config_of(Failing(ZeroDivisionError("bad"))), 1, "worker 1")
    server.initialize()
    server.begin(4, None)
    assert server.respond(6, 2, [1, 2]) == Response(6, 2, "batch", [1, 2]) and randomness.epoch() == 4
    failed = server.respond(6, 3, [13])
    assert (failed.number, failed.kind) == (3, "failed") and failed.value.name == "ZeroDivisionError"
    stream = Server(config_of(Stream(1)), 0, "worker 0")
    stream.begin(0, None)
    assert stream.respond(0, 0, 2) == Response(0, 0, "batch", [0], {"skip": 1})
    assert stream.respond(0, 1, 2).kind == "ended"
    randomness.set_epoch(0)


def test_an_error_at_the_start_answers_all_requests():
    def refuse(worker):
        raise ValueError(f"no worker {worker}")

    server = Server(config_of(Numbers(), worker_init_fn=refuse), 1, "worker 1")
    server.initialize()
    server.begin(0, None)
    with pytest.raises(ValueError, match=r"Caught ValueError in worker 1 \(pid \d+\)") as raised:
        server.respond(0, 0, [1]).value.throw()
    assert "no worker 1" in str(raised.value)


def failure_of(error):
    try:
        raise error
    except type(error) as caught:
        return pickle.loads(pickle.dumps(Failure.caught(caught, "worker 0")))


def test_failures_raise_their_type():
    failure = failure_of(KeyError("missing"))
    assert failure.last_line() == "KeyError: 'missing'" and "test_fetch.py" in failure.text
    with pytest.raises(KeyError) as raised:
        failure.throw()
    assert str(raised.value).startswith("Caught KeyError in worker 0 (pid ") and "\n" in str(raised.value)
    for error in (StopIteration(), TwoArguments(1, 2)):
        with pytest.raises(RuntimeError, match=f"Caught {type(error).__name__} in"):
            failure_of(error).throw()
    with pytest.raises(RuntimeError, match="Caught Missing"):
        failure._replace(kind=b"cnowhere\nMissing\n.", name="Missing").throw()


def test_exit_statuses():
    assert how_it_ended(None) == "does not answer" and how_it_ended(-9) == "is killed by signal: SIGKILL"
    assert how_it_ended(3) == "exited unexpectedly with status 3"


def test_threads_answer_requests():
    pool = ThreadPool(config_of(Numbers(), collate_fn=lambda keys: (tl_data.get_worker_info().id, keys)))
    try:
        assert pool.receive(0) is None and pool.pids == [None, None]
        for worker in range(2):
            pool.begin(worker, 0, 0, None)
            pool.request(worker, 0, 10 + worker, [worker, 5])
        responses = dict(pool.receive(10) for _ in range(2))
    finally:
        pool.close()
    assert responses == {w: Response(0, 10 + w, "batch", (w, [w, 5])) for w in range(2)}
    assert not any(thread.is_alive() for thread in pool.processes)


def test_the_worker_of_a_process_and_of_a_thread():
    process, thread = info.WorkerInfo(1, 2, 3, None), info.WorkerInfo(0, 1, 4, None)
    info.set_process_info(process)
    try:
        assert tl_data.get_worker_info() is process
        info.set_thread_info(thread)
        assert tl_data.get_worker_info() is thread
    finally:
        info.set_process_info(None)
        del info._thread.info
    assert tl_data.get_worker_info() is None


def test_seeds_of_a_worker():
    import random

    import numpy as np

    states = tl_core.get_rng_state(), random.getstate(), np.random.get_state()
    try:
        assert randomness.seed_worker(100, 3) == 103
        samples = tl_core.rand(1).item(), random.random(), np.random.rand()
        words = np.random.SeedSequence([3, 100, 0, 0]).generate_state(4)
        assert samples[0] == tl_core.rand(1, generator=tl_core.Generator().manual_seed(103)).item()
        assert samples[1:] == (random.Random(103).random(), np.random.RandomState(words).rand())
    finally:
        tl_core.set_rng_state(states[0])
        random.setstate(states[1])
        np.random.set_state(states[2])
