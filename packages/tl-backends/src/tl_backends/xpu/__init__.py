"""Intel GPUs. There are none without a plug-in, and every query says so.

`is_available()` is False and `device_count()` 0; statistics are empty, seeds are taken and have nothing to seed. What
needs a device raises AssertionError, or RuntimeError where it is a stream or an event.
"""

from typing import Any

from tl_backends import absent
from tl_backends.devices import SelectedDevice, index_of
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


def is_available() -> bool:
    """Whether an XPU device can be used: False."""
    return False


def is_initialized() -> bool:
    """Whether XPU has been started: False."""
    return False


def device_count() -> int:
    """The number of XPU devices: 0."""
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the selected device computes with bfloat16: False, as there is none."""
    return False


def get_arch_list() -> list[str]:
    """The architectures that kernels were compiled for: none."""
    return []


def get_gencode_flags() -> str:
    """The compiler's flags for these architectures: none."""
    return ""


def init() -> None:
    """Starts XPU."""
    raise absent.xpu("tl.xpu.init")


def current_device() -> int:
    """The index of the selected device."""
    raise absent.xpu("tl.xpu.current_device")


def set_device(device: Any) -> None:
    """Selects a device, by its index or name; a negative index selects nothing."""
    index = index_of(device, "xpu")
    if index is None or index >= 0:
        raise absent.xpu(f"tl.xpu.set_device({device!r})")


def synchronize(device: Any = None) -> None:
    """Waits until a device, the selected one if none is given, has done all its work."""
    raise absent.xpu("tl.xpu.synchronize")


def get_device_name(device: Any = None) -> str:
    """The name of a device."""
    raise absent.xpu("tl.xpu.get_device_name")


def get_device_capability(device: Any = None) -> dict[str, Any]:
    """What a device can do."""
    raise absent.xpu("tl.xpu.get_device_capability")


def get_device_properties(device: Any = None) -> Any:
    """All properties of a device."""
    raise absent.xpu("tl.xpu.get_device_properties")


class device(SelectedDevice):
    """A `with` block in which another device is selected; None and -1 select nothing.

    Args:
        device: an index, or a name such as "xpu:0".
    """

    kind = "xpu"


class device_of(device):
    """A `with` block in which the device of a tensor is selected; a tensor on the CPU selects nothing.

    Args:
        obj: a tensor or a storage.
    """

    def __init__(self, obj: Any):
        super().__init__(obj.device if obj.device.type == "xpu" else -1)
