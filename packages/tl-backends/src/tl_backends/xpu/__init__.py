"""Intel GPUs. There are none without a plug-in, and every query says so.

`is_available()` is False and `device_count()` 0; statistics are empty, seeds are taken and have nothing to seed. What
needs a device raises AssertionError, or RuntimeError where it is a stream or an event.
"""

from tl_backends.device_kind import XPU

__getattr__ = XPU.fill(globals())
