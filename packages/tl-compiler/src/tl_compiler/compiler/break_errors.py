"""Whether a compiled function raises where it can't become one graph, region by region."""

from __future__ import annotations

import contextlib
import threading
from typing import Self

__all__ = ["error_on_graph_break", "raises_on_break"]

_thread = threading.local()


def raises_on_break() -> bool | None:
    """Whether compiled functions of this thread raise; None: `compile(fullgraph=)` decides.

    Example:
        >>> raises_on_break() is None
        True
    """
    return getattr(_thread, "raises", None)


class error_on_graph_break(contextlib.ContextDecorator):
    """A `with` block or a decorator in which a compiled function raises where it can't become one graph, or does not.

    `compile(fullgraph=True)` raises everywhere. A graph break within the region of a compiled function counts by the
    setting there.

    Args:
        error_on_graph_break: whether it raises.

    Example:
        >>> with error_on_graph_break(True):
        ...     raises_on_break()
        True
    """

    def __init__(self, error_on_graph_break: bool) -> None:
        self.raises = error_on_graph_break
        self._before: list[bool | None] = []

    def __enter__(self) -> Self:
        self._before.append(raises_on_break())
        _thread.raises = self.raises
        return self

    def __exit__(self, *error: object) -> None:
        _thread.raises = self._before.pop()

    def _recreate_cm(self) -> Self:
        return type(self)(self.raises)
