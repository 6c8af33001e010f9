"""Metal devices of macOS. There are none, and every query says so; what needs one raises RuntimeError."""

from typing import Any

from tl_backends.absent_device import MPS
from tl_backends.mps import event, profiler
from tl_backends.mps.event import Event

__all__ = [
    "Event",
    "compile_shader",
    "current_allocated_memory",
    "device_count",
    "driver_allocated_memory",
    "empty_cache",
    "event",
    "get_rng_state",
    "is_available",
    "manual_seed",
    "profiler",
    "recommended_max_memory",
    "seed",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "synchronize",
]

is_available = MPS.is_available
device_count = MPS.device_count
manual_seed = MPS.manual_seed


def seed() -> None:
    """Seeds the device's generator with a random number."""
    raise MPS.error("seed")


def get_rng_state(device: Any = "mps") -> Any:
    """The state of the device's generator, as a tensor of bytes."""
    raise MPS.error("get_rng_state")


def set_rng_state(new_state: Any, device: Any = "mps") -> None:
    """Sets the state of the device's generator."""
    raise MPS.error("set_rng_state")


def synchronize() -> None:
    """Waits until the device has done all its work."""
    raise MPS.error("synchronize")


def empty_cache() -> None:
    """Gives memory that is kept for reuse back to the device."""
    raise MPS.error("empty_cache")


def set_per_process_memory_fraction(fraction: float) -> None:
    """Sets the share of the device's memory that this process may take."""
    raise MPS.error(f"set_per_process_memory_fraction({fraction!r})")


def current_allocated_memory() -> int:
    """The bytes that tensors take now."""
    raise MPS.error("current_allocated_memory")


def driver_allocated_memory() -> int:
    """The bytes that the driver has given to this process."""
    raise MPS.error("driver_allocated_memory")


def recommended_max_memory() -> int:
    """The most bytes that this process should take."""
    raise MPS.error("recommended_max_memory")


def compile_shader(source: str) -> Any:
    """The functions of a Metal program."""
    raise MPS.error("compile_shader")
