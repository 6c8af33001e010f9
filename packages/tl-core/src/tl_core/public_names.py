"""The module that an object says it belongs to."""

from __future__ import annotations

from typing import Any

__all__ = ["set_module"]


def set_module(obj: Any, mod: str) -> None:
    """Says that an object belongs to a module, as it is printed and pickled: the one from which users import it.

    Args:
        obj: a class or function.
        mod: the module's full name.

    Raises:
        TypeError: the name isn't a str.

    Example:
        >>> def made_elsewhere(): ...
        >>> set_module(made_elsewhere, "public.module")
        >>> made_elsewhere.__module__
        'public.module'
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
