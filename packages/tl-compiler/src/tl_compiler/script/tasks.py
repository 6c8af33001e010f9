"""Tasks of a program: a forked function runs at once, and its result is a future that is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core.futures import Future

__all__ = ["fork", "wait"]


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Calls a function and returns its result as a future that is done.

    Args:
        func: the function or module.
        args, kwargs: its arguments.

    Returns:
        The future; `wait` returns its result.

    Raises:
        TypeError: `func` can't be called. An error of the function is raised here.

    Example:
        >>> future = fork(lambda x: x + 1, 2)
        >>> future.done(), wait(future)
        (True, 3)
    """
    if not callable(func):
        raise TypeError(f"fork(): func must be a function or module, got {type(func)}")
    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[Any]) -> Any:
    """Waits for a future and returns its result.

    Args:
        future: the future of `fork`, or another one.

    Raises:
        TypeError: `future` is of another class.

    Example:
        >>> wait(fork(max, 1, 2))
        2
    """
    if not isinstance(future, Future):
        if future is None:
            raise RuntimeError("wait(): Future can't be None")
        raise TypeError(f"wait(): future must be a torch.jit.Future, got {type(future)}")
    return future.wait()
