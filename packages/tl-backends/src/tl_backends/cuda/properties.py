"""What a CUDA device is, and what its sensors say."""

from tl_backends.device_kind import CUDA

__getattr__ = CUDA.fill(globals())
