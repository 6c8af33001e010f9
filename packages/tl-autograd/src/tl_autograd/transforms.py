"""Function transforms on the transforms layer: `grad`, which nests with itself and with recorded
gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tl_autograd import _C
from tl_core import Tensor

__all__ = ["grad"]


def grad(func: Callable[..., Tensor], argnums: int = 0) -> Callable[..., Tensor]:
    """The function that gives the gradient of `func` with respect to one of its arguments.

    Args:
        func: takes tensors, returns a tensor of one element; may not write to tensors that it differentiates.
        argnums: which positional argument.

    Example::

        >>> from tl_autograd.transforms import grad
        >>> grad(grad(lambda x: x * x * x))(tl_core.tensor(2.0))
        tensor(12.)
    """

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Tensor:
        _C.enter_level()
        try:
            x = _C.level_input(args[argnums])
            output = func(*args[:argnums], x, *args[argnums + 1 :], **kwargs)
        except BaseException:
            _C.leave_level()
            raise
        return _C.leave_with_gradients(output, (x,))[0]

    return gradient
