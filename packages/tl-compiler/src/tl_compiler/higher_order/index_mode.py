"""Indexing by tensors of one element without asking for their value."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor, pytree
from tl_core.operators import packets as ops
from tl_core.overrides import TorchFunctionMode

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(TorchFunctionMode):
    """Inside, `x[i]` with tensors of no dimension looks elements up, where it would else ask for the number `i`.

    Under `vmap` and in traces `i` has no number; masks of attention are written as functions of such indices.

    Example:
        >>> from tl_autograd.func import vmap
        >>> table = tl_core.tensor([10, 20, 30])
        >>> with TransformGetItemToIndex():
        ...     vmap(lambda i: table[i])(tl_core.tensor([2, 0]))
        tensor([30, 10])
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.__getitem__:
            indices = pytree.tree_leaves(args[1])
            if indices and all(isinstance(i, (Tensor, int)) and not isinstance(i, bool) for i in indices):
                at = [
                    i if isinstance(i, Tensor) else tl_core.tensor(i, device=args[0].device) for i in indices
                ]
                return ops.aten.index.Tensor(args[0], at)
        return func(*args, **(kwargs or {}))
