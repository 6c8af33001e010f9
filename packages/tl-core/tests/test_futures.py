"""Futures: values that somebody sets once."""

from __future__ import annotations

import logging
import pickle
import threading

import pytest

from tl_core.futures import Future, collect_all, wait_all


def test_a_value_is_waited_for():
    future: Future[int] = Future()
    assert not future.done()
    with pytest.raises(RuntimeError, match="not done"):
        future.value()
    timer = threading.Timer(0.02, future.set_result, (5,))
    timer.start()
    assert future.wait() == 5
    assert future.done() and future.value() == 5
    timer.join()
    with pytest.raises(RuntimeError, match="only be marked completed once"):
        future.set_result(6)
    with pytest.raises(RuntimeError, match="only be marked completed once"):
        future.set_exception(ValueError())


def test_an_exception_is_raised_where_the_value_is_wanted():
    future: Future[int] = Future()
    following = future.then(lambda done: done.wait() + 1)
    future.set_exception(ValueError("foo"))
    for ask in (future.wait, future.value):
        with pytest.raises(ValueError, match="foo"):
            ask()
    with pytest.raises(RuntimeError, match="error when running the callback: ValueError: foo") as failure:
        following.wait()
    assert isinstance(failure.value.__cause__, ValueError)
    with pytest.raises(ValueError, match="foo"):
        future.follow(lambda done: done.wait()).wait()
    with pytest.raises(AssertionError, match="expects an exception, got str"):
        Future().set_exception("text")


@pytest.mark.parametrize("early", [True, False])
def test_callbacks_follow_each_other(early):
    future: Future[int] = Future()
    if early:
        future.set_result(5)
    chained = future.then(lambda done: done.value() * 2).then(lambda done: done.value() + 1)
    records: list[int] = []
    future.add_done_callback(lambda done: records.append(done.value()))
    if not early:
        assert not chained.done() and records == []
        future.set_result(5)
    assert chained.value() == 11 and records == [5]


def test_a_callback_that_fails_stops_nobody(caplog):
    future: Future[int] = Future()
    future.add_done_callback(lambda done: 1 // 0)
    after = future.then(lambda done: done.value())
    with caplog.at_level(logging.ERROR):
        future.set_result(1)
    assert after.value() == 1
    assert "ZeroDivisionError" in caplog.text
    with pytest.raises(RuntimeError, match="callback: ZeroDivisionError: "):
        future.then(lambda done: 1 // 0).wait()


class LostRank(RuntimeError):
    """As of a library."""


def test_a_runtime_error_of_its_own_class_stays_one():
    future: Future[int] = Future()
    following = future.then(lambda done: done.value()).then(lambda done: done.value())
    future.set_exception(LostRank("rank 3"))
    with pytest.raises(LostRank, match=r"^rank 3$"):
        following.wait()


def test_several_at_once():
    futures: list[Future[int]] = [Future() for _ in range(3)]
    combined = collect_all(futures)
    for i, future in enumerate(futures):
        assert not combined.done()
        future.set_result(i)
    assert combined.wait() == futures
    assert wait_all(futures) == [0, 1, 2]
    assert wait_all([]) == []


def test_the_first_failure_of_several():
    futures: list[Future[int]] = [Future() for _ in range(3)]
    futures[0].set_result(0)
    futures[2].set_exception(ValueError("two"))
    futures[1].set_exception(KeyError("one"))
    with pytest.raises(KeyError, match="one"):
        wait_all(futures)


def test_a_future_stays_in_its_process():
    with pytest.raises(RuntimeError, match=r"Can not pickle torch\.futures\.Future"):
        pickle.dumps(Future())


@pytest.mark.parametrize("function", [wait_all, collect_all])
def test_none_is_no_future(function):
    with pytest.raises(RuntimeError, match="Future can't be None"):
        function([Future(), None])


def test_callbacks_are_functions():
    future: Future[int] = Future()
    for name in ("then", "add_done_callback"):
        with pytest.raises(TypeError, match=f"{name}.*callback must be a function, got NoneType"):
            getattr(future, name)(None)


def test_a_chain_of_more_links_than_python_has_frames():
    first = Future()
    last = first
    for _ in range(20000):
        last = last.then(lambda future: future.value() + 1)
    first.set_result(0)
    assert last.wait() == 20000


def test_callbacks_run_depth_first_in_the_order_in_which_they_came():
    calls, first = [], Future()
    left = first.then(lambda future: calls.append("left"))
    first.add_done_callback(lambda future: calls.append("after left"))
    left.add_done_callback(lambda future: calls.append("of left"))
    left.then(lambda future: calls.append("below left"))
    first.set_result(None)
    assert calls == ["left", "of left", "below left", "after left"]
