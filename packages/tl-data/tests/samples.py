"""Datasets, samplers and functions for the tests, where workers can import them."""

import os
import random
import signal
import time

import numpy as np

import tl_core
import tl_data


class Numbers(tl_data.Dataset):
    """The numbers below `count`."""

    def __init__(self, count=50):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if not 0 <= index < self.count:
            raise IndexError(index)
        return index


class Rows(Numbers):
    """A number, a row of floats, an array and a text."""

    def __getitem__(self, index):
        return {
            "number": index,
            "row": tl_core.full((600,), float(index)),
            "array": np.full((3, 500), index, np.int16),
            "text": f"sample {index}",
        }


class Failing(Numbers):
    """Raises at one index."""

    def __init__(self, error, at=13):
        super().__init__(20)
        self.error, self.at = error, at

    def __getitem__(self, index):
        if index == self.at:
            raise self.error
        return index


class TwoArguments(Exception):
    """An exception that can't be made out of one text."""

    def __init__(self, first, second):
        super().__init__(first, second)


class Dying(Numbers):
    """Ends its process at one index."""

    def __getitem__(self, index):
        if index == 13:
            os.kill(os.getpid(), signal.SIGKILL)
        return index


class Hanging(Numbers):
    """Does not come back from one index."""

    def __getitem__(self, index):
        if index == 13:
            time.sleep(1000)
        return index


class Slow(Numbers):
    """Needs a while for a sample."""

    def __getitem__(self, index):
        time.sleep(0.02)
        return index


class Stream(tl_data.IterableDataset):
    """Every n-th number below `count`, for n workers."""

    def __init__(self, count=43):
        self.count = count

    def __iter__(self):
        info = tl_data.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        return iter(range(first, self.count, step))


class Counter(tl_data.Resumable):
    """An iterator that can tell where it is."""

    def __init__(self, at, step, end):
        self.at, self.step, self.end = at, step, end
        self.taken = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at >= self.end:
            raise StopIteration
        self.at += self.step
        self.taken += 1
        return self.at - self.step

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class KeptStream(Stream):
    """The same, with an iterator that has a state."""

    def __iter__(self):
        info = tl_data.get_worker_info()
        return Counter(info.id if info else 0, info.num_workers if info else 1, self.count)


class SelfKeptStream(tl_data.IterableDataset, tl_data.Resumable):
    """A stream that itself has a state, for one reader."""

    def __init__(self, count=30):
        self.count, self.at = count, 0

    def __iter__(self):
        while self.at < self.count:
            self.at += 1
            yield self.at - 1
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class Dice(tl_data.Sampler):
    """An order that nobody can draw again."""

    def __init__(self, count):
        super().__init__()
        self.count = count

    def __len__(self):
        return self.count

    def __iter__(self):
        for _ in range(self.count):
            yield random.randrange(self.count)


class Turning(tl_data.Sampler, tl_data.Resumable):
    """An order with a state: it begins one later in each epoch."""

    def __init__(self, count):
        super().__init__()
        self.count, self.first = count, 0

    def __len__(self):
        return self.count

    def __iter__(self):
        first, self.first = self.first, self.first + 1
        return iter([(first + i) % self.count for i in range(self.count)])

    def state_dict(self):
        return {"first": self.first}

    def load_state_dict(self, state):
        self.first = state["first"]


class Noisy(Numbers):
    """Adds random numbers of three generators."""

    def __getitem__(self, index):
        return float(index), tl_core.rand(()), random.random(), float(np.random.rand())


class OwnNoise(Numbers):
    """Adds random numbers of the sample's own generator."""

    def __getitem__(self, index):
        return index + tl_core.rand((), generator=tl_data.sample_generator())


class Buckets(tl_data.BatchSampler):
    """A batch sampler with an order of its own."""

    def __iter__(self):
        return iter([[0, 2], [1], [5, 4, 3]])


def shift(worker_id):
    """A `worker_init_fn` that changes the worker's dataset."""
    tl_data.get_worker_info().dataset.count = 10 * (worker_id + 1)


def refuse(worker_id):
    """A `worker_init_fn` that fails."""
    raise OSError("no such device")


def as_list(batch):
    """A `collate_fn`."""
    return list(batch)


def as_arrays(batch):
    """A `collate_fn` that gives NumPy arrays."""
    return np.stack([sample["array"] for sample in batch])


def plain(batch):
    """A batch as plain data."""
    if isinstance(batch, (tl_core.Tensor, np.ndarray)):
        return batch.tolist()
    if isinstance(batch, dict):
        return {key: plain(value) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [plain(item) for item in batch]
    return batch


def interrupt_oneself(worker):
    """A handler that raises, and the signal."""

    def hear(number, frame):
        raise RuntimeError("heard")

    signal.signal(signal.SIGINT, hear)
    signal.raise_signal(signal.SIGINT)
