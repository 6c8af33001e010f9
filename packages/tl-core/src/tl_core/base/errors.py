"""The exceptions that Python does not have."""

from __future__ import annotations

from tl_core import _C


class OutOfMemoryError(RuntimeError):
    """Memory that an operator needs is not to be had; what was there before is untouched, and the process goes on."""

    __module__ = "tl_core"


class LinAlgError(RuntimeError):
    """A matrix does not have what was asked for, such as an inverse."""

    __module__ = "tl_core.linalg"


_C._set_exception_class("OutOfMemoryError", OutOfMemoryError)
_C._set_exception_class("LinAlgError", LinAlgError)
