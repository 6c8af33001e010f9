# Written by `python -m tools.device_stubs --write` from device_names.py.

from typing import Any

from tl_backends.backends.cpu import get_cpu_capability
from tl_backends.cpu.features import _init_amx as _init_amx
from tl_backends.cpu.features import _is_amx_fp16_supported as _is_amx_fp16_supported
from tl_backends.cpu.features import _is_amx_tile_supported as _is_amx_tile_supported
from tl_backends.cpu.features import _is_avx2_supported as _is_avx2_supported
from tl_backends.cpu.features import _is_avx512_bf16_supported as _is_avx512_bf16_supported
from tl_backends.cpu.features import _is_avx512_supported as _is_avx512_supported
from tl_backends.cpu.features import _is_vnni_supported as _is_vnni_supported
from tl_backends.cpu.features import get_capabilities
from tl_backends.cpu.streams import Event, Stream, StreamContext, current_stream, stream
from tl_core.memory.usage import (
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
    "get_capabilities",
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

def is_available() -> bool: ...
def is_initialized() -> bool: ...
def device_count() -> int: ...
def current_device() -> str: ...
def set_device(device: Any) -> None: ...
def synchronize(device: Any = None) -> None: ...
