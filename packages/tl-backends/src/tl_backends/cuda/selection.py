"""How many CUDA devices there are, and which is selected."""

from typing import Any

from tl_backends import absent
from tl_backends.devices import SelectedDevice, index_of

__all__ = [
    "can_device_access_peer",
    "current_device",
    "device",
    "device_count",
    "device_of",
    "is_available",
    "set_device",
    "synchronize",
]


def is_available() -> bool:
    """Whether a CUDA device can be used: False."""
    return False


def device_count() -> int:
    """The number of CUDA devices: 0."""
    return 0


def current_device() -> int:
    """The index of the selected device."""
    raise absent.cuda("tl.cuda.current_device")


def set_device(device: Any) -> None:
    """Selects a device, by its index or name; a negative index selects nothing."""
    index = index_of(device, "cuda")
    if index is None or index >= 0:
        raise absent.cuda(f"tl.cuda.set_device({device!r})")


def synchronize(device: Any = None) -> None:
    """Waits until a device, the selected one if none is given, has done all its work."""
    raise absent.cuda("tl.cuda.synchronize")


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether one device can read the memory of another."""
    raise absent.cuda(f"tl.cuda.can_device_access_peer({device!r}, {peer_device!r})")


class device(SelectedDevice):
    """A `with` block in which another device is selected; None and -1 select nothing.

    Args:
        device: an index, or a name such as "cuda:0".
    """

    kind = "cuda"


class device_of(device):
    """A `with` block in which the device of a tensor is selected; a tensor on the CPU selects nothing.

    Args:
        obj: a tensor or a storage.
    """

    def __init__(self, obj: Any):
        super().__init__(obj.device if obj.device.type == "cuda" else -1)
