"""Further names of a function's keywords: what the manual and programs call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["also_named"]

F = TypeVar("F", bound=Callable[..., Any])


def also_named(**names: str) -> Callable[[F], F]:
    """Lets an overridable function take keywords by other names as well; stands below `overridable`.

    Args:
        names: The function's own name of a keyword, by each other name of it.

    Returns:
        A decorator, which leaves the function as it is.

    Example:
        >>> import tl_core as tl
        >>> from tl_core._C import overridable
        >>> @overridable
        ... @also_named(input="A")
        ... def double(A):
        ...     return A * 2
        >>> double(input=tl.ones(2))
        tensor([2., 2.])
    """

    def decorate(function: F) -> F:
        function.__keyword_names__ = names  # type: ignore[attr-defined]  # overridable() reads it
        return function

    return decorate
