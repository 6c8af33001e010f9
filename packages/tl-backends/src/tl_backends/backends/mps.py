"""Metal, on macOS. tl doesn't use it."""

from tl_backends.device_kind import MPS

__all__ = [
    "get_core_count",
    "get_name",
    "is_available",
    "is_built",
    "is_macos13_or_newer",
    "is_macos_or_newer",
]


def is_built() -> bool:
    """Whether this installation could use Metal if the machine had it: False.

    Example:
        >>> from tl_backends.backends import mps
        >>> mps.is_built()
        False
    """
    return False


def is_available() -> bool:
    """Whether Metal can be used now: False.

    Example:
        >>> from tl_backends.backends import mps
        >>> mps.is_available()
        False
    """
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether Metal can be used on a macOS of at least this version: False.

    Example:
        >>> from tl_backends.backends import mps
        >>> mps.is_macos_or_newer(14, 0)
        False
    """
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether Metal can be used on a macOS of at least version 13: False.

    Example:
        >>> from tl_backends.backends import mps
        >>> mps.is_macos13_or_newer()
        False
    """
    return is_macos_or_newer(13, minor)


def get_name() -> str:
    """The name of the Metal device.

    Raises:
        RuntimeError: there is none.

    Example:
        >>> from tl_backends.backends import mps
        >>> if mps.is_available():
        ...     mps.get_name()
    """
    raise MPS.error_of("backends.mps.get_name")


def get_core_count() -> int:
    """The number of cores of the Metal device.

    Raises:
        RuntimeError: there is none.

    Example:
        >>> from tl_backends.backends import mps
        >>> if mps.is_available():
        ...     mps.get_core_count()
    """
    raise MPS.error_of("backends.mps.get_core_count")
