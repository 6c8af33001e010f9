"""Questions about values of graphs, and regions, of PyTorch's code generator."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from tl_core import Tensor, get_num_threads, strided
from tl_core.symbolic.numbers import SymInt

__all__ = [
    "clear_inductor_caches",
    "fresh_cache",
    "fresh_inductor_cache",
    "is_symbolic",
    "parallel_num_threads",
]


def parallel_num_threads() -> int:
    """The threads that an operator may use.

    Example:
        >>> parallel_num_threads() >= 1
        True
    """
    return int(get_num_threads())


def clear_inductor_caches() -> None:
    """Returns at once: there is no cache of generated code."""


@contextlib.contextmanager
def fresh_cache(
    cache_entries: dict[str, Any] | None = None, dir: str | None = None, delete: bool = True
) -> Iterator[None]:
    """A region with an empty cache of generated code. There is no generated code, so it has no effect.

    Args:
        cache_entries, dir, delete: accepted.
    """
    yield


fresh_inductor_cache = fresh_cache  # its older name


def is_symbolic(a: Any) -> bool:
    """Whether a value is a symbolic number, or a tensor that has one among its sizes and strides.

    Args:
        a: the value.

    Example:
        >>> is_symbolic(3)
        False
    """
    if isinstance(a, Tensor):
        return any(isinstance(n, SymInt) for n in (*a.shape, *(a.stride() if a.layout is strided else ())))
    return isinstance(a, SymInt)
