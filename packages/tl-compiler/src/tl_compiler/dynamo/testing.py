"""Helpers of the reference's own tests."""

from __future__ import annotations

import re

__all__ = ["normalize_gm"]


def normalize_gm(gm_str: str) -> str:
    """Generated code without comments and blanks at the ends of lines.

    Args:
        gm_str: the code.

    Example:
        >>> normalize_gm("x = 1  # one")
        'x = 1'
    """
    return "\n".join(re.sub(r"\s*#.*$", "", line).rstrip() for line in gm_str.split("\n")).strip()
