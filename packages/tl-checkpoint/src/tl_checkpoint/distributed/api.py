"""How a failed save or load is reported."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any

__all__ = ["CheckpointException"]

WRAPPED_EXCEPTION = tuple[BaseException, traceback.StackSummary]


class CheckpointException(RuntimeError):
    """Some ranks failed to save or load; each one's exception is in `failures`, the first is also the cause.

    Args:
        msg (str): What was being done.
        failures (dict of int to (exception, stack summary)): What failed, by rank.
    """

    def __init__(self, msg: str, failures: Mapping[int, WRAPPED_EXCEPTION]) -> None:
        super().__init__(msg, failures)
        self._failures = dict(failures)
        self._message = msg

    @property
    def failures(self) -> dict[int, WRAPPED_EXCEPTION]:
        """The exception of each rank that failed, and where it was raised."""
        return self._failures

    def __str__(self) -> str:
        ranks = sorted(self._failures)
        said = (f"rank {rank}: {_line(self._failures[rank][0])}" for rank in ranks)
        return f"CheckpointException ranks:{ranks}: {self._message}: {'; '.join(said)}"


def _wrap_exception(exc: BaseException) -> WRAPPED_EXCEPTION:
    """An exception and where it was raised, as ranks send it."""
    return exc, traceback.extract_tb(exc.__traceback__)


def _is_wrapped_exception(obj: Any) -> bool:
    """Whether a value is what `_wrap_exception` returns."""
    return (
        isinstance(obj, tuple)
        and len(obj) == 2
        and isinstance(obj[0], BaseException)
        and isinstance(obj[1], traceback.StackSummary)
    )


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
