"""The CPU as a device, for programs that are written for any. Its work is done when a call returns."""

from typing import Any

from tl_backends.backends.cpu import get_cpu_capability
from tl_backends.cpu.streams import Event, Stream, StreamContext, current_stream, stream

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "get_cpu_capability",
    "is_available",
    "is_initialized",
    "set_device",
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
