"""Entries for the globals of a pickle that is read as data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .inert import Inert

__all__ = ["Global", "RefusedGlobal"]


class Global:
    """An allowed class or function; `make` is called in its place, or `create` to make an object without a state.

    Args:
        name: the dotted name.
        make: the function called in its place, or None.
        create: the function that makes an object without a state, or None.
        takes_value: whether the pickle may state the one argument itself instead of a tuple, as the pickler of
            PyTorch's C++ does for enumerations.

    Example:
        >>> Global("project.Tokenizer", dict).name
        'project.Tokenizer'
    """

    __slots__ = ("create", "make", "name", "takes_value")

    def __init__(
        self,
        name: str,
        make: Callable[..., Any],
        create: Callable[..., Any] | None = None,
        takes_value: bool = False,
    ) -> None:
        self.name, self.make, self.create, self.takes_value = name, make, create or make, takes_value

    def __repr__(self) -> str:
        return f"Global({self.name})"


class RefusedGlobal:
    """A name that isn't allowed. It may only stand in an inert record; anywhere else `error` is raised."""

    __slots__ = ("error", "is_inert", "name")

    def __init__(self, name: str, error: Exception) -> None:
        self.name, self.error, self.is_inert = name, error, False

    def record(self) -> Inert:
        """The record of the global."""
        self.is_inert = True
        return Inert(self.name)
