"""Placeholders of objects that a pickle describes in two steps."""

from __future__ import annotations

from typing import Any

__all__ = ["Unfinished"]


class Unfinished:
    """Placeholder of an object until the pickle sets its state."""

    remembered: list[int]  # the memo numbers of the placeholder in the pickle

    def __new__(cls, *args: Any, **keywords: Any) -> Any:
        instance = super().__new__(cls)
        instance.remembered = []
        return instance

    def finish(self, state: Any) -> Any:
        """The object with its state."""
        raise NotImplementedError
