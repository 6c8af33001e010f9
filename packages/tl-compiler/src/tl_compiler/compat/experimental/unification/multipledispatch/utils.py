"""Orders and groups."""

from __future__ import annotations

from typing import Any

from ..unification_tools import groupby
from ..utils import _toposort, raises, reverse_dict

__all__ = ["_toposort", "groupby", "raises", "reverse_dict", "str_signature", "typename"]


def typename(type: Any) -> str:
    """The name of a class, or of a tuple of classes.

    Args:
        type: the class.

    Returns:
        Its name.

    Example:
        >>> typename((int, float))
        '(int, float)'
    """
    if isinstance(type, tuple):
        return f"({', '.join(map(typename, type))})"
    return getattr(type, "__name__", str(type))


def str_signature(sig: Any) -> str:
    """A signature as text.

    Args:
        sig: the classes.

    Returns:
        Their names.

    Example:
        >>> str_signature((int, float))
        'int, float'
    """
    return ", ".join(map(typename, sig))
