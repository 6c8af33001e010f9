"""MTIA accelerators. There are none without a plug-in, and every query says so.

What needs a device raises RuntimeError.
"""

from typing import Any

from tl_backends.absent_device import MTIA
from tl_backends.devices import SelectedDevice
from tl_backends.mtia import memory, streams
from tl_backends.mtia.memory import memory_stats
from tl_backends.mtia.streams import *

__all__ = [
    "DeferredMtiaCallError",
    "current_device",
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
    "snapshot",
    "synchronize",
]
__all__ += streams.__all__

is_available = MTIA.is_available
is_initialized = MTIA.is_initialized
device_count = MTIA.device_count
current_device = MTIA.current_device
set_device = MTIA.set_device
synchronize = MTIA.synchronize
get_device_capability = MTIA.get_device_capability
get_rng_state = MTIA.get_rng_state
set_rng_state = MTIA.set_rng_state


class DeferredMtiaCallError(Exception):
    """A call that was put off until MTIA is started has failed."""


def init() -> None:
    """Starts MTIA.

    Raises:
        AssertionError: there is no device.
    """
    raise AssertionError("Torch not compiled with MTIA enabled: tl.mtia.init needs a device of type mtia")


def empty_cache() -> None:
    """Gives memory that is kept for reuse back to the device."""
    raise MTIA.error("empty_cache")


def record_memory_history(enabled: str | None = "all", stacks: str = "python", max_entries: int = 0) -> None:
    """Keeps where memory was allocated, for a snapshot."""
    if enabled is not None:
        raise MTIA.error("record_memory_history")


def snapshot() -> dict[str, Any]:
    """All blocks that the allocator holds."""
    raise MTIA.error("snapshot")


class device(SelectedDevice):
    """A `with` block in which another device is selected; None and -1 select nothing.

    Args:
        device: an index, or a name such as "mtia:0".
    """

    kind = "mtia"
