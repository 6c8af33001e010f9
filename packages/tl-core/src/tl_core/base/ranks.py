"""Which of how many processes this one is: the package that starts or joins a group of them says so here.

>>> current() is None
True
"""

from __future__ import annotations

from collections.abc import Callable

_query: Callable[[], tuple[int, int] | None] | None = None
_group: Callable[[], object | None] | None = None


def register(
    query: Callable[[], tuple[int, int] | None], group: Callable[[], object | None] | None = None
) -> None:
    """Makes `query` answer for this process: its (rank, world size), or None while it belongs to no group.

    Args:
        query: asked by `current`.
        group: asked by `default_group`.
    """
    global _query, _group
    _query, _group = query, group


def default_group() -> object | None:
    """The group of all processes; None while there is none."""
    return None if _group is None else _group()


def current() -> tuple[int, int] | None:
    """This process's (rank, world size); None while it belongs to no group."""
    return None if _query is None else _query()
