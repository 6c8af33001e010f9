"""Marks for NVIDIA's profilers. Without them every call raises RuntimeError."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

__all__ = ["mark", "range", "range_pop", "range_push"]


def range_push(msg: str) -> int:
    """Begins a named range inside the current one; returns how many it is in."""
    _refuse("range_push")


def range_pop() -> int:
    """Ends the innermost range; returns how many it was in."""
    _refuse("range_pop")


def mark(msg: str) -> None:
    """Marks a moment."""
    _refuse("mark")


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A named range around a `with` block; the message is formatted with the other arguments."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(
        f"NVTX functions not installed. Are you sure you have a CUDA build? tl.cuda.nvtx.{name} needs a CUDA plug-in"
    )
