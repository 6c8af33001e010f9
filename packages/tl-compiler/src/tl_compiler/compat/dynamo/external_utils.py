"""`torch._dynamo.external_utils`: functions that code around compiled functions calls."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tl_compiler.compiler import is_compiling
from tl_compiler.compiler.annotations import wrap_numpy

__all__ = ["is_compiling", "wrap_inline", "wrap_numpy"]


def wrap_inline(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls another one, so that both are looked into.

    Args:
        fn: the other function.

    Example:
        >>> wrap_inline(abs)(-1)
        1
    """

    @functools.wraps(fn)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return inner
