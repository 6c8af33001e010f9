"""Elementwise CUDA kernels from a line of C++."""

from tl_backends.device_kind import CUDA

__getattr__ = CUDA.fill(globals())
