"""The exception of a failed save or load."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any

__all__ = ["CheckpointException"]

WRAPPED_EXCEPTION = tuple[BaseException, traceback.StackSummary]


class CheckpointException(RuntimeError):
    """Ranks failed to save or load. `failures` has the exception of each; the first is also the cause.

    Args:
        msg (str): The failed step.
        failures (dict of int to (exception, stack summary)): Exception and traceback, by rank.
    """

    def __init__(self, msg: str, failures: Mapping[int, WRAPPED_EXCEPTION]) -> None:
        super().__init__(msg, failures)
        self._failures = dict(failures)
        self._message = msg

    @property
    def failures(self) -> dict[int, WRAPPED_EXCEPTION]:
        """Exception and traceback of each failed rank."""
        return self._failures

    def __str__(self) -> str:
        ranks = sorted(self._failures)
        lines = (f"rank {rank}: {_line(self._failures[rank][0])}" for rank in ranks)
        return f"CheckpointException ranks:{ranks}: {self._message}: {'; '.join(lines)}"


def _wrap_exception(exc: BaseException) -> WRAPPED_EXCEPTION:
    """An exception with its traceback, as ranks send it."""
    return exc, traceback.extract_tb(exc.__traceback__)


def _is_wrapped_exception(obj: Any) -> bool:
    """Whether a value is a result of `_wrap_exception`."""
    return (
        isinstance(obj, tuple)
        and len(obj) == 2
        and isinstance(obj[0], BaseException)
        and isinstance(obj[1], traceback.StackSummary)
    )


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
