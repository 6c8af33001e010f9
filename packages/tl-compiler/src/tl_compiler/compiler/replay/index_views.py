"""An index of a tensor as one operator that returns a view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core

__all__ = ["view_of_index"]

Tensor = tl_core.Tensor
View = tuple[Callable[..., Any], tuple[int, ...]]


def view_of_index(x: Any, key: Any) -> View | None:
    """The method and its numbers that return what `x[key]` returns, or None if it takes none or several.

    Args:
        x: the tensor.
        key: the index.

    Example:
        >>> function, numbers = view_of_index(tl_core.ones(2, 3), (..., slice(1, None)))
        >>> function.__name__, numbers
        ('narrow', (1, 1, 2))
    """
    items = key if type(key) is tuple else (key,)
    named = sum(type(item) in (int, slice) for item in items)
    views: list[View] = []
    at = dim = 0  # dimensions of the tensor and of the view
    for item in items:
        if item is None:
            views.append((Tensor.unsqueeze, (dim,)))
            dim += 1
        elif item is ...:
            at, dim = at + x.ndim - named, dim + x.ndim - named
        elif type(item) is int:
            views.append((Tensor.select, (dim, item)))
            at += 1
        elif type(item) is slice and item.step in (None, 1) and _has_numbers(item):
            start, stop, _ = item.indices(x.shape[at])
            if start > 0 or stop < x.shape[at]:
                views.append((Tensor.narrow, (dim, start, max(stop - start, 0))))
            at, dim = at + 1, dim + 1
        else:
            return None
        if len(views) > 1:
            return None
    return views[0] if views else None


def _has_numbers(item: slice) -> bool:
    return all(type(part) in (int, type(None)) for part in (item.start, item.stop, item.step))
