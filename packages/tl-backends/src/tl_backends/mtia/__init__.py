"""MTIA accelerators. There are none without a plug-in, and every query says so.

What needs a device raises RuntimeError.
"""

from tl_backends.device_kind import MTIA

__all__ = ["DeferredMtiaCallError"]


class DeferredMtiaCallError(Exception):
    """A call that was put off until MTIA is started has failed."""


__getattr__ = MTIA.fill(globals())
