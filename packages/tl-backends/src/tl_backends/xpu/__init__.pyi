# Written by `python -m tools.device_stubs --write` from device_names.py.

from typing import Any

from tl_backends.devices import SelectedDevice
from tl_backends.xpu import memory, random, streams
from tl_backends.xpu.memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_stats_as_nested_dict,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)
from tl_backends.xpu.random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from tl_backends.xpu.streams import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    get_stream_from_external,
    set_stream,
    stream,
)

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "get_rng_state",
    "get_rng_state_all",
    "get_stream_from_external",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "random",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "streams",
    "synchronize",
]

class device(SelectedDevice): ...

class device_of(device):
    def __init__(self, obj: Any) -> None: ...

def _is_compiled() -> bool: ...
def _lazy_init() -> None: ...
def _lazy_call(callable: Any, **kwargs: Any) -> None: ...
def init() -> None: ...
def _is_in_bad_fork() -> bool: ...
def is_initialized() -> bool: ...
def is_bf16_supported(including_emulation: bool = True) -> bool: ...
def get_arch_list() -> list[str]: ...
def get_gencode_flags() -> str: ...
def get_device_name(device: Any = None) -> str: ...
def get_device_properties(device: Any = None) -> Any: ...
def get_device_capability(device: Any = None) -> Any: ...
def is_available() -> bool: ...
def device_count() -> int: ...
def current_device() -> int: ...
def set_device(device: Any) -> None: ...
def synchronize(device: Any = None) -> None: ...
def is_current_stream_capturing() -> bool: ...

_initialized: bool
