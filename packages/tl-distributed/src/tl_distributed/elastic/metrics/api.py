"""Numbers that agents tell: how long something took, how often it failed."""

from __future__ import annotations

import functools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

__all__ = [
    "ConsoleMetricHandler",
    "MetricData",
    "MetricHandler",
    "MetricStream",
    "MetricsConfig",
    "NullMetricHandler",
    "configure",
    "getStream",
    "prof",
    "put_metric",
]

_F = TypeVar("_F", bound=Callable[..., Any])


class MetricData(NamedTuple):
    """One number: when, in which group, its name, its value.

    Args:
        timestamp: when, in seconds since 1970.
        group_name: the group.
        name: its name.
        value: the number.

    Example:
        >>> MetricData(0, "trainer", "steps", 3).value
        3
    """

    timestamp: int
    group_name: str
    name: str
    value: int


class MetricsConfig:
    """Options for numbers.

    Args:
        params: by name.

    Example:
        >>> MetricsConfig({"folder": "numbers"}).params
        {'folder': 'numbers'}
    """

    def __init__(self, params: dict[str, str] | None = None):
        self.params = params or {}


class MetricHandler(ABC):
    """The receiver of numbers.

    Example:
        >>> class Print(MetricHandler):
        ...     def emit(self, metric_data):
        ...         print(metric_data.name, metric_data.value)
        ...
        >>> Print().emit(MetricData(0, "trainer", "steps", 3))
        steps 3
    """

    @abstractmethod
    def emit(self, metric_data: MetricData) -> None:
        """Takes one number."""


class ConsoleMetricHandler(MetricHandler):
    """Prints numbers.

    Example:
        >>> ConsoleMetricHandler().emit(MetricData(0, "job", "restarts", 1))
        [0][job]: restarts=1
    """

    def emit(self, metric_data: MetricData) -> None:
        print(f"[{metric_data.timestamp}][{metric_data.group_name}]: {metric_data.name}={metric_data.value}")


class NullMetricHandler(MetricHandler):
    """Takes numbers and forgets them.

    Example:
        >>> NullMetricHandler().emit(MetricData(0, "trainer", "steps", 3))
    """

    def emit(self, metric_data: MetricData) -> None:
        return None


class MetricStream:
    """The numbers of a group.

    Args:
        group_name: the group.
        handler: where they go.
    """

    def __init__(self, group_name: str, handler: MetricHandler):
        self.group_name = group_name
        self.handler = handler

    def add_value(self, metric_name: str, metric_value: int) -> None:
        """Tells one number."""
        self.handler.emit(MetricData(int(time.time()), self.group_name, metric_name, metric_value))


_handlers: dict[str, MetricHandler] = {}
_default: MetricHandler = NullMetricHandler()


def configure(handler: MetricHandler, group: str | None = None) -> None:
    """Says where numbers go: those of a group, or of all groups without a handler of their own.

    Args:
        handler: where they go.
        group: the group.

    Example:
        >>> configure(NullMetricHandler(), group="trainer")
    """
    global _default
    if group is None:
        _default = handler
    else:
        _handlers[group] = handler


def getStream(group: str) -> MetricStream:
    """The numbers of a group.

    Example:
        >>> getStream("trainer").add_value("steps", 3)
    """
    return MetricStream(group, _handlers.get(group, _default))


def put_metric(metric_name: str, metric_value: int, metric_group: str = "torchelastic") -> None:
    """Tells one number.

    Args:
        metric_name: its name.
        metric_value: its value.
        metric_group: its group.

    Example:
        >>> configure(ConsoleMetricHandler(), "quiet job")
        >>> configure(NullMetricHandler(), "quiet job")
        >>> put_metric("restarts", 1, "quiet job")
    """
    getStream(metric_group).add_value(metric_name, metric_value)


def prof(fn: _F | None = None, group: str = "torchelastic") -> Any:
    """Decorates a function: it tells how often it succeeds and fails, and its time in milliseconds.

    Args:
        fn: the function.
        group: the group of the numbers, named after the function.

    Example:
        >>> @prof
        ... def save():
        ...     return 1
        >>> save()
        1
    """

    def decorate(function: _F) -> Any:
        name = function.__qualname__

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            ending = "failure"
            try:
                result = function(*args, **kwargs)
                ending = "success"
                return result
            finally:
                put_metric(f"{name}.{ending}", 1, group)
                took = int((time.perf_counter() - start) * 1000)
                put_metric(f"{name}.duration.ms", took, group)

        return call

    return decorate if fn is None else decorate(fn)
