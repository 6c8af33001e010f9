"""Calls of functions in other processes: not part of this package, as of builds of the reference without them."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether functions can be called in other processes: False.

    Example:
        >>> is_available()
        False
    """
    return False
