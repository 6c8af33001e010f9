"""Intel GPUs. There are none without a plug-in, and every query says so.

`is_available()` is False and `device_count()` 0; statistics are empty, seeds are taken and have nothing to seed. What
needs a device raises AssertionError, or RuntimeError where it is a stream or an event.
"""

from typing import Any

from tl_backends.absent_device import XPU
from tl_backends.devices import SelectedDevice
from tl_backends.xpu import memory, random, streams
from tl_backends.xpu.memory import *
from tl_backends.xpu.random import *
from tl_backends.xpu.streams import *

__all__ = [
    "current_device",
    "device",
    "device_count",
    "device_of",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "init",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "memory",
    "random",
    "set_device",
    "streams",
    "synchronize",
]
__all__ += memory.__all__
__all__ += random.__all__
__all__ += streams.__all__

is_available = XPU.is_available
is_initialized = XPU.is_initialized
device_count = XPU.device_count
is_bf16_supported = XPU.is_bf16_supported
get_arch_list = XPU.get_arch_list
get_gencode_flags = XPU.get_gencode_flags
init = XPU.init
current_device = XPU.current_device
set_device = XPU.set_device
synchronize = XPU.synchronize
get_device_name = XPU.get_device_name
get_device_capability = XPU.get_device_capability
get_device_properties = XPU.get_device_properties


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
