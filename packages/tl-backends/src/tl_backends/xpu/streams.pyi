# Written by `python -m tools.device_stubs --write` from device_names.py.

from typing import Any

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

class Stream(AbsentStream): ...

class Event(AbsentEvent):
    def __init__(self, enable_timing: bool = False) -> None: ...

def current_stream(device: Any = None) -> Any: ...
def set_stream(stream: Any) -> None: ...
def get_stream_from_external(data_ptr: int, device: Any = None) -> Any: ...
