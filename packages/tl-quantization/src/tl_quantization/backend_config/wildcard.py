"""The entry of a pattern that any node matches."""

from __future__ import annotations

__all__ = ["MatchAllNode"]


class MatchAllNode:
    """An entry of a pattern that any node matches, such as the second addend of `(add, Conv2d, MatchAllNode)`."""
