"""Why a call can't become a graph."""

from __future__ import annotations

from .break_errors import raises_on_break

__all__ = ["Break", "ForbiddenCall"]


class Break(Exception):
    """A call can't become a graph.

    Args:
        reason: why.
        location: the file and line that say so, or None.
        by_value: whether the elements of a tensor decide what the program does.
        by_operator: whether an operator raises an error.
        raises: whether the compiled function raises; None: as `error_on_graph_break` says now.
    """

    def __init__(
        self,
        reason: str,
        location: tuple[str, int] | None = None,
        by_value: bool = False,
        by_operator: bool = False,
        raises: bool | None = None,
    ) -> None:
        where = f"{location[0]}:{location[1]}: " if location else ""
        super().__init__(f"{where}{reason}")
        self.reason, self.location = reason, location
        self.by_value, self.by_operator = by_value, by_operator
        self.raises = raises_on_break() if raises is None else raises

    def without_frames(self) -> Break:
        """The same reason without the frames that it came through, which refer to the arguments of the call."""
        self.__traceback__ = self.__cause__ = self.__context__ = None
        return self


class ForbiddenCall(AssertionError):
    """A compiled function calls a function that no compiled function may call."""
