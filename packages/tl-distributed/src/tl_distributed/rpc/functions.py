"""Marks of functions that other workers call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_MARK = "_wrapped_async_rpc_function"


def async_execution(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function that returns a `Future`: the reply to its caller waits for the future, not a thread.

    Args:
        fn: the function. `@staticmethod` and `@classmethod` go outside of the mark.

    Returns:
        The function with the mark.

    Example:
        >>> from tl_core.futures import Future
        >>> @async_execution
        ... def later():
        ...     future = Future()
        ...     future.set_result(1)
        ...     return future
        ...
        >>> later().wait()
        1
    """

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    setattr(call, _MARK, fn)
    return call


def is_async(fn: Callable[..., Any]) -> bool:
    """True if a function has the mark of `async_execution`."""
    return getattr(fn, _MARK, None) is not None
