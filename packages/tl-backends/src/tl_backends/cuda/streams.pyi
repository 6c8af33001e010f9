# Written by `python -m tools.device_stubs --write` from device_names.py.

from typing import Any

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

class Stream(AbsentStream): ...

class ExternalStream(Stream):
    def __init__(self, stream_ptr: int, device: Any = None, **kwargs: Any) -> None: ...

class Event(AbsentEvent):
    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None: ...
    @classmethod
    def from_ipc_handle(cls, device: Any, handle: bytes) -> Event: ...
    def ipc_handle(self) -> bytes: ...

def current_stream(device: Any = None) -> Any: ...
def default_stream(device: Any = None) -> Any: ...
def set_stream(stream: Any) -> None: ...
def get_stream_from_external(data_ptr: int, device: Any = None) -> Any: ...
def current_blas_handle() -> int: ...
