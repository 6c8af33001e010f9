"""The memory of MTIA devices: there is none."""

from tl_backends.device_kind import MTIA

__getattr__ = MTIA.fill(globals())
