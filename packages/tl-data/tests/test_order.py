"""Orders of keys from any position, the progress of an epoch, and the states of their sources."""

import pytest
from samples import Numbers, Turning

import tl_core
import tl_data
from tl_data.iterators import draw_seed
from tl_data.order import Order, cut, deciding
from tl_data.sampler import DrawnSampler, generator_at
from tl_data.state import Progress, of_sources, set_sources

SEEDS = [900450186894289455, 3969543146641149120]  # of a generator with the seed 0, recorded from PyTorch


class Backwards(DrawnSampler):
    """Keys from a start down to 0, in chunks of a tensor and of a list."""

    def __init__(self, count):
        self.count = count

    def start(self):
        return self.count

    def index_chunks(self, start, again=False):
        keys = list(range(start - 1, -1, -1))
        yield from (tl_core.tensor(keys[:3]), tl_core.tensor(keys[3:]))


class Doubled(Backwards):
    """A subclass with keys of its own."""

    def __iter__(self):
        return (2 * key for key in super().__iter__())


def batches(sampler, size=2, drop_last=False):
    return tl_data.BatchSampler(sampler, size, drop_last)


def lists(keys):
    return [each.tolist() if isinstance(each, tl_core.Tensor) else each for each in keys]


def test_chunks_are_cut_across_their_ends():
    assert list(cut([[1, 2, 3], [4], [], [5, 6, 7]], 2, False)) == [[1, 2], [3, 4], [5, 6], [7]]
    assert list(cut([[1, 2, 3]], 2, True)) == [[1, 2]] and list(cut([], 2, False)) == []
    assert lists(cut([tl_core.arange(3), tl_core.arange(3, 5)], 4, False)) == [[0, 1, 2, 3], [4]]


def test_the_sampler_that_decides():
    inner = Backwards(3)
    assert deciding(batches(inner)) is inner and deciding(inner) is inner

    class Own(tl_data.BatchSampler):
        def __iter__(self):
            return iter([[1]])

    own = Own(inner, 2, False)
    assert deciding(own) is own


def test_drawn_orders_begin_anywhere():
    assert list(Backwards(5)) == [4, 3, 2, 1, 0] and list(Order(Backwards(5))) == [4, 3, 2, 1, 0]
    order = Order(batches(Backwards(5)))
    assert order.state() is None and lists(order) == [[4, 3], [2, 1], [0]]
    assert order.state() == {"kind": "drawn", "start": 5}
    assert lists(Order(batches(Backwards(9)), order.state(), 1)) == [[2, 1], [0]]
    with pytest.raises(ValueError, match="list can't draw it again"):
        Order([1], order.state(), 1)


def test_the_state_of_another_order_lists_the_rest():
    order = Order(batches(Doubled(5)))
    assert [next(order), next(order)] == [[8, 6], [4, 2]]
    order.handed_out()
    state = order.state()
    assert state == {"kind": "rest", "keys": [[4, 2], [0]]}
    assert next(order) == [0] and list(Order(batches(Doubled(5)), state, 1)) == [[4, 2], [0]]


def test_resumable_samplers_are_set_back():
    first = Order(batches(Turning(6)))
    full = list(first)
    assert first.state()["kind"] == "own" and list(Order(batches(Turning(6)), first.state(), 1)) == full[1:]


def test_samplers_must_have_an_order():
    sampler = DrawnSampler()
    for call in (sampler.start, lambda: sampler.index_chunks(0), lambda: list(sampler)):
        with pytest.raises(NotImplementedError):
            call()


def test_generators_of_an_epoch():
    own = tl_core.Generator().manual_seed(5)
    start = own.get_state()
    assert (
        generator_at(None, start, False) is tl_core.default_generator
        and generator_at(own, start, False) is own
    )
    samples = tl_core.rand(2, generator=own)
    assert generator_at(own, start, True) is own and tl_core.equal(tl_core.rand(2, generator=own), samples)
    before = tl_core.get_rng_state()
    assert tl_core.equal(tl_core.rand(2, generator=generator_at(None, start, True)), samples)
    assert tl_core.equal(tl_core.get_rng_state(), before)


def test_seeds_of_epochs_are_those_of_PyTorch():
    generator = tl_core.Generator().manual_seed(0)
    assert [draw_seed(generator) for _ in range(2)] == SEEDS
    tl_core.manual_seed(0)
    assert draw_seed(None) == SEEDS[0]


def test_progress_counts_batches_in_order():
    order = Order(batches(Doubled(9)))
    progress = Progress(3, 77, order)
    for _ in range(3):
        next(order)
    progress.hand_out(1)
    assert (progress.done, progress.ahead) == (0, {1})
    progress.hand_out(0)
    assert (progress.done, progress.ahead) == (2, set())
    progress.next_worker, progress.streams = 1, {1: {"skip": 4}}
    state = progress.state_dict()
    assert state["order"]["keys"] == [[8, 6], [4, 2], [0]] and (state["done"], state["base_seed"]) == (2, 77)
    resumed = Progress(3, 77, Order(batches(Doubled(9)), state["order"]), state)
    assert (resumed.done, resumed.next_worker, resumed.streams) == (2, 1, {1: {"skip": 4}})


def test_states_of_generators_and_samplers():
    own, other = tl_core.Generator().manual_seed(5), tl_core.Generator().manual_seed(6)
    sampler = batches(tl_data.RandomSampler(Numbers(), generator=other))
    state = of_sources(own, sampler)
    samples = [tl_core.rand(1, generator=g).item() for g in (own, other)]
    set_sources(state, own, sampler)
    assert [tl_core.rand(1, generator=g).item() for g in (own, other)] == samples and state["sampler"] is None
    assert of_sources(None, batches([1])) == {"generator": None, "sampler_generator": None, "sampler": None}
    turning = Turning(6)
    state = of_sources(None, batches(turning))
    orders = [list(turning), list(turning)]
    set_sources(state, None, batches(turning))
    assert [list(turning), list(turning)] == orders and orders[0] != orders[1]
