"""CUDA devices. There are none without a plug-in, and every query says so.

`is_available()` is False and `device_count()` 0; statistics are empty, seeds are taken and have nothing to seed. What
needs a device raises AssertionError, or RuntimeError where it is a stream, an event, a graph or a pool.
"""

from tl_backends.device_kind import CUDA
from tl_core import OutOfMemoryError

__all__ = ["OutOfMemoryError"]
__getattr__ = CUDA.fill(globals())
