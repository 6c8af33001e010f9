"""The profiler of Metal devices."""

from tl_backends.device_kind import MPS

__getattr__ = MPS.fill(globals())
