"""The number of CUDA devices, and the selected device."""

from tl_backends.device_kind import CUDA

__getattr__ = CUDA.fill(globals())
