"""Memory that can be counted, traced to a line, and bounded."""

from __future__ import annotations

import sys
import threading

import pytest

import tl_core as tl
from tl_core.memory import usage as memory

MIB = 1 << 20


@pytest.fixture
def limit():
    yield memory.set_memory_limit
    memory.set_memory_limit(None)


def groups_here():
    return {g["line"]: g for g in memory.memory_snapshot() if g["filename"] == __file__}


def line():
    return sys._getframe(1).f_lineno


def test_the_bytes_of_tensors_are_counted():
    before = memory.memory_allocated()
    x = tl.empty(1000, 1000)
    y = x[10:]  # a view has no memory of its own
    value = memory.memory_allocated() - before
    assert (
        x.untyped_storage().nbytes() == 4_000_000 <= value < 4_001_000
    )  # with what describes the two tensors
    del x, y
    assert memory.memory_allocated() == before


def test_the_peak_is_kept_until_it_is_reset():
    memory.reset_peak_memory_stats()
    before = memory.memory_allocated()
    x = tl.empty(8 * MIB, dtype=tl.uint8)
    del x
    assert memory.max_memory_allocated() - before == pytest.approx(8 * MIB, abs=1 << 16)
    memory.reset_peak_memory_stats()
    assert memory.max_memory_allocated() == pytest.approx(before, abs=1 << 16)


def test_free_blocks_are_kept_and_given_back():
    memory.empty_cache()
    value = memory.memory_reserved()
    x = tl.empty(8 * MIB, dtype=tl.uint8)
    del x
    stats = memory.memory_stats()
    assert stats["cached"] >= 0 and memory.memory_reserved() == stats["allocated"] + stats["cached"]
    memory.empty_cache()
    assert memory.memory_reserved() <= value + MIB


def test_large_blocks_name_the_line_that_made_them():
    x, here = tl.zeros(1 << 20), line()
    y, there = (x + x), line()  # works without the interpreter's lock
    result = groups_here()
    assert result[here]["bytes"] == result[there]["bytes"] == 4 * MIB
    assert result[here]["function"] == "test_large_blocks_name_the_line_that_made_them"
    del x, y
    assert not groups_here()


def test_blocks_of_one_line_are_one_group():
    many = [tl.empty(MIB, dtype=tl.uint8) for _ in range(5)]
    (group,) = groups_here().values()
    assert (group["blocks"], group["bytes"]) == (5, 5 * MIB)
    assert "5 blocks" in memory.memory_summary()
    del many


def test_small_blocks_are_recorded_on_request():
    with memory.record_memory(min_bytes=4096):
        x, here = tl.empty(5000, dtype=tl.uint8), line()
        small = tl.empty(3000, dtype=tl.uint8)
        assert groups_here()[here]["bytes"] == 5000 and len(groups_here()) == 1
    del x, small
    assert not groups_here()


class Doubling:
    """What record_memory asks of a module."""

    def __init__(self):
        self.before, self.after = {}, {}

    def named_modules(self):
        yield "enc.2", self

    def register_forward_pre_hook(self, hook, *, prepend=False):
        return Handle(self.before, hook)

    def register_forward_hook(self, hook, *, always_call=False):
        return Handle(self.after, hook)

    def __call__(self, x):
        for hook in [*self.before.values()]:
            hook(self, (x,))
        try:
            return x.add(x)
        finally:
            for hook in [*self.after.values()]:
                hook(self, (x,), None)


class Handle:
    def __init__(self, hooks, hook):
        self.hooks = hooks
        hooks[id(self)] = hook

    def remove(self):
        del self.hooks[id(self)]


def test_blocks_name_their_module_while_they_are_recorded():
    model, x = Doubling(), tl.zeros(3000)
    with memory.record_memory(model):
        inside, outside = model(x), x.clone()
        result = {g["module"]: g["bytes"] for g in groups_here().values()}
        with pytest.raises(AttributeError):
            model(tl.zeros(2).fill_)  # no tensor: the scope is left all the same
        after = x.clone()
    assert result == {"enc.2": 12000, "": 12000}
    assert not model.before and not model.after
    del inside, outside, after


def test_the_limit_is_an_error_and_the_process_goes_on(limit):
    value = memory.memory_allocated()
    limit(value + 10 * MIB)
    x, here = tl.zeros(6 * MIB, dtype=tl.uint8), line()
    with pytest.raises(tl.OutOfMemoryError) as caught:
        x.clone()
    text = str(caught.value)
    assert f"you tried to allocate {6 * MIB} bytes (6.00 MiB)" in text
    assert f"6.00 MiB in 1 block: {__file__}:{here} in test_the_limit" in text
    del x
    assert tl.ones(6 * MIB, dtype=tl.uint8).sum().item() == 6 * MIB


def test_small_tensors_meet_the_limit_too(limit):
    limit(memory.memory_allocated() + 4 * MIB)
    many = []
    with pytest.raises(tl.OutOfMemoryError):
        many.extend(tl.empty(1024, dtype=tl.uint8) for _ in range(100_000))
    assert 2000 < len(many) < 8000


def test_free_blocks_do_not_count(limit):
    x = tl.empty(64 * MIB, dtype=tl.uint8)
    del x
    limit(memory.memory_allocated() + 65 * MIB)
    assert tl.empty(64 * MIB, dtype=tl.uint8).numel() == 64 * MIB


@pytest.mark.parametrize(
    ("text", "number"),
    [("8GiB", 8 << 30), ("500 MB", 500_000_000), (4096, 4096), ("1.5kib", 1536), ("77", 77)],
)
def test_sizes_may_be_written_with_units(limit, text, number):
    limit(text)
    assert memory.get_memory_limit() == number
    limit(None)
    assert memory.get_memory_limit() != number


@pytest.mark.parametrize("bad", ["8 apples", "", "GiB", -1, "-3MB", 2**63, float("nan"), float("inf")])
def test_what_is_no_size_is_refused(limit, bad):
    before = memory.get_memory_limit()
    with pytest.raises(ValueError, match="set_memory_limit"):
        limit(bad)
    assert memory.get_memory_limit() == before


@pytest.mark.parametrize("bad", [[], True, b"1"])
def test_what_is_no_number_is_refused(limit, bad):
    with pytest.raises(TypeError, match="set_memory_limit"):
        limit(bad)


def test_counts_hold_with_several_threads():
    before = memory.memory_allocated()

    def work():
        for _ in range(200):
            tl.empty(100_000).fill_(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert memory.memory_allocated() == before
    assert not groups_here()
