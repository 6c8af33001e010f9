"""The memory of XPU devices. There is none: counts are 0, statistics are empty, the rest needs a device."""

from typing import Any

from tl_backends.absent_device import XPU

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

empty_cache = XPU.empty_cache
memory_stats = XPU.memory_stats
memory_allocated = XPU.memory_allocated
max_memory_allocated = XPU.max_memory_allocated
memory_reserved = XPU.memory_reserved
max_memory_reserved = XPU.max_memory_reserved
mem_get_info = XPU.mem_get_info
reset_peak_memory_stats = XPU.reset_peak_memory_stats
reset_accumulated_memory_stats = XPU.reset_accumulated_memory_stats


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """The statistics of a device's allocator as a dictionary of dictionaries: empty."""
    return {}
