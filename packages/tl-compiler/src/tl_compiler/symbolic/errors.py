"""What goes wrong with symbolic sizes."""

from __future__ import annotations

from typing import Any

__all__ = [
    "ConstraintViolationError",
    "GuardOnDataDependentSymNode",
    "PendingUnbackedSymbolNotFound",
    "UserError",
    "UserErrorType",
]

import enum


class UserErrorType(enum.Enum):
    """What a user's program did."""

    DYNAMIC_CONTROL_FLOW = enum.auto()
    ANTI_PATTERN = enum.auto()
    STANDARD_LIBRARY = enum.auto()
    CONSTRAINT_VIOLATION = enum.auto()
    DYNAMIC_DIM = enum.auto()
    INVALID_INPUT = enum.auto()
    INVALID_OUTPUT = enum.auto()
    UNSUPPORTED_ALIASED_MUTATED_DYNAMIC_INPUTS = enum.auto()


class UserError(RuntimeError):
    """A program, or what was said of its inputs, can't be exported.

    Args:
        error_type: what is wrong.
        msg: what to tell.
        case_name: an example of how to write it.
    """

    def __init__(self, error_type: UserErrorType, msg: str, case_name: str | None = None) -> None:
        super().__init__(msg)
        self.error_type, self.msg, self.message, self.case_name = error_type, msg, msg, case_name


class ConstraintViolationError(RuntimeError):
    """What was said of the sizes of inputs does not hold for the program."""


class GuardOnDataDependentSymNode(RuntimeError):
    """A program asks for the value of a number that only its data decide.

    Args:
        cond: the expression that it asked for.
        msg: what to tell.
    """

    def __init__(self, cond: Any, msg: str = "") -> None:
        super().__init__(msg or f"the value of {cond} depends on data")
        self.cond = cond


class PendingUnbackedSymbolNotFound(RuntimeError):
    """A symbol was made for a result in which it does not occur."""
