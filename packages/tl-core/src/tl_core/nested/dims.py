"""Dimensions of nested tensors, counted from either end."""

from __future__ import annotations

from typing import Any

__all__ = ["wrap", "wrap_all"]


def wrap(dim: int, ndim: int) -> int:
    """A dimension counted from the front; IndexError if there is none such."""
    if not -ndim <= dim < ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})"
        )
    return dim % ndim


def wrap_all(dims: Any, ndim: int) -> list[int]:
    """Several of them, each once; all for None or none."""
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return list(range(ndim))
    wrapped = [wrap(d, ndim) for d in ([dims] if isinstance(dims, int) else dims)]
    if len(set(wrapped)) < len(wrapped):
        raise RuntimeError(f"a dimension appears multiple times in the list of dims {list(dims)}")
    return wrapped
