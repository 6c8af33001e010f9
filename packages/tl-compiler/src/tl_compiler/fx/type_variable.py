"""Logical variables, which stand for sizes and types that are not known."""

from __future__ import annotations

from collections.abc import Hashable

__all__ = ["Var"]


class Var:
    """A logical variable: stands for any value, the same wherever it occurs.

    Args:
        token: what it is known by; by default a new number.

    Example:
        >>> Var("x")
        ~x
        >>> Var("x") == Var("x"), Var() == Var()
        (True, False)
    """

    _id = 1

    def __init__(self, *token: Hashable) -> None:
        if not token:
            token = (f"_{Var._id}",)
            Var._id += 1
        self.token = token[0]

    def __str__(self) -> str:
        return f"~{self.token}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.token == other.token

    def __hash__(self) -> int:
        return hash((type(self), self.token))
