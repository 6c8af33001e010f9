"""NVIDIA's profiler, started and stopped by the program."""

from tl_backends.device_kind import CUDA

__getattr__ = CUDA.fill(globals())
