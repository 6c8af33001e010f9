"""Warnings that say once a process what has no effect."""

from __future__ import annotations

import sys
from warnings import warn

from .purity import is_ours

__all__ = ["warn_once"]

_texts: set[str] = set()


def warn_once(text: str) -> None:
    """Warns, if that hasn't been said yet; the warning names the program's line.

    Args:
        text: what is said.
    """
    if text in _texts:
        return
    _texts.add(text)
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and is_ours(frame.f_globals.get("__name__")):
        frame, level = frame.f_back, level + 1
    warn(text, UserWarning, stacklevel=level)
