"""Streams and events of MTIA devices."""

from typing import Any

from tl_backends.absent_device import MTIA
from tl_backends.devices import AbsentEvent, AbsentStream, StreamContext, stream

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream"]

current_stream = MTIA.current_stream
default_stream = MTIA.default_stream


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


def set_stream(stream: Stream) -> None:
    """Makes a stream the current one."""
    raise MTIA.error("set_stream")
