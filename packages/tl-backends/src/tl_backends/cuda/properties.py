"""Properties and sensors of CUDA devices."""

from tl_backends.device_kind import CUDA

__getattr__ = CUDA.fill(globals())
