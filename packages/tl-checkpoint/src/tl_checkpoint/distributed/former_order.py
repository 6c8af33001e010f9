"""The former order of the arguments of `save` and `load`."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def accept_former_order(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator of functions whose second argument was a storage, which takes a name now.

    Args:
        name: the name of the storage.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> R:
            if len(args) == 2:
                warnings.warn(
                    f"The argument order of {function.__name__} has been changed: write {name}=...",
                    stacklevel=2,
                )
                first, storage = args
                return function(first, **kwargs, **{name: storage})
            return function(*args, **kwargs)

        return call

    return decorate
