"""Enumerations that PyTorch has in C++: a file holds one of their values as an empty object that is told its number."""

from __future__ import annotations

import copyreg
import enum
from typing import Any

__all__ = ["NativeEnum"]


def _member_or_blank(cls: Any, *value: Any) -> Any:
    """The member of a value; without one, the object that `__setstate__` makes equal to a member."""
    return enum.Enum.__new__(cls, *value) if value else object.__new__(cls)


class _Type(enum.EnumType):
    def __new__(metacls, *parts: Any, **options: Any) -> Any:
        cls = super().__new__(metacls, *parts, **options)
        if cls.__members__:
            cls.__new__ = _member_or_blank  # type: ignore[method-assign,assignment]
        return cls


class NativeEnum(enum.Enum, metaclass=_Type):
    """An enumeration whose values are read from PyTorch's files, and written as it reads them.

    What comes out of a file is equal to the member of its number, and not the same object, as in PyTorch.

    Example:
        >>> class Level(NativeEnum):
        ...     OFF = 0
        ...     DETAIL = 2
        ...
        >>> int(Level.DETAIL), Level(2), Level.DETAIL == 2
        (2, <Level.DETAIL: 2>, False)
        >>> blank = Level.__new__(Level)
        >>> blank.__setstate__(2)
        >>> blank == Level.DETAIL, blank.name
        (True, 'DETAIL')
    """

    def __eq__(self, other: object) -> bool:
        return self._value_ == other._value_ if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._value_)

    def __int__(self) -> int:
        return int(self._value_)

    __index__ = __int__

    def __reduce_ex__(self, protocol: Any) -> Any:
        return copyreg.__newobj__, (type(self),), self._value_  # type: ignore[attr-defined]

    def __setstate__(self, value: int) -> None:
        vars(self).update(vars(type(self)(value)))

    def __copy__(self) -> NativeEnum:
        return self

    def __deepcopy__(self, memo: Any) -> NativeEnum:
        return self
