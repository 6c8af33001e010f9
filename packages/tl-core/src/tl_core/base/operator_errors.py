"""Errors of operators on tensors without values."""

from __future__ import annotations

from typing import Any

__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "UnsupportedOperatorException",
]


class UnsupportedFakeTensorException(RuntimeError):
    """What fake tensors cannot do."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class DynamicOutputShapeException(RuntimeError):
    """The sizes of an operator's results depend on values.

    Args:
        func: the operator.
    """

    def __init__(self, func: Any) -> None:
        super().__init__(func)
        self.func = func


class DataDependentOutputException(RuntimeError):
    """An operator's results depend on values.

    Args:
        func: the operator.
    """

    def __init__(self, func: Any) -> None:
        super().__init__(func)
        self.func = func


class UnsupportedOperatorException(RuntimeError):
    """An operator has no implementation without values.

    Args:
        func: the operator.
    """

    def __init__(self, func: Any) -> None:
        super().__init__(func)
        self.func = func
