"""What stands for an object that a pickle describes in two steps."""

from __future__ import annotations

from typing import Any

__all__ = ["Unfinished"]


class Unfinished:
    """Stands for an object until the pickle has told its state."""

    def finished(self, state: Any) -> Any:
        """The object."""
        raise NotImplementedError
