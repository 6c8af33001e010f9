"""Streams and events of XPU devices."""

from tl_backends.device_kind import XPU

__getattr__ = XPU.fill(globals())
