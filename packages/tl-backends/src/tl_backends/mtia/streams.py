"""Streams and events of MTIA devices."""

from typing import Any

from tl_backends import absent
from tl_backends.devices import AbsentEvent, AbsentStream, StreamBlock

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream"]


class Stream(AbsentStream):
    """A queue of work of an MTIA device.

    Raises:
        RuntimeError: there is no device.
    """

    kind = "mtia"

    def __init__(self, device: Any = None, *, priority: int = 0):
        super().__init__(device, priority)


class Event(AbsentEvent):
    """A mark in a queue of work of an MTIA device.

    Raises:
        RuntimeError: there is no device.
    """

    kind = "mtia"

    def __init__(
        self,
        device: Any = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ):
        super().__init__(enable_timing, blocking, interprocess)


class StreamContext(StreamBlock):
    """A `with` block in which a stream is the current one; None changes nothing."""


def stream(stream: Stream | None) -> StreamContext:
    """A `with` block in which a stream is the current one; None changes nothing."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """The current stream of a device, the selected one if none is given."""
    raise absent.mtia("tl.mtia.current_stream")


def default_stream(device: Any = None) -> Stream:
    """The stream that is the current one at the start."""
    raise absent.mtia("tl.mtia.default_stream")


def set_stream(stream: Stream) -> None:
    """Makes a stream the current one."""
    raise absent.mtia("tl.mtia.set_stream")
