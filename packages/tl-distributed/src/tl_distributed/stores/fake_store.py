"""A store for groups of the backend `fake`, whose members never meet."""

from __future__ import annotations

from .store import HashStore

__all__ = ["FakeStore"]


class FakeStore(HashStore):
    """A store in this process.

    Example:
        >>> store = FakeStore()
        >>> store.set("key", "value")
        >>> store.get("key")
        b'value'
    """
