"""The decorator that adds an implementation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .dispatcher import Dispatcher, MethodDispatcher

__all__ = ["dispatch", "ismethod"]

global_namespace: dict[str, Any] = {}


def dispatch(*types: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], Any]:
    """Makes a decorator that adds an implementation to the function of the same name.

    Args:
        types: the classes of its arguments; a tuple of classes for any of them, a list of one for any number.
        kwargs: `namespace`, a dictionary in which functions of one name are found; by default one for all.

    Returns:
        The decorator.

    Example:
        >>> @dispatch(int)
        ... def half(x): return x // 2
        >>> @dispatch(float)
        ... def half(x): return x / 2
        >>> half(3), half(3.0)
        (1, 1.5)
    """
    namespace = kwargs.get("namespace", global_namespace)

    def add(func: Callable[..., Any]) -> Any:
        name = func.__name__
        if ismethod(func):
            scope = inspect.currentframe().f_back.f_locals  # type: ignore[union-attr]
            dispatcher: Any = scope.get(name, MethodDispatcher(name))
        else:
            dispatcher = namespace.setdefault(name, Dispatcher(name))
        dispatcher.add(tuple(types), func)
        return dispatcher

    return add


def ismethod(func: Callable[..., Any]) -> bool:
    """Whether a function is written as a method.

    Args:
        func: the function.

    Returns:
        True if its first argument is called self.
    """
    return next(iter(inspect.signature(func).parameters), None) == "self"
