"""Marks for Intel's Instrumentation and Tracing Technology, which tl does not have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]


def is_available() -> bool:
    """Whether marks reach Intel's tools: no.

    Example:
        >>> from tl_profiler import itt
        >>> itt.is_available()
        False
    """
    return False


def _refuse(name: str) -> RuntimeError:
    return RuntimeError(
        f"itt.{name}(): ITT functions not installed: tl has no ITT library; use tl.profiler.record_function"
    )


def range_push(msg: str) -> int:
    """Begins a range. Raises RuntimeError, as tl has no ITT library.

    Example:
        >>> from tl_profiler import itt
        >>> if itt.is_available():
        ...     _ = itt.range_push("forward")
    """
    raise _refuse("range_push")


def range_pop() -> int:
    """Ends the innermost range. Raises RuntimeError, as tl has no ITT library.

    Example:
        >>> from tl_profiler import itt
        >>> if itt.is_available():
        ...     _ = itt.range_pop()
    """
    raise _refuse("range_pop")


def mark(msg: str) -> None:
    """Marks a moment. Raises RuntimeError, as tl has no ITT library.

    Example:
        >>> from tl_profiler import itt
        >>> if itt.is_available():
        ...     itt.mark("epoch")
    """
    raise _refuse("mark")


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A `with` block as a range. Raises RuntimeError, as tl has no ITT library.

    Args:
        msg: the name, a format.
        args: the positional arguments of the format.
        kwargs: the keyword arguments of the format.

    Example:
        >>> from tl_profiler import itt
        >>> if itt.is_available():
        ...     with itt.range("forward"):
        ...         pass
    """
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
