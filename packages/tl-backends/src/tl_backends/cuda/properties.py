"""What a CUDA device is, and what its sensors say."""

from typing import Any

from tl_backends.absent_device import CUDA

__all__ = [
    "clock_rate",
    "device_memory_used",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "is_bf16_supported",
    "is_tf32_supported",
    "memory_usage",
    "power_draw",
    "temperature",
    "utilization",
]

is_bf16_supported = CUDA.is_bf16_supported
get_arch_list = CUDA.get_arch_list
get_gencode_flags = CUDA.get_gencode_flags
get_device_name = CUDA.get_device_name
get_device_capability = CUDA.get_device_capability
get_device_properties = CUDA.get_device_properties


def is_tf32_supported() -> bool:
    """Whether the selected device computes with TensorFloat-32: False, as there is none."""
    return False


def utilization(device: Any = None) -> int:
    """The percentage of the last moments in which the device computed."""
    raise CUDA.error("utilization")


def memory_usage(device: Any = None) -> int:
    """The percentage of the last moments in which the device's memory was read or written."""
    raise CUDA.error("memory_usage")


def device_memory_used(device: Any = None) -> int:
    """The bytes of a device's memory in use, by all processes."""
    raise CUDA.error("device_memory_used")


def temperature(device: Any = None) -> int:
    """The temperature of a device, in degrees Celsius."""
    raise CUDA.error("temperature")


def power_draw(device: Any = None) -> int:
    """The power that a device draws, in milliwatts."""
    raise CUDA.error("power_draw")


def clock_rate(device: Any = None) -> int:
    """The clock rate of a device, in megahertz."""
    raise CUDA.error("clock_rate")
