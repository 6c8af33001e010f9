"""Statistics, events and their handlers."""

from __future__ import annotations

import gc
import time
from datetime import datetime, timedelta

import pytest

from tl_utils.monitor import (
    Aggregation,
    Event,
    EventHandlerHandle,
    Stat,
    TensorboardEventHandler,
    _WaitCounter,
    data_value_t,
    log_event,
    register_event_handler,
    unregister_event_handler,
)

HOUR = timedelta(hours=1)


@pytest.fixture
def heard():
    events = []
    handle = register_event_handler(events.append)
    yield events
    unregister_event_handler(handle)


def test_aggregations(heard):
    stat = Stat("s", list(Aggregation), HOUR, max_samples=3)
    for value in (2.0, 5.0, 1.0):
        stat.add(value)
    expected = {"value": 1.0, "mean": 8 / 3, "count": 3, "sum": 8.0, "max": 5.0, "min": 1.0}
    assert heard[0].name == "torch.monitor.Stat"
    assert heard[0].data == {f"s.{k}": v for k, v in expected.items()}
    assert {a.name.lower(): v for a, v in stat.get().items()} == expected
    assert abs(heard[0].timestamp - datetime.now()) < timedelta(minutes=1)


def test_a_full_window_takes_no_more(heard):
    stat = Stat("s", [Aggregation.SUM], HOUR, 2)
    for value in range(10):
        stat.add(value)
    assert stat.count == 0
    assert [e.data for e in heard] == [{"s.sum": 1.0}]


def test_windows_pass(heard):
    stat = Stat("s", [Aggregation.COUNT], timedelta(milliseconds=1))
    stat.add(1)
    deadline = time.monotonic() + 10
    while not heard and time.monotonic() < deadline:
        time.sleep(0.002)
        stat.add(1)
    assert heard


def test_the_rest_is_logged_at_the_end(heard):
    stat = Stat("s", [Aggregation.SUM], HOUR)
    stat.add(4)
    assert stat.get() == {Aggregation.SUM: 4.0}
    del stat
    gc.collect()
    assert [e.data for e in heard] == [{"s.sum": 4.0}]


def test_handlers_come_and_go(heard):
    event = Event("e", datetime.now(), {"a": "b", "c": 1, "d": 1.5, "e": True})
    more = []
    handle = register_event_handler(more.append)
    log_event(event)
    unregister_event_handler(handle)
    unregister_event_handler(handle)
    log_event(event)
    assert len(more) == 1
    assert heard == [event, event]


def test_scalars_are_written(heard):
    text = []

    class Writer:
        def add_scalar(self, tag, value, walltime):
            text.append((tag, value, walltime))

    handle = register_event_handler(TensorboardEventHandler(Writer()))
    Stat("s", [Aggregation.MAX], HOUR, 1).add(3)
    log_event(Event("other", datetime.now(), {"a": 1}))
    unregister_event_handler(handle)
    assert [w[:2] for w in text] == [("s.max", 3.0)]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: Stat("s", [1], HOUR), TypeError),
        (lambda: Stat("s", [], timedelta(0)), ValueError),
        (lambda: Stat("s", [], HOUR, 0), ValueError),
        (lambda: Stat(1, [], HOUR), TypeError),
        (lambda: Event(1, datetime.now(), {}), TypeError),
        (lambda: Event("e", 0, {}), TypeError),
        (lambda: Event("e", datetime.now(), {"a": []}), TypeError),
        (lambda: log_event("e"), TypeError),
        (lambda: register_event_handler(1), TypeError),
        (lambda: unregister_event_handler(1), TypeError),
        (EventHandlerHandle, TypeError),
        (data_value_t, TypeError),
        (lambda: Stat("s", [], HOUR).add("x"), ValueError),
    ],
)
def test_wrong_uses(call, error):
    with pytest.raises(error):
        call()


def test_waits_are_counted():
    counter = _WaitCounter("test")
    with counter.guard():
        pass
    with _WaitCounter("test").guard():
        pass
    assert counter._totals["test"][0] == 2
