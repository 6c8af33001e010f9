"""Reading an element at an index that is a tensor, as an operator: what code does that is to run under `vmap`."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor, ops
from tl_core.overrides import TorchFunctionMode
from tl_core.pytree import tree_leaves

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(TorchFunctionMode):
    """Within it, `x[i, j]` with tensors of one number as indices is the operator `index`, which reads no number.

    Example:
        >>> import tl_core as tl
        >>> x = tl.arange(4)
        >>> with TransformGetItemToIndex():
        ...     x[tl.tensor(2)]
        tensor(2)
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.__getitem__:
            indices = tree_leaves(args[1])
            if indices and all(isinstance(index, Tensor) for index in indices):
                return ops.aten.index(args[0], indices)
        return func(*args, **(kwargs or {}))
