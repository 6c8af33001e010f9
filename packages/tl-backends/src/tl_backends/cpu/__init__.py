"""The CPU as a device, for programs that are written for any. Its work is done when a call returns."""

from tl_backends.backends.cpu import get_cpu_capability
from tl_backends.cpu.streams import Event, Stream, StreamContext, current_stream, stream
from tl_backends.device_kind import CPU
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
    "current_stream",
    "empty_cache",
    "get_cpu_capability",
    "get_memory_limit",
    "max_memory_allocated",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_summary",
    "record_memory",
    "reset_peak_memory_stats",
    "set_memory_limit",
    "stream",
]

__getattr__ = CPU.fill(globals())
