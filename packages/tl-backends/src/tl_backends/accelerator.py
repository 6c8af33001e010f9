"""The device beside the CPU, of whichever kind: there is none without a plug-in.

What needs one raises RuntimeError.
"""

from typing import Any

from tl_backends import absent
from tl_backends.devices import StreamBlock

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


def device_count() -> int:
    """The number of devices of the current kind: 0."""
    return 0


def is_available() -> bool:
    """Whether there is such a device: False."""
    return False


def current_accelerator(check_available: bool = False) -> Any:
    """The kind of the device, as a `device` without an index; None, as there is none.

    Example:
        >>> print(current_accelerator())
        None
    """
    return None


def current_device_index() -> int:
    """The index of the selected device."""
    raise absent.accelerator("tl.accelerator.current_device_index")


def set_device_index(device: Any, /) -> None:
    """Selects a device, by its index or name."""
    raise absent.accelerator(f"tl.accelerator.set_device_index({device!r})")


current_device_idx = current_device_index
set_device_idx = set_device_index


def current_stream(device: Any = None, /) -> Any:
    """The current stream of a device, the selected one if none is given."""
    raise absent.accelerator("tl.accelerator.current_stream")


def set_stream(stream: Any) -> None:
    """Makes a stream the current one, and its device the selected one."""
    raise absent.accelerator("tl.accelerator.set_stream")


def synchronize(device: Any = None, /) -> None:
    """Waits until a device, the selected one if none is given, has done all its work."""
    raise absent.accelerator("tl.accelerator.synchronize")


class device_index(StreamBlock):
    """A `with` block in which another device is selected; None selects nothing."""

    def __init__(self, device: int | None, /):
        super().__init__(None)
        self.idx = device

    def __enter__(self) -> "device_index":
        if self.idx is not None:
            raise absent.accelerator(f"tl.accelerator.device_index({self.idx})")
        return self
