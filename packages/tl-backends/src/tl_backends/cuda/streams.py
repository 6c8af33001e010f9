"""Streams and events of CUDA devices."""

from typing import Any

from tl_backends.absent_device import CUDA
from tl_backends.devices import AbsentEvent, AbsentStream, StreamContext, stream

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

current_stream = CUDA.current_stream
default_stream = CUDA.default_stream
set_stream = CUDA.set_stream
get_stream_from_external = CUDA.get_stream_from_external


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
        raise CUDA.error("Event.from_ipc_handle")

    def ipc_handle(self) -> bytes:
        """What another process needs to use the event."""
        raise CUDA.error("Event.ipc_handle")


def current_blas_handle() -> int:
    """The address of the handle of cuBLAS."""
    raise CUDA.error("current_blas_handle")
