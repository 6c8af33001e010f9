"""Functions without writes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["functionalize"]


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """The function with the results of `func` and its writes to arguments.

    The reference rewrites writes and views into pure operators so that what traces the function sees no others. Here no
    tracer runs below transforms yet: the operators run as they are called, which gives the same results.

    Args:
        func: a function of tensors.
        remove: "mutations", or "mutations_and_views".

    Raises:
        RuntimeError: another word for `remove`.

    Example::

        >>> from tl_autograd.func import functionalize
        >>> functionalize(lambda x: x.clone().add_(1))(tl_core.zeros(2))
        tensor([1., 1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='{remove}'): Expected 'mutations' or 'mutations_and_views' for remove"
        )

    @functools.wraps(func)
    def pure(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return pure
