"""What stands for an object that a pickle describes in two steps."""

from __future__ import annotations

from typing import Any

__all__ = ["Unfinished"]


class Unfinished:
    """Stands for an object until the pickle has told its state."""

    remembered: list[int]  # the numbers under which the pickle recalls it

    def __new__(cls, *args: Any, **keywords: Any) -> Any:
        made = super().__new__(cls)
        made.remembered = []
        return made

    def finished(self, state: Any) -> Any:
        """The object."""
        raise NotImplementedError
