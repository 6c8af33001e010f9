"""Streams and events of the CPU. It does its work in the order of the calls, so they have nothing to do."""

from time import perf_counter
from typing import Any, Self

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "stream"]


class Stream:
    """A queue of work. On a CPU there is one, and it is always empty.

    Args:
        priority: accepted, and without effect.

    Example:
        >>> from tl_backends import cpu
        >>> type(cpu.Stream()).__name__
        'Stream'
    """

    def __init__(self, priority: int = -1):
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Makes all work to come wait for what another stream has to do now, which is nothing."""

    def record_event(self, event: "Event | None" = None) -> "Event":
        """Records an event, a new one if none is given, and returns it."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Any) -> None:
        """Makes all work to come wait for an event, which has always happened."""

    def synchronize(self) -> None:
        """Waits until all work is done, which it always is."""

    def query(self) -> bool:
        """Whether all work is done: True."""
        return True


class Event:
    """A mark in the order of the work.

    Args:
        enable_timing: whether to remember when it was recorded.

    Example:
        >>> start, end = Event(enable_timing=True), Event(enable_timing=True)
        >>> start.record(), end.record()
        (None, None)
        >>> start.elapsed_time(end) >= 0
        True
    """

    def __init__(self, enable_timing: bool = False):
        self.enable_timing = enable_timing
        self.time: float | None = None

    def record(self, stream: Any = None) -> None:
        """Marks this moment."""
        self.time = perf_counter()

    def elapsed_time(self, end_event: "Event") -> float:
        """Milliseconds from this event to another.

        Raises:
            ValueError: one of them was made without `enable_timing`.
            RuntimeError: one of them hasn't been recorded.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'")
        if self.time is None or end_event.time is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time")
        return (end_event.time - self.time) * 1e3

    def query(self) -> bool:
        """Whether the work before it is done: True."""
        return True

    def synchronize(self) -> None:
        """Waits until the work before it is done, which it always is."""

    def wait(self, stream: Any = None) -> None:
        """Makes a stream wait for the event, which has always happened."""


_only = Stream()
_current = _only


def current_stream(device: Any = None) -> Stream:
    """The current stream.

    Example:
        >>> from tl_backends import cpu
        >>> type(cpu.current_stream()).__name__
        'Stream'
    """
    return _current


class StreamContext:
    """A `with` block in which a stream is the current one; None changes nothing.

    Example:
        >>> from tl_backends import cpu
        >>> with cpu.StreamContext(cpu.current_stream()):
        ...     pass
    """

    def __init__(self, stream: Stream | None):
        self.stream = stream

    def __enter__(self) -> Self:
        self._previous = current_stream()
        _make_current(self.stream or self._previous)
        return self

    def __exit__(self, *error: object) -> None:
        _make_current(self._previous)


def stream(stream: Stream | None) -> StreamContext:
    """A `with` block in which a stream is the current one.

    Example:
        >>> from tl_backends import cpu
        >>> with cpu.stream(cpu.current_stream()):
        ...     pass
    """
    return StreamContext(stream)


def _make_current(stream: Stream) -> None:
    global _current
    _current = stream
