# Written by `python -m tools.device_stubs --write` from device_names.py.

from typing import Any

from tl_backends.devices import AbsentEvent, AbsentStream, StreamContext, stream

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream"]

class Stream(AbsentStream):
    def __init__(self, device: Any = None, *, priority: int = 0) -> None: ...

class Event(AbsentEvent):
    def __init__(
        self,
        device: Any = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> None: ...

def current_stream(device: Any = None) -> Any: ...
def default_stream(device: Any = None) -> Any: ...
def set_stream(stream: Stream) -> None: ...
