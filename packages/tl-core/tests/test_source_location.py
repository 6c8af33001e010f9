"""Lines of writes: the first one after a version, in the frame outside of tl."""

import gc
import inspect
import threading

import pytest

import tl_core as tl
from tl_core import _C
from tl_core.base import source_location


def line():
    return inspect.currentframe().f_back.f_lineno


def here(text):
    return f"{__file__}:{text}"


def test_every_kind_of_write():
    t, at = tl.zeros(3), []
    writes = [
        lambda: t.add_(1),
        lambda: t.__setitem__(0, 1.0),
        lambda: t.__iadd__(1),
        lambda: tl.add(t, 1, out=t),
        lambda: tl._foreach_add_([t], 1.0),
    ]
    for write in writes:
        at.append(t._version)
        write()
    for write, version in zip(writes, at, strict=True):
        message = source_location.change(t, version)
        assert message.startswith(here(write.__code__.co_firstlineno)), message
    assert source_location.change(t, t._version) == ""


def test_writes_through_views_and_of_others():
    t, other = tl.zeros(4), tl.zeros(4)
    other.add_(1)
    assert source_location.change(t, 0) == ""
    t[1:].mul_(2)
    at = line() - 1
    other.add_(1)
    assert source_location.change(t, 0).startswith(
        here(f"{at}, in test_writes_through_views_and_of_others: t[1:].mul_(2)")
    )


def test_old_writes_and_dead_code_have_no_line():
    t = tl.zeros(1)
    t.add_(1)
    for _ in range(600):
        tl.zeros(1).add_(1)
    assert source_location.change(t, 0) == ""
    exec(compile("t.add_(1)", "gone.py", "exec"), {"t": t})
    assert source_location.change(t, 1).startswith(here(f"{line() - 1}, in test_old_writes"))


def test_writes_of_large_tensors_and_other_threads():
    t = tl.zeros(100_000)

    def write():
        t.add_(1)

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    assert f"in {write.__qualname__}" in source_location.change(t, 0)


def test_addresses_that_mean_nothing():
    assert source_location.where([0, 1, 2**40]) == ""
    with pytest.raises(TypeError, match="expected a Tensor, got int"):
        _C._write_after(3, 0)


def test_a_search_leaves_no_cycles():
    source_location.where([1])
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            source_location.where([1])
        assert gc.collect() < 20
    finally:
        gc.enable()
