"""Tasks of a program: a forked function runs at once, and its result is a future that is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core.futures import Future

__all__ = ["fork"]


def fork(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Calls a function and returns its result as a future.

    Example:
        >>> fork(max, 1, 2).wait()
        2
    """
    future: Future[Any] = Future()
    future.set_result(function(*arguments))
    return future
