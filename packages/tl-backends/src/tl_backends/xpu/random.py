"""The random generators of XPU devices. There are none, so seeds are taken and nothing is seeded."""

from tl_backends.device_kind import XPU

__getattr__ = XPU.fill(globals())
