"""`torch.jit.frontend`: the errors about functions whose source TorchScript cannot read."""

from __future__ import annotations

from typing import Any

__all__ = ["FrontendError", "FrontendTypeError", "NotSupportedError", "UnsupportedNodeError"]


class FrontendError(Exception):
    """The source of a function is no TorchScript.

    Args:
        source_range: the line of the source; None if it is unknown.
        msg: the reason.

    Example:
        >>> str(NotSupportedError(None, "no comprehensions"))
        'no comprehensions'
    """

    def __init__(self, source_range: Any, msg: str) -> None:
        super().__init__(source_range, msg)
        self.source_range, self.msg = source_range, msg
        self.callers: list[str] = []  # the calls that made the compiler read the source

    def __str__(self) -> str:
        text = self.msg if self.source_range is None else f"{self.msg}\n{self.source_range}"
        return "".join([text, *self.callers])


class NotSupportedError(FrontendError):
    """A statement that TorchScript lacks."""


class UnsupportedNodeError(NotSupportedError):
    """A node of the syntax tree that TorchScript lacks.

    Args:
        ctx: gives the line of a node, with `make_range`.
        offending_node: the node.
        reason: the reason; by default the class of the node is the reason.
    """

    def __init__(self, ctx: Any, offending_node: Any, reason: str = "") -> None:
        make_range = getattr(ctx, "make_range", None)
        line = getattr(offending_node, "lineno", None)
        source_range = None
        if make_range is not None and line is not None:
            source_range = make_range(line, offending_node.col_offset, line)
        super().__init__(source_range, reason or f"{type(offending_node).__name__} nodes aren't supported")


class FrontendTypeError(FrontendError):
    """A type that TorchScript lacks."""
