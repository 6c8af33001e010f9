"""NCCL, for collectives between CUDA devices. tl doesn't have it."""

from tl_backends.device_kind import CUDA

__getattr__ = CUDA.fill(globals())
