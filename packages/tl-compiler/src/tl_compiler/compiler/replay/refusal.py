"""Why a call is not replayed."""

from __future__ import annotations

__all__ = ["Refusal"]


class Refusal(Exception):
    """A call does what no replay can repeat, or what no rule knows.

    Args:
        reason: what it does.
        location: the file and the line, or None.
    """

    def __init__(self, reason: str, location: tuple[str, int] | None = None) -> None:
        super().__init__(reason)
        self.reason, self.location = reason, location

    def __str__(self) -> str:
        return (
            self.reason if self.location is None else f"{self.reason} ({self.location[0]}:{self.location[1]})"
        )
