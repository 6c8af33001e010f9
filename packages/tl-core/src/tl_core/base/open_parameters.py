"""Methods whose parameters each subclass chooses, for type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["open_parameters"]


def open_parameters(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself; a type checker accepts every list of parameters in the method of a subclass.

    Args:
        function: a method such as `Module.forward`.

    Example:
        >>> @open_parameters
        ... def forward(self, *input): ...
        >>> forward.__name__
        'forward'
    """
    return function
