"""The choice among several kernels for one operator on CUDA devices. Nothing is tuned: there is no device."""

from tl_backends.device_kind import CUDA

__getattr__ = CUDA.fill(globals())
