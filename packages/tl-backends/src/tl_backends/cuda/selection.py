"""How many CUDA devices there are, and which is selected."""

from typing import Any

from tl_backends.absent_device import CUDA
from tl_backends.devices import SelectedDevice

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

is_available = CUDA.is_available
device_count = CUDA.device_count
current_device = CUDA.current_device
set_device = CUDA.set_device
synchronize = CUDA.synchronize


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether one device can read the memory of another."""
    raise CUDA.error(f"can_device_access_peer({device!r}, {peer_device!r})")


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
