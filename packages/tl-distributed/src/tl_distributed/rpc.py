"""Calls of functions in other processes: not part of this package, as of builds of PyTorch without them."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False: functions can't be called in other processes.

    Example:
        >>> is_available()
        False
    """
    return False
