# Written by `python -m tools.device_stubs --write` from device_names.py.

from typing import Any

from tl_backends.devices import StreamContext

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "is_available",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]

def is_available() -> bool: ...
def device_count() -> int: ...
def current_accelerator(check_available: bool = False) -> Any: ...
def current_device_index() -> int: ...
def set_device_index(device: Any, /) -> None: ...
def current_stream(device: Any = None, /) -> Any: ...
def synchronize(device: Any = None, /) -> None: ...
def set_stream(stream: Any) -> None: ...

class device_index(StreamContext):
    def __init__(self, device: int | None, /): ...
    def __enter__(self) -> device_index: ...

current_device_idx = current_device_index

set_device_idx = set_device_index
