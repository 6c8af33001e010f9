"""Functions without writes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tl_autograd import _C
from tl_autograd.func.levels import FUNCTIONALIZE, Level, tensors_mapped
from tl_core import Tensor
from tl_core.pytree import tree_flatten, tree_unflatten

__all__ = ["functionalize"]


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function with the results of `func` that writes to no tensor on the way.

    An operator that writes becomes the operator that returns the result. Every tensor that shares the memory takes its
    part of the result at its next use. So the levels below, for example a tracer, see pure operators. Values that
    `func` writes to its arguments are copied into them at the end.

    Args:
        func: a function of tensors and nested containers of them.
        remove: "mutations", or "mutations_and_views", which makes copies of views as well.

    Returns:
        A function of the same arguments.

    Raises:
        RuntimeError: another word for `remove`, or `func` writes to a tensor that is none of its arguments.

    Example::

        >>> from tl_autograd.func import functionalize
        >>> functionalize(lambda x: x.clone().add_(1))(tl_core.zeros(2))
        tensor([1., 1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='{remove}'): Valid options for remove are 'mutations' and "
            "'mutations_and_views'. Expected 'mutations' or 'mutations_and_views'."
        )

    @functools.wraps(func)
    def pure(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree_flatten((args, kwargs))
        with Level(FUNCTIONALIZE, remove == "mutations_and_views") as level:
            inside = [_C.wrap_functional(x, level.serial) if isinstance(x, Tensor) else x for x in leaves]
            own_args, own_kwargs = tree_unflatten(inside, spec)
            result = func(*own_args, **own_kwargs)
        value = tensors_mapped(outside, result)
        for x, wrapper in zip(leaves, inside, strict=True):
            if isinstance(x, Tensor):
                _write_back(x, wrapper)
        return value

    return pure


def outside(tensor: Tensor) -> Tensor:
    """The current value of a tensor of a level without writes; any other tensor itself."""
    state = _C.functional_value(tensor)
    return tensor if state is None else state[0]


def _write_back(x: Tensor, wrapper: Tensor) -> None:
    value, changed = _C.functional_value(wrapper)
    if not changed:
        return
    if x.shape != value.shape:
        x.resize_(value.shape)
    x.copy_(value)
