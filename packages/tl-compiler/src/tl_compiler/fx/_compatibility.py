"""Which names of the package keep their meaning from release to release."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["compatibility"]

_T = TypeVar("_T")
_BACK_COMPAT_OBJECTS: dict[Any, None] = {}
_MARKED_WITH_COMPATIBILITY: dict[Any, None] = {}


def compatibility(is_backward_compatible: bool) -> Callable[[_T], _T]:
    """Marks a function or class as one whose interface is kept, or as one that may change.

    Args:
        is_backward_compatible: whether it is kept.

    Returns:
        A decorator that gives the object back; where its text begins without a note, one is added.

    Example:
        >>> @compatibility(is_backward_compatible=False)
        ... def draft(): "Does nothing yet."
        >>> "backward compatibility" in draft.__doc__
        True
    """

    def mark(thing: _T) -> _T:
        _MARKED_WITH_COMPATIBILITY.setdefault(thing)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(thing)
            note = "Its backward compatibility is kept."
        else:
            note = "It has no backward compatibility: it may change in any release."
        thing.__doc__ = f"{(getattr(thing, '__doc__', None) or '').rstrip()}\n\n{note}\n"
        return thing

    return mark
