"""Pipes at a later position."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

__all__ = ["fast_forward"]


def fast_forward(datapipe: Any, count: int) -> Iterator[Any]:
    """An iterator over the pipe after `count` samples, which are read and dropped.

    >>> list(fast_forward([1, 2, 3], 2))
    [3]
    """
    return itertools.islice(datapipe, count, None)
