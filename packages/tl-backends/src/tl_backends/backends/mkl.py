"""oneMKL. tl has matrix products of its own in its place."""

from tl_backends.verbosity import Verbosity

__all__ = ["VERBOSE_OFF", "VERBOSE_ON", "is_available", "verbose"]

VERBOSE_OFF = 0
VERBOSE_ON = 1


def is_available() -> bool:
    """Whether oneMKL is there: False.

    Example:
        >>> from tl_backends.backends import mkl
        >>> mkl.is_available()
        False
    """
    return False


class verbose(Verbosity):
    """Lets oneMKL print what it does within a `with` block.

    Args:
        enable: VERBOSE_OFF or VERBOSE_ON.

    Raises:
        AssertionError: on entering with VERBOSE_ON, as oneMKL isn't there.

    Example:
        >>> from tl_backends.backends import mkl
        >>> if mkl.is_available():
        ...     with mkl.verbose(1):
        ...         pass
    """

    library = "oneMKL"

    def __init__(self, enable: int):
        super().__init__(enable)
