"""The number of the context of distributed derivatives that a thread is in."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Thread(threading.local):
    context_id: int | None = None


_thread = _Thread()


def context_id() -> int | None:
    """The number of the context of this thread."""
    return _thread.context_id


def set_context_id(number: int | None) -> None:
    """Sets the number of the context of this thread."""
    _thread.context_id = number


@contextmanager
def in_context(mark: Any) -> Iterator[None]:
    """Within the block, this thread is in the context of a mark.

    Args:
        mark: of a message; None for none.
    """
    before = _thread.context_id
    _thread.context_id = None if mark is None else mark[0]
    try:
        yield
    finally:
        _thread.context_id = before
