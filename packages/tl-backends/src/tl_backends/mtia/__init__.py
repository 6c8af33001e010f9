"""MTIA accelerators. There are none without a plug-in, and every query says so.

What needs a device raises RuntimeError.
"""

from typing import Any

from tl_backends import absent
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


class DeferredMtiaCallError(Exception):
    """A call that was put off until MTIA is started has failed."""


def is_available() -> bool:
    """Whether an MTIA device can be used: False."""
    return False


def is_initialized() -> bool:
    """Whether MTIA has been started: False."""
    return False


def device_count() -> int:
    """The number of MTIA devices: 0."""
    return 0


def init() -> None:
    """Starts MTIA.

    Raises:
        AssertionError: there is no device.
    """
    raise AssertionError("Torch not compiled with MTIA enabled: tl.mtia.init needs a device of type mtia")


def current_device() -> int:
    """The index of the selected device."""
    raise absent.mtia("tl.mtia.current_device")


def set_device(device: Any) -> None:
    """Selects a device, by its index or name."""
    raise absent.mtia(f"tl.mtia.set_device({device!r})")


def synchronize(device: Any = None) -> None:
    """Waits until a device, the selected one if none is given, has done all its work."""
    raise absent.mtia("tl.mtia.synchronize")


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The major and minor number of a device's capability."""
    raise absent.mtia("tl.mtia.get_device_capability")


def empty_cache() -> None:
    """Gives memory that is kept for reuse back to the device."""
    raise absent.mtia("tl.mtia.empty_cache")


def record_memory_history(enabled: str | None = "all", stacks: str = "python", max_entries: int = 0) -> None:
    """Keeps where memory was allocated, for a snapshot."""
    if enabled is not None:
        raise absent.mtia("tl.mtia.record_memory_history")


def snapshot() -> dict[str, Any]:
    """All blocks that the allocator holds."""
    raise absent.mtia("tl.mtia.snapshot")


def get_rng_state(device: Any = "mtia") -> Any:
    """The state of a device's generator, as a tensor of bytes."""
    raise absent.mtia(f"tl.mtia.get_rng_state({device!r})")


def set_rng_state(new_state: Any, device: Any = "mtia") -> None:
    """Sets the state of a device's generator."""
    raise absent.mtia(f"tl.mtia.set_rng_state(…, {device!r})")


class device(SelectedDevice):
    """A `with` block in which another device is selected; None and -1 select nothing.

    Args:
        device: an index, or a name such as "mtia:0".
    """

    kind = "mtia"
