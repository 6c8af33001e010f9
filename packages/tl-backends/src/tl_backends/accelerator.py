"""The device beside the CPU, of whichever kind: there is none without a plug-in.

What needs one raises RuntimeError.
"""

from typing import Any

from tl_backends.absent_device import ACCELERATOR
from tl_backends.devices import StreamContext

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "is_available",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]

device_count = ACCELERATOR.device_count
is_available = ACCELERATOR.is_available


def current_accelerator(check_available: bool = False) -> Any:
    """The kind of the device, as a `device` without an index; None, as there is none.

    Example:
        >>> print(current_accelerator())
        None
    """
    return None


def current_device_index() -> int:
    """The index of the selected device."""
    raise ACCELERATOR.error("current_device_index")


def set_device_index(device: Any, /) -> None:
    """Selects a device, by its index or name."""
    raise ACCELERATOR.error(f"set_device_index({device!r})")


current_device_idx = current_device_index
set_device_idx = set_device_index


def current_stream(device: Any = None, /) -> Any:
    """The current stream of a device, the selected one if none is given."""
    raise ACCELERATOR.error("current_stream")


def synchronize(device: Any = None, /) -> None:
    """Waits until a device, the selected one if none is given, has done all its work."""
    raise ACCELERATOR.error("synchronize")


def set_stream(stream: Any) -> None:
    """Makes a stream the current one, and its device the selected one."""
    raise ACCELERATOR.error("set_stream")


class device_index(StreamContext):
    """A `with` block in which another device is selected; None selects nothing."""

    def __init__(self, device: int | None, /):
        super().__init__(None)
        self.idx = device

    def __enter__(self) -> "device_index":
        if self.idx is not None:
            raise ACCELERATOR.error(f"device_index({self.idx})")
        return self
