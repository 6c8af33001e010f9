"""`torch._dispatch.python`: switches of the reference's dispatcher in Python, which is not there to be switched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = [
    "enable_crossref_functionalize",
    "enable_python_dispatcher",
    "no_python_dispatcher",
    "suspend_functionalization",
]


@contextmanager
def enable_crossref_functionalize() -> Iterator[None]:
    """A region as any other: functionalization in tl has no second implementation to compare with."""
    yield


@contextmanager
def enable_python_dispatcher() -> Iterator[None]:
    """A region as any other: native code dispatches operators, to handlers in Python where there are some."""
    yield


@contextmanager
def no_python_dispatcher() -> Iterator[None]:
    """A region as any other."""
    yield


@contextmanager
def suspend_functionalization() -> Iterator[None]:
    """A region as any other."""
    yield
