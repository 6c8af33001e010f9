"""Programs that end in mid-epoch and go on."""

import pickle
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import Buckets, Counter, Dice, KeptStream, Noisy, Numbers, SelfKeptStream, Stream, Turning, plain

import tl_core
import tl_data

SAMPLERS = {
    "in order": {},
    "shuffled": {"shuffle": True},
    "own generator": {"shuffle": True, "generator": "loader"},
    "replacement": {"sampler": lambda: tl_data.RandomSampler(Numbers(), replacement=True, num_samples=77)},
    "longer": {"sampler": lambda: tl_data.RandomSampler(Numbers(), num_samples=77, generator=_generator())},
    "weighted": {"sampler": lambda: tl_data.WeightedRandomSampler([1.0] * 50, 44)},
    "subset": {"sampler": lambda: tl_data.SubsetRandomSampler(list(range(0, 50, 2)))},
    "distributed": {"sampler": lambda: tl_data.DistributedSampler(Numbers(), 2, 1)},
    "unknown": {"sampler": lambda: Dice(50)},
    "own state": {"sampler": lambda: Turning(50)},
    "batch sampler": {"batch_sampler": lambda: Buckets(range(6), 2, False)},
    "single": {"shuffle": True, "batch_size": None},
}


def _generator():
    return tl_core.Generator().manual_seed(8)


def loader_of(options, workers, dataset=None, **more):
    result = {"num_workers": workers, **more}
    if "batch_sampler" not in options:
        result["batch_size"] = 4
    for name, value in options.items():
        result[name] = value() if callable(value) else _generator() if value == "loader" else value
    return tl_data.DataLoader(dataset or Numbers(), **result)


def broken_off(loader, count):
    """Trains for `count` batches of the second epoch; the state then, the rest of that epoch, and another epoch."""
    tl_core.manual_seed(1)
    random.seed(2)
    list(loader)
    iterator = iter(loader)
    for _ in range(count):
        next(iterator)
    state = loader.state_dict()
    value = pickle.dumps((state, tl_core.get_rng_state(), random.getstate()))
    return value, [plain(list(iterator)), plain(list(loader))]


def gone_on(loader, kept):
    """The same, from the state."""
    state, default, own = pickle.loads(kept)
    tl_core.set_rng_state(default)
    random.setstate(own)
    loader.load_state_dict(state)
    return [plain(list(loader)) for _ in range(2)]


@pytest.mark.parametrize("options", SAMPLERS.values(), ids=SAMPLERS.keys())
@pytest.mark.parametrize("before, after", [(0, 0), (2, 2), (0, 3), (3, 0)])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_resumed_run_sees_what_the_unbroken_one_sees(options, before, after, count):
    context = {w: {"multiprocessing_context": "thread"} if w else {} for w in (before, after)}
    value, expected = broken_off(loader_of(options, before, **context[before]), count)
    assert gone_on(loader_of(options, after, **context[after]), value) == expected


@pytest.mark.parametrize("before, after", [(2, 0), (1, 3)])
def test_with_processes(before, after):
    dataset = tl_data.Seeded(Noisy(30), seed=3)
    options = SAMPLERS["shuffled"]
    value, expected = broken_off(loader_of(options, before, dataset), 2)
    assert gone_on(loader_of(options, after, dataset), value) == expected


@given(st.integers(0, 13), st.integers(0, 3))
def test_at_any_batch(count, epochs):
    def fresh():
        return tl_data.DataLoader(Numbers(), batch_size=4, shuffle=True, generator=_generator())

    loader = fresh()
    for _ in range(epochs):
        list(loader)
    iterator = iter(loader)
    for _ in range(count):
        next(iterator)
    resumed = fresh()
    resumed.load_state_dict(loader.state_dict())
    assert plain(list(resumed)) == plain(list(iterator))
    assert plain(list(resumed)) == plain(list(loader))


def test_after_an_epoch_has_ended():
    options = SAMPLERS["own generator"]
    first = loader_of(options, 0)
    list(first)
    second = loader_of(options, 0)
    second.load_state_dict(pickle.loads(pickle.dumps(first.state_dict())))
    assert plain(list(second)) == plain(list(first))
    assert second.epoch == first.epoch == 2


def test_twice_broken_off():
    options = SAMPLERS["unknown"]
    random.seed(1)
    loader = loader_of(options, 0)
    iterator = iter(loader)
    next(iterator)
    loader.state_dict()
    next(iterator)
    state = loader.state_dict()
    rest = plain(list(iterator))
    once = loader_of(options, 0)
    once.load_state_dict(state)
    again = iter(once)
    assert plain(next(again)) == rest[0]
    twice = loader_of(options, 0)
    twice.load_state_dict(once.state_dict())
    assert plain(list(twice)) == rest[1:]


def test_out_of_order():
    loader = tl_data.DataLoader(Numbers(), batch_size=4, num_workers=3, in_order=False)
    iterator = iter(loader)
    records = [n for _ in range(5) for n in next(iterator).tolist()]
    resumed = tl_data.DataLoader(Numbers(), batch_size=4, num_workers=2)
    resumed.load_state_dict(loader.state_dict())
    records += [n for batch in resumed for n in batch.tolist()]
    assert sorted(records) == list(range(50))


