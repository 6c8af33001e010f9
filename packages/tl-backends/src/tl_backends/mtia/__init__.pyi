# Written by `python -m tools.device_stubs --write` from device_names.py.

from typing import Any

from tl_backends.devices import SelectedDevice
from tl_backends.mtia import memory
from tl_backends.mtia.memory import memory_stats
from tl_backends.mtia.streams import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
)

__all__ = [
    "DeferredMtiaCallError",
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_rng_state",
    "init",
    "is_available",
    "is_initialized",
    "memory",
    "memory_stats",
    "record_memory_history",
    "set_device",
    "set_rng_state",
    "set_stream",
    "snapshot",
    "stream",
    "synchronize",
]

class device(SelectedDevice): ...

def is_initialized() -> bool: ...
def get_device_capability(device: Any = None) -> Any: ...
def get_rng_state(device: Any = None) -> Any: ...
def set_rng_state(new_state: Any, device: Any = None) -> None: ...
def is_available() -> bool: ...
def device_count() -> int: ...
def current_device() -> int: ...
def set_device(device: Any) -> None: ...
def synchronize(device: Any = None) -> None: ...
def init() -> None: ...
def record_memory_history(
    enabled: str | None = "all", stacks: str = "python", max_entries: int = 0
) -> None: ...
def snapshot() -> dict[str, Any]: ...
def empty_cache() -> None: ...

class DeferredMtiaCallError(Exception):
    pass
