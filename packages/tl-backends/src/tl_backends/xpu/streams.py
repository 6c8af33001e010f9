"""Streams and events of XPU devices."""

from tl_backends.absent_device import XPU
from tl_backends.devices import AbsentEvent, AbsentStream, StreamContext, stream

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_stream",
    "get_stream_from_external",
    "set_stream",
    "stream",
]

current_stream = XPU.current_stream
set_stream = XPU.set_stream
get_stream_from_external = XPU.get_stream_from_external


class Stream(AbsentStream):
    """A queue of work of an XPU device.

    Raises:
        RuntimeError: there is no device.
    """

    kind = "xpu"


class Event(AbsentEvent):
    """A mark in a queue of work of an XPU device.

    Raises:
        RuntimeError: there is no device.
    """

    kind = "xpu"
