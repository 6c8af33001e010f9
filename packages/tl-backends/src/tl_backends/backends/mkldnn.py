"""oneDNN, formerly MKL-DNN. tl has kernels of its own in its place: what is set is kept, with nothing to switch."""

from contextlib import AbstractContextManager
from typing import Any

from tl_backends.switch import Switch, assign, attach, overridden
from tl_backends.verbosity import Verbosity

__all__ = [
    "VERBOSE_OFF",
    "VERBOSE_ON",
    "VERBOSE_ON_CREATION",
    "allow_tf32",
    "deterministic",
    "enabled",
    "flags",
    "is_available",
    "set_flags",
    "verbose",
]

VERBOSE_OFF = 0
VERBOSE_ON = 1
VERBOSE_ON_CREATION = 2

enabled: bool
"""Nothing to switch: oneDNN isn't there, and tl's own kernels compute."""
deterministic: bool
"""Nothing to switch: every operator is deterministic."""
allow_tf32: bool
"""Nothing to switch: `torch.backends.fp32_precision` is the precision of products."""


def is_available() -> bool:
    """Whether oneDNN is there: False.

    Example:
        >>> from tl_backends.backends import mkldnn
        >>> mkldnn.is_available()
        False
    """
    return False


class verbose(Verbosity):
    """Lets oneDNN print what it does within a `with` block.

    Args:
        level: VERBOSE_OFF, VERBOSE_ON or VERBOSE_ON_CREATION.

    Raises:
        AssertionError: on entering at any level but VERBOSE_OFF, as oneDNN isn't there.

    Example:
        >>> from tl_backends.backends import mkldnn
        >>> if mkldnn.is_available():
        ...     with mkldnn.verbose(1):
        ...         pass
    """

    library = "oneDNN"

    def __init__(self, level: int):
        super().__init__(level)


def set_flags(
    _enabled: bool | None = None, _deterministic: bool | None = None, _allow_tf32: bool | None = None
) -> tuple:
    """Sets the switches that are given, which decide nothing here; returns what all of them were, in this order.

    Example:
        >>> from tl_backends.backends import mkldnn
        >>> mkldnn.set_flags()
        (True, False, True)
    """
    return assign(__name__, _values(_enabled, _deterministic, _allow_tf32))


def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True
) -> AbstractContextManager[None]:
    """Sets all switches for the time of a `with` block. They decide nothing here.

    Args:
        enabled: whether the library is used.
        deterministic: whether only deterministic algorithms are used.
        allow_tf32: whether products of float32 may be computed with TensorFloat-32.

    Example:
        >>> from tl_backends.backends import mkldnn
        >>> with mkldnn.flags():
        ...     pass
    """
    return overridden(__name__, _values(enabled, deterministic, allow_tf32))


def _values(enabled: bool | None, deterministic: bool | None, allow_tf32: bool | None) -> dict[str, Any]:
    return {"enabled": enabled, "deterministic": deterministic, "allow_tf32": allow_tf32}


attach(
    __name__,
    enabled=Switch("backends.mkldnn.enabled", True),
    deterministic=Switch("backends.mkldnn.deterministic", False),
    allow_tf32=Switch("backends.mkldnn.allow_tf32", True),
)
