"""The memory of XPU devices. There is none: counts are 0, statistics are empty, the rest needs a device."""

from collections import OrderedDict
from typing import Any

from tl_backends import absent

__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
]


def empty_cache() -> None:
    """Gives memory that is kept for reuse back to the device; there is none."""


def memory_stats(device: Any = None) -> dict[str, Any]:
    """The statistics of a device's allocator: empty."""
    return OrderedDict()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """The statistics of a device's allocator as a dictionary of dictionaries: empty."""
    return {}


def memory_allocated(device: Any = None) -> int:
    """The bytes that tensors take now: 0."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors have taken: 0."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """The bytes that the allocator holds now: 0."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that the allocator has held: 0."""
    return 0


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The free and the total bytes of a device."""
    raise absent.xpu("tl.xpu.mem_get_info")


def reset_peak_memory_stats(device: Any = None) -> None:
    """Starts the measurement of the highest values anew."""
    raise absent.xpu("tl.xpu.reset_peak_memory_stats")


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Starts the counts of all that happened anew."""
    raise absent.xpu("tl.xpu.reset_accumulated_memory_stats")
