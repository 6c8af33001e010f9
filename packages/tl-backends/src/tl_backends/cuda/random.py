"""The random generators of CUDA devices. There are none, so seeds are taken and nothing is seeded."""

from tl_backends.device_kind import CUDA

__getattr__ = CUDA.fill(globals())
