"""The memory of CUDA devices. There is none: counts are 0, statistics are empty, the rest needs a device."""

from tl_backends.device_kind import CUDA

__getattr__ = CUDA.fill(globals())
