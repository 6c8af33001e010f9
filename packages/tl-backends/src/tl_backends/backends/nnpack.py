"""NNPACK. tl has convolutions of its own in its place; what is set is kept, and there is nothing to switch."""

from contextlib import AbstractContextManager

from tl_backends.switch import Switch, assign, attach, overridden

__all__ = ["enabled", "flags", "is_available", "set_flags"]

enabled: bool
"""Nothing to switch: NNPACK isn't there, and tl's own convolutions compute."""


def is_available() -> bool:
    """Whether NNPACK is there: False.

    Example:
        >>> from tl_backends.backends import nnpack
        >>> nnpack.is_available()
        False
    """
    return False


def set_flags(_enabled: bool) -> tuple:
    """Sets the switch; returns what it was, in a tuple.

    Example:
        >>> from tl_backends.backends import nnpack
        >>> nnpack.set_flags(True)
        (True,)
    """
    return assign(__name__, {"enabled": _enabled})


def flags(enabled: bool = False) -> AbstractContextManager[None]:
    """Sets the switch for the time of a `with` block.

    Example:
        >>> from tl_backends.backends import nnpack
        >>> with nnpack.flags():
        ...     pass
    """
    return overridden(__name__, {"enabled": enabled})


attach(__name__, enabled=Switch("backends.nnpack.enabled", True))
