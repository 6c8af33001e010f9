"""The functions of C below this package, for packages that record calls of them and call them again."""

from __future__ import annotations

from typing import Any

from tl_core import _C

__all__ = ["native_function"]


def native_function(name: str) -> Any:
    """A function or type of the native library, or None.

    Args:
        name: its name.

    Example:
        >>> native_function("add") is not None, native_function("no_such_function")
        (True, None)
    """
    return getattr(_C, name, None)
