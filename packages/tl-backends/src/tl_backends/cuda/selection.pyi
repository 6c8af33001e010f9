# Written by `python -m tools.device_stubs --write` from device_names.py.

from typing import Any

from tl_backends.devices import SelectedDevice

__all__ = [
    "can_device_access_peer",
    "current_device",
    "device",
    "device_count",
    "device_of",
    "is_available",
    "set_device",
    "synchronize",
]

class device(SelectedDevice): ...

class device_of(device):
    def __init__(self, obj: Any) -> None: ...

def is_available() -> bool: ...
def device_count() -> int: ...
def current_device() -> int: ...
def set_device(device: Any) -> None: ...
def synchronize(device: Any = None) -> None: ...
def can_device_access_peer(device: Any, peer_device: Any) -> bool: ...
