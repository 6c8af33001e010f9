"""The handler that `record` uses."""

from __future__ import annotations

from .error_handler import ErrorHandler


def get_error_handler() -> ErrorHandler:
    """The handler for a worker's exceptions.

    Example:
        >>> type(get_error_handler()).__name__
        'ErrorHandler'
    """
    return ErrorHandler()
