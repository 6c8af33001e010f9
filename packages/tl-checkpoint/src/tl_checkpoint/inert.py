"""Inert records of calls in a pickle, which nothing runs."""

from __future__ import annotations

from typing import Any

__all__ = ["Inert"]


class Inert:
    """The name of a class or function, and what it would be called with.

    A `functools.partial` is read as one: `args` begins with the function, which is one as well.

    Args:
        name: the dotted name.
        args: the positional arguments.
        keywords: the keyword arguments.

    Example:
        >>> Inert("project.Tokenizer", ("text",)).name
        'project.Tokenizer'
    """

    def __init__(self, name: str, args: tuple[Any, ...] = (), keywords: dict[str, Any] | None = None) -> None:
        self.name, self.args, self.keywords = name, args, keywords or {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Inert) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        if not self.args and not self.keywords:
            return f"Inert({self.name})"
        parts = [*map(repr, self.args), *(f"{k}={v!r}" for k, v in self.keywords.items())]
        return f"Inert({self.name}: {', '.join(parts)})"
