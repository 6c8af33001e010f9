"""The trace that records in a thread: scripted functions and `is_tracing` ask for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["current_trace", "record_in"]

_state = threading.local()


def current_trace() -> Any:
    """Returns the trace that records in this thread, or None.

    Example:
        >>> current_trace() is None
        True
    """
    return getattr(_state, "trace", None)


@contextmanager
def record_in(trace: Any) -> Iterator[None]:
    """A region in which a trace records in this thread.

    Args:
        trace: the trace, or None for a region without one.
    """
    outer = current_trace()
    _state.trace = trace
    try:
        yield
    finally:
        _state.trace = outer
