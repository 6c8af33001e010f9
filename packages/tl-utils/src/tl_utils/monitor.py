"""Statistics of a running program, and events for handlers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from typing import Any

from tl_core.base.native_enum import NativeEnum

__all__ = [
    "Aggregation",
    "Event",
    "EventHandlerHandle",
    "Stat",
    "TensorboardEventHandler",
    "data_value_t",
    "log_event",
    "register_event_handler",
    "unregister_event_handler",
]

_STAT = "torch.monitor.Stat"


class data_value_t:
    """The type of an event's data: str, float, int or bool."""

    types = (str, float, int, bool)

    def __new__(cls) -> data_value_t:
        raise TypeError("data_value_t: no constructor defined; use a str, float, int or bool")


class Aggregation(NativeEnum):
    """The aggregation of a `Stat` over the values of a window.

    Example:
        >>> Aggregation.MEAN.name
        'MEAN'
    """

    VALUE = 0  #: the last one
    MEAN = 2  #: their mean
    COUNT = 3  #: their number
    SUM = 4  #: their sum
    MAX = 5  #: the largest
    MIN = 6  #: the smallest


class Event:
    """Something that happened.

    Args:
        name: the kind of the event.
        timestamp: when.
        data: the data of the event.

    Raises:
        TypeError: an argument has the wrong type.

    Example:
        >>> event = Event("epoch", datetime(2025, 1, 1), {"loss": 0.5})
        >>> event.name, event.data
        ('epoch', {'loss': 0.5})
    """

    def __init__(self, name: str, timestamp: datetime, data: dict[str, str | float | int | bool]) -> None:
        self.name = name
        self.timestamp = timestamp
        self.data = data

    @property
    def name(self) -> str:
        """The kind of the event."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"Event: name must be a str, got {type(name).__name__}")
        self._name = name

    @property
    def timestamp(self) -> datetime:
        """When it happened."""
        return self._timestamp

    @timestamp.setter
    def timestamp(self, timestamp: datetime) -> None:
        if not isinstance(timestamp, datetime):
            raise TypeError(f"Event: timestamp must be a datetime, got {type(timestamp).__name__}")
        self._timestamp = timestamp

    @property
    def data(self) -> dict[str, str | float | int | bool]:
        """A copy of the data."""
        return dict(self._data)

    @data.setter
    def data(self, data: dict[str, str | float | int | bool]) -> None:
        for key, value in data.items():
            if not isinstance(key, str) or not isinstance(value, data_value_t.types):
                raise TypeError(
                    f"Event: data must map str to str, float, int or bool, got {key!r}: {value!r}"
                )
        self._data = dict(data)

    def __repr__(self) -> str:
        return f"Event(name={self.name!r}, timestamp={self.timestamp!r}, data={self._data!r})"


class EventHandlerHandle:
    """The handle of a registered handler, from `register_event_handler`.

    Example:
        >>> handle = register_event_handler(lambda event: None)
        >>> type(handle).__name__
        'EventHandlerHandle'
        >>> unregister_event_handler(handle)
    """

    def __init__(self) -> None:
        raise TypeError("EventHandlerHandle: no constructor defined; register_event_handler makes it")


_handlers: dict[EventHandlerHandle, Callable[[Event], None]] = {}
_lock = threading.Lock()


def register_event_handler(callback: Callable[[Event], None]) -> EventHandlerHandle:
    """From now on, `log_event` calls a function with each event.

    It runs in the thread that logs, so it should not take long.

    Args:
        callback: the function that is called with each event.

    Returns:
        EventHandlerHandle, for `unregister_event_handler`.

    Raises:
        TypeError: `callback` can't be called.

    Example:
        >>> heard = []
        >>> handle = register_event_handler(heard.append)
        >>> log_event(Event("epoch", datetime(2025, 1, 1), {"loss": 0.5}))
        >>> unregister_event_handler(handle)
        >>> heard[0].data
        {'loss': 0.5}
    """
    if not callable(callback):
        raise TypeError(f"register_event_handler: callback must be callable, got {type(callback).__name__}")
    handle = object.__new__(EventHandlerHandle)
    with _lock:
        _handlers[handle] = callback
    return handle


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """Unregisters a handler. A second call has no effect.

    Args:
        handler: the result of `register_event_handler`.

    Raises:
        TypeError: it is something else.

    Example:
        >>> handle = register_event_handler(print)
        >>> unregister_event_handler(handle)
    """
    if not isinstance(handler, EventHandlerHandle):
        raise TypeError(
            f"unregister_event_handler: handler must be an EventHandlerHandle, got {type(handler).__name__}"
        )
    with _lock:
        _handlers.pop(handler, None)


def log_event(event: Event) -> None:
    """Calls all handlers with an event, in the order in which they were registered.

    Args:
        event: the event.

    Raises:
        TypeError: it is no Event.

    Example:
        >>> import datetime
        >>> seen = []
        >>> handle = register_event_handler(lambda event: seen.append(event.name))
        >>> log_event(Event("epoch", datetime.datetime(2026, 1, 1), {"loss": 0.5}))
        >>> unregister_event_handler(handle)
        >>> seen
        ['epoch']
    """
    if not isinstance(event, Event):
        raise TypeError(f"log_event: event must be an Event, got {type(event).__name__}")
    with _lock:
        callbacks = list(_handlers.values())
    for callback in callbacks:
        callback(event)


_NO_LIMIT = 2**63 - 1

_REDUCE: dict[Aggregation, Callable[[list[float]], float]] = {
    Aggregation.VALUE: lambda values: values[-1],
    Aggregation.MEAN: lambda values: sum(values) / len(values),
    Aggregation.COUNT: len,
    Aggregation.SUM: sum,
    Aggregation.MAX: max,
    Aggregation.MIN: min,
}


class Stat:
    """Collects values over windows of time, and logs an event for each.

    The event, `torch.monitor.Stat`, has an entry `NAME.AGGREGATION` for each aggregation. It is logged by the first
    `add` after the window has passed, or as soon as there are `max_samples` values; further values of that window are
    dropped. What is left is logged when the Stat goes.

    Args:
        name: its name.
        aggregations: the aggregations of the values.
        window_size: how long a window is, in whole milliseconds.
        max_samples: how many values a window has at most.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: `window_size` or `max_samples` isn't positive.

    Example:
        >>> stat = Stat("loss", [Aggregation.SUM, Aggregation.COUNT], timedelta(hours=1), max_samples=2)
        >>> stat.add(1.0)
        >>> stat.count
        1
        >>> stat.add(2.0)
        >>> stat.get()[Aggregation.SUM], stat.count
        (3.0, 0)
    """

    def __init__(self, name: str, aggregations: Sequence[Aggregation], window_size: timedelta,
                 max_samples: int = _NO_LIMIT) -> None:  # fmt: skip
        self._values: list[float] = []  # first, because __del__ reads it whatever goes wrong here
        if not isinstance(name, str) or not isinstance(window_size, timedelta):
            raise TypeError(
                f"Stat(): expected name: str and window_size: timedelta, got {type(name).__name__} and "
                f"{type(window_size).__name__}"
            )
        kinds = list(aggregations)
        if not all(isinstance(a, Aggregation) for a in kinds):
            raise TypeError(f"Stat(): aggregations must be Aggregations, got {kinds}")
        window = window_size // timedelta(milliseconds=1)
        if window <= 0 or max_samples <= 0:
            raise ValueError(
                f"Stat(): window_size and max_samples must be positive, got {window_size}, {max_samples}"
            )
        self._name, self._aggregations, self._window, self._most = name, kinds, window, max_samples
        self._lock = threading.RLock()  # a handler may ask for `count`
        self._previous: dict[Aggregation, float] = {}
        self._logged_window = self._current_window = self._now()

    def _now(self) -> int:
        return int(time.monotonic() * 1000) // self._window

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def count(self) -> int:
        """The number of values since the last event."""
        with self._lock:
            return len(self._values)

    def add(self, v: float) -> None:
        """Adds a value.

        Args:
            v: the value.

        Raises:
            TypeError: it is no number.
        """
        value = float(v)
        with self._lock:
            now = self._now()
            if now != self._current_window:
                self._log()
                self._current_window, self._full = now, False
            if self._full:
                return
            self._values.append(value)
            if len(self._values) >= self._most:
                self._log()
                self._full = True

    _full = False

    def get(self) -> dict[Aggregation, float]:
        """The aggregates of the current values, or else of the last event, for tests.

        Returns:
            dict of float by Aggregation.
        """
        with self._lock:
            return self._reduce() if self._values else dict(self._previous)

    def _reduce(self) -> dict[Aggregation, float]:
        return {a: float(_REDUCE[a](self._values)) for a in self._aggregations}

    def _log(self) -> None:
        if not self._values:
            return
        self._previous = self._reduce()
        self._values = []
        data: dict[str, str | float | int | bool] = {
            f"{self._name}.{a.name.lower()}": value for a, value in self._previous.items()
        }
        log_event(Event(_STAT, datetime.now(), data))

    def __del__(self) -> None:
        if self._values:
            self._log()


class TensorboardEventHandler:
    """Writes the events of `Stat` as scalars and ignores other events.

    Args:
        writer: a SummaryWriter.

    Example:
        >>> class Writer:
        ...     def add_scalar(self, tag, value, walltime=None):
        ...         print(tag, value)
        >>> handle = register_event_handler(TensorboardEventHandler(Writer()))
        >>> Stat("loss", [Aggregation.MEAN], timedelta(hours=1), max_samples=1).add(0.5)
        loss.mean 0.5
        >>> unregister_event_handler(handle)
    """

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def __call__(self, event: Event) -> None:
        if event.name == _STAT:
            for tag, value in event.data.items():
                self._writer.add_scalar(tag, value, walltime=event.timestamp.timestamp())


class _WaitCounter:
    """Counts how often, and how long, something was waited for.

    Args:
        key: its name. Counters of one name share a value.
    """

    _totals: dict[str, tuple[int, float]] = {}  # noqa: RUF012 - shared on purpose

    def __init__(self, key: str) -> None:
        self.key = key

    def guard(self) -> AbstractContextManager[None]:
        """Inside, it waits."""
        return self._guard()

    @contextmanager
    def _guard(self) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            took = time.perf_counter() - start
            with _lock:
                count, total = self._totals.get(self.key, (0, 0.0))
                self._totals[self.key] = count + 1, total + took
