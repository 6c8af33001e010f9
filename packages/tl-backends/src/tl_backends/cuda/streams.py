"""Streams and events of CUDA devices."""

from typing import Any

from tl_backends import absent
from tl_backends.devices import AbsentEvent, AbsentStream, StreamBlock

__all__ = [
    "Event",
    "ExternalStream",
    "Stream",
    "StreamContext",
    "current_blas_handle",
    "current_stream",
    "default_stream",
    "get_stream_from_external",
    "set_stream",
    "stream",
]


class Stream(AbsentStream):
    """A queue of work of a CUDA device.

    Raises:
        RuntimeError: there is no device.
    """

    kind = "cuda"


class ExternalStream(Stream):
    """A queue of work that another library has made.

    Raises:
        RuntimeError: there is no device.
    """

    def __init__(self, stream_ptr: int, device: Any = None, **kwargs: Any):
        super().__init__(device)


class Event(AbsentEvent):
    """A mark in a queue of work of a CUDA device.

    Raises:
        RuntimeError: there is no device.
    """

    kind = "cuda"

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ):
        super().__init__(enable_timing, blocking, interprocess)

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: bytes) -> "Event":
        """The event that another process has given away."""
        raise absent.cuda("tl.cuda.Event.from_ipc_handle")

    def ipc_handle(self) -> bytes:
        """What another process needs to use the event."""
        raise absent.cuda("tl.cuda.Event.ipc_handle")


class StreamContext(StreamBlock):
    """A `with` block in which a stream is the current one; None changes nothing."""


def stream(stream: Stream | None) -> StreamContext:
    """A `with` block in which a stream is the current one; None changes nothing."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """The current stream of a device, the selected one if none is given."""
    raise absent.cuda("tl.cuda.current_stream")


def default_stream(device: Any = None) -> Stream:
    """The stream that is the current one at the start."""
    raise absent.cuda("tl.cuda.default_stream")


def set_stream(stream: Stream | None) -> None:
    """Makes a stream the current one; None changes nothing."""
    if stream is not None:
        raise absent.cuda("tl.cuda.set_stream")


def get_stream_from_external(data_ptr: int, device: Any = None) -> Stream:
    """The stream that another library has made."""
    raise absent.cuda("tl.cuda.get_stream_from_external")


def current_blas_handle() -> int:
    """The address of the handle of cuBLAS."""
    raise absent.cuda("tl.cuda.current_blas_handle")
