"""How many CUDA devices there are, and which is selected."""

from tl_backends.device_kind import CUDA

__getattr__ = CUDA.fill(globals())
