"""The CPU as a device, for programs that are written for any. Its work is done when a call returns."""

from typing import Any

from tl_backends.backends.cpu import get_cpu_capability
from tl_backends.cpu.streams import Event, Stream, StreamContext, current_stream, stream
from tl_core.memory import (
    empty_cache,
    get_memory_limit,
    max_memory_allocated,
    memory_allocated,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_summary,
    record_memory,
    reset_peak_memory_stats,
    set_memory_limit,
)

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "empty_cache",
    "get_cpu_capability",
    "get_memory_limit",
    "is_available",
    "is_initialized",
    "max_memory_allocated",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_summary",
    "record_memory",
    "reset_peak_memory_stats",
    "set_device",
    "set_memory_limit",
    "stream",
    "synchronize",
]


def is_available() -> bool:
    """Whether there is a CPU: True."""
    return True


def is_initialized() -> bool:
    """Whether it is ready: True."""
    return True


def device_count() -> int:
    """The number of CPU devices: always 1, however many cores it has."""
    return 1


def current_device() -> str:
    """The selected CPU device: always "cpu"."""
    return "cpu"


def set_device(device: Any) -> None:
    """Selects a CPU device; as there is one only, nothing happens."""


def synchronize(device: Any = None) -> None:
    """Waits until all work is done, which it always is."""