def test_fewer_workers_than_before():
    loader = tl_data.DataLoader(Numbers(), num_workers=5, multiprocessing_context="thread")
    iterator = iter(loader)
    for _ in range(4):
        next(iterator)
    resumed = tl_data.DataLoader(Numbers(), num_workers=2, multiprocessing_context="thread")
    resumed.load_state_dict(loader.state_dict())
    assert plain(list(resumed)) == [[n] for n in range(4, 50)]


@pytest.mark.parametrize("kind", [Stream, KeptStream])
@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("count", [0, 1, 4])
@pytest.mark.filterwarnings("ignore:the dataset is not Resumable")
def test_streams(kind, workers, count):
    context = {"multiprocessing_context": "thread"} if workers else {}
    value, expected = broken_off(loader_of({}, workers, kind(), **context), count)
    assert gone_on(loader_of({}, workers, kind(), **context), value) == expected


def test_a_stream_that_keeps_its_own_position():
    loader = tl_data.DataLoader(SelfKeptStream(), batch_size=4)
    iterator = iter(loader)
    next(iterator)
    resumed = tl_data.DataLoader(SelfKeptStream(), batch_size=4)
    resumed.load_state_dict(loader.state_dict())
    assert plain(list(resumed))[0] == [4, 5, 6, 7]


def test_streams_that_are_read_again_say_so():
    loader = tl_data.DataLoader(Stream(), batch_size=4)
    next(iter(loader))
    with pytest.warns(UserWarning, match="not Resumable: the 4 samples .* are read again and dropped"):
        tl_data.DataLoader(Stream(), batch_size=4).load_state_dict(loader.state_dict())


class Private:
    """Has a state that is nobody's business."""

    def state_dict(self):
        raise AssertionError("nobody was promised this")

    load_state_dict = state_dict


class PrivateStream(Private, Stream):
    """A stream with a state of its own."""


class PrivateIterator(Private):
    """An iterator with a state of its own."""

    def __init__(self, count):
        self.numbers = iter(range(count))

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.numbers)


class StreamOfPrivate(tl_data.IterableDataset):
    """A stream whose iterator has a state of its own."""

    def __iter__(self):
        return PrivateIterator(9)


class PrivateSampler(Private, tl_data.Sampler):
    """An order with a state of its own."""

    def __iter__(self):
        return iter(range(9))


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("dataset", [PrivateStream(9), StreamOfPrivate()])
def test_a_state_that_was_not_promised_is_not_asked_for(workers, dataset):
    loader = loader_of({}, workers, dataset, **({"multiprocessing_context": "thread"} if workers else {}))
    iterator = iter(loader)
    first = plain(next(iterator))
    state = loader.state_dict()
    assert [first, *plain(list(iterator))] == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]
    with pytest.warns(UserWarning, match="not Resumable: the 4 samples"):
        loader.load_state_dict(state)
    assert plain(list(loader)) == [[4, 5, 6, 7], [8]]


def test_a_sampler_whose_state_was_not_promised():
    loader = loader_of({"sampler": PrivateSampler()}, 0)
    next(iter(loader))
    resumed = loader_of({"sampler": PrivateSampler()}, 0)
    resumed.load_state_dict(loader.state_dict())
    assert plain(list(resumed)) == [[4, 5, 6, 7], [8]]


def test_a_class_may_be_registered():
    class Iterator(Private):
        state_dict = Counter.state_dict
        load_state_dict = Counter.load_state_dict
        __init__, __iter__, __next__ = Counter.__init__, Counter.__iter__, Counter.__next__

    class Registered(tl_data.IterableDataset):
        def __iter__(self):
            return Iterator(0, 1, 9)

    tl_data.Resumable.register(Iterator)
    loader = loader_of({}, 0, Registered())
    next(iter(loader))
    assert loader.state_dict()["begun"]["streams"] == {0: {"iterator": {"at": 4}}}


def test_streams_need_as_many_workers():
    loader = tl_data.DataLoader(KeptStream(), num_workers=2, multiprocessing_context="thread")
    next(iter(loader))
    with pytest.raises(ValueError, match="taken with num_workers=2, the loader has 0"):
        tl_data.DataLoader(KeptStream()).load_state_dict(loader.state_dict())


def test_states_that_do_not_fit():
    with pytest.raises(ValueError, match="no state of a DataLoader"):
        tl_data.DataLoader(Numbers()).load_state_dict({"epoch": 3})
    loader = tl_data.DataLoader(Numbers(), shuffle=True)
    next(iter(loader))
    other = tl_data.DataLoader(Numbers(), sampler=Dice(50))
    other.load_state_dict(loader.state_dict())
    with pytest.raises(ValueError, match="another kind of sampler; Dice can't draw it again"):
        next(iter(other))


def test_an_order_without_end_must_have_a_state(monkeypatch):
    monkeypatch.setattr("tl_data.order.LONGEST", 100)
    loader = tl_data.DataLoader(Numbers(), batch_sampler=Endless())
    next(iter(loader))
    with pytest.raises(RuntimeError, match="order of Endless has no end in sight"):
        loader.state_dict()


class Endless:
    """A batch sampler that never ends."""

    def __iter__(self):
        while True:
            yield [1, 2]


def test_states_are_small():
    loader = tl_data.DataLoader(range(1_000_000), batch_size=4, shuffle=True)
    next(iter(loader))
    assert len(pickle.dumps(loader.state_dict())) < 20_000
