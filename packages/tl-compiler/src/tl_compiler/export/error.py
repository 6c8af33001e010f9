"""Errors of programs that export graphs and work on them."""

from __future__ import annotations

from enum import Enum

__all__ = ["ExportError", "ExportErrorType", "InternalError", "internal_assert"]


class ExportErrorType(Enum):
    """What was wrong with a program."""

    INVALID_INPUT_TYPE = 1
    INVALID_OUTPUT_TYPE = 2
    VIOLATION_OF_SPEC = 3
    NOT_SUPPORTED = 4
    MISSING_PROPERTY = 5
    UNINITIALIZED = 6


class InternalError(Exception):
    """A fault of a pass, not of the program that it works on.

    Args:
        message: says what was found.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)


class ExportError(Exception):
    """A program that can't be exported.

    Args:
        error_code: the kind of the fault.
        message: says more of it.

    Example:
        >>> str(ExportError(ExportErrorType.NOT_SUPPORTED, "a loop"))
        '[ExportErrorType.NOT_SUPPORTED]: a loop'
    """

    def __init__(self, error_code: ExportErrorType, message: str) -> None:
        super().__init__(f"[{error_code}]: {message}")


def internal_assert(pred: bool, assert_msg: str) -> None:
    """Raises InternalError unless a condition holds.

    Args:
        pred: the condition.
        assert_msg: the message.

    Raises:
        InternalError: it does not.

    Example:
        >>> internal_assert(True, "never said")
    """
    if not pred:
        raise InternalError(assert_msg)
