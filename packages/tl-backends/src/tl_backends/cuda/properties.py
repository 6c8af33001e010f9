"""What a CUDA device is, and what its sensors say."""

from typing import Any

from tl_backends import absent

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


def get_arch_list() -> list[str]:
    """The architectures that kernels were compiled for: none."""
    return []


def get_gencode_flags() -> str:
    """The compiler's flags for these architectures: none."""
    return ""


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the selected device computes with bfloat16: False, as there is none."""
    return False


def is_tf32_supported() -> bool:
    """Whether the selected device computes with TensorFloat-32: False, as there is none."""
    return False


def get_device_name(device: Any = None) -> str:
    """The name of a device."""
    raise absent.cuda("tl.cuda.get_device_name")


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The major and minor number of a device's capability."""
    raise absent.cuda("tl.cuda.get_device_capability")


def get_device_properties(device: Any = None) -> Any:
    """All properties of a device."""
    raise absent.cuda("tl.cuda.get_device_properties")


def utilization(device: Any = None) -> int:
    """The percentage of the last moments in which the device computed."""
    raise absent.cuda("tl.cuda.utilization")


def memory_usage(device: Any = None) -> int:
    """The percentage of the last moments in which the device's memory was read or written."""
    raise absent.cuda("tl.cuda.memory_usage")


def device_memory_used(device: Any = None) -> int:
    """The bytes of a device's memory in use, by all processes."""
    raise absent.cuda("tl.cuda.device_memory_used")


def temperature(device: Any = None) -> int:
    """The temperature of a device, in degrees Celsius."""
    raise absent.cuda("tl.cuda.temperature")


def power_draw(device: Any = None) -> int:
    """The power that a device draws, in milliwatts."""
    raise absent.cuda("tl.cuda.power_draw")


def clock_rate(device: Any = None) -> int:
    """The clock rate of a device, in megahertz."""
    raise absent.cuda("tl.cuda.clock_rate")
