"""Which of how many processes this one is: the package that starts or joins a group of them says so here.

>>> current() is None
True
"""

from __future__ import annotations

from collections.abc import Callable

_query: Callable[[], tuple[int, int] | None] | None = None


def register(query: Callable[[], tuple[int, int] | None]) -> None:
    """Makes `query` answer for this process: its (rank, world size), or None while it belongs to no group."""
    global _query
    _query = query


def current() -> tuple[int, int] | None:
    """This process's (rank, world size); None while it belongs to no group."""
    return None if _query is None else _query()
