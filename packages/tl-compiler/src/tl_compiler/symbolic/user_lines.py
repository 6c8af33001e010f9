"""The line of the user's program that runs while it is traced."""

from __future__ import annotations

import linecache
import sys
from types import FrameType
from typing import Any

__all__ = ["asked_by_program", "user_line", "user_stack"]

_NUMBERS = ("tl_compiler.symbolic", "tl_core.symbolic")
_OURS = ("tl_core", "tl_compiler", "tl_autograd", "tl_nn", "contextlib", "tl.")


def _is_ours(frame: FrameType, also: tuple[str, ...] = ()) -> bool:
    name = frame.f_globals.get("__name__", "")
    return name.partition(".")[0] in _OURS or name == "tl"


def asked_by_program() -> bool:
    """Whether the innermost caller outside symbolic numbers is the user's program, not an operator or a layer."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_NUMBERS):
        frame = frame.f_back
    return frame is not None and not _is_ours(frame)


def user_line(limit: int = 200) -> str:
    """The innermost line outside this library.

    Args:
        limit: how many frames are looked at.

    Returns:
        `file:line in function: text`, without the text where the source is absent, or nothing.
    """
    frame: Any = sys._getframe(1)
    while frame is not None and limit:
        if not _is_ours(frame):
            name, line = frame.f_code.co_filename, frame.f_lineno
            text = linecache.getline(name, line).strip()
            position = f"{name}:{line} in {frame.f_code.co_name}"
            return f"{position}: {text}" if text else position
        frame, limit = frame.f_back, limit - 1
    return ""


def user_stack(until: str = "") -> list[tuple[str, int, str]]:
    """The lines of modules and of the user, outermost first: file, line, function.

    Args:
        until: the function at which it ends.

    Returns:
        The lines.
    """
    lines: list[tuple[str, int, str]] = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if frame.f_code.co_name == until:
            break
        if not _is_ours(frame) or name.startswith(("tl_nn.modules", "tl_nn.functional")):
            lines.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return lines[::-1]
