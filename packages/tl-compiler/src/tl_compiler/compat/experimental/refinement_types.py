"""Constraints on sizes."""

from __future__ import annotations

from typing import Any

__all__ = ["Equality"]


class Equality:
    """Two sizes are the same.

    Args:
        lhs, rhs: the sizes.

    Example:
        >>> Equality(1, 2), Equality(1, 2) == Equality(1, 2)
        (1 = 2, True)
    """

    def __init__(self, lhs: Any, rhs: Any) -> None:
        self.lhs = lhs
        self.rhs = rhs

    def __str__(self) -> str:
        return f"{self.lhs} = {self.rhs}"

    def __repr__(self) -> str:
        return f"{self.lhs} = {self.rhs}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equality) and self.lhs == other.lhs and self.rhs == other.rhs

    def __hash__(self) -> int:
        return hash((str(self.lhs), str(self.rhs)))
