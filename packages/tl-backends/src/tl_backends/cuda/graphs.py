"""Recorded work of CUDA devices, to be replayed."""

from tl_backends.device_kind import CUDA

__getattr__ = CUDA.fill(globals())
