"""Metal devices of macOS. There are none, and every query says so; what needs one raises RuntimeError."""

from tl_backends.device_kind import MPS

__getattr__ = MPS.fill(globals())
