"""Streams and events of XPU devices."""

from typing import Any

from tl_backends import absent
from tl_backends.devices import AbsentEvent, AbsentStream, StreamBlock

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_stream",
    "get_stream_from_external",
    "set_stream",
    "stream",
]


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


class StreamContext(StreamBlock):
    """A `with` block in which a stream is the current one; None changes nothing."""


def stream(stream: Stream | None) -> StreamContext:
    """A `with` block in which a stream is the current one; None changes nothing."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """The current stream of a device, the selected one if none is given."""
    raise absent.xpu("tl.xpu.current_stream")


def set_stream(stream: Stream | None) -> None:
    """Makes a stream the current one; None changes nothing."""
    if stream is not None:
        raise absent.xpu("tl.xpu.set_stream")


def get_stream_from_external(data_ptr: int, device: Any = None) -> Stream:
    """The stream that another library has made."""
    raise absent.xpu("tl.xpu.get_stream_from_external")
