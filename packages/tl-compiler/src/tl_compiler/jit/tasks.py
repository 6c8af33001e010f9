"""`torch.jit.fork` and `wait`: results that are there later. Python runs a forked function at once, as it always has
outside of TorchScript."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core.futures import Future

__all__ = ["fork", "wait"]


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Runs a function, and gives its result as a future that is done.

    Args:
        func: the function or module.
        args, kwargs: its arguments.

    Returns:
        The future; `wait` gives what it holds.

    Raises:
        TypeError: `func` can't be called. What the function raises, it raises here.

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
    """The result of a future, once it is there.

    Args:
        future: what `fork` returned, or another future.

    Raises:
        TypeError: it is no future.

    Example:
        >>> wait(fork(max, 1, 2))
        2
    """
    if not isinstance(future, Future):
        raise TypeError(f"wait(): future must be a torch.jit.Future, got {type(future)}")
    return future.wait()
