"""Streams and events of MTIA devices."""

from tl_backends.device_kind import MTIA

__getattr__ = MTIA.fill(globals())
