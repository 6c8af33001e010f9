"""`Variable`, the former name of a tensor that takes part in differentiation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tl_autograd import _C
from tl_core import Tensor
from tl_core.tensors.parameter import as_leaf

__all__ = ["Variable", "queue_callback"]


def queue_callback(callback: Callable[[], Any]) -> None:
    """Calls a function at the end of the backward that runs on this thread.

    Args:
        callback: the function.

    Raises:
        RuntimeError: no backward runs on this thread.

    Example:
        >>> import tl_core
        >>> x = tl_core.ones(2, requires_grad=True)
        >>> hook = x.register_hook(lambda grad: queue_callback(lambda: print("end")))
        >>> x.sum().backward()
        end
    """
    _C.queue_callback(callback)


class _Engine:
    """What `Variable` names the engine."""

    queue_callback = staticmethod(queue_callback)


class _VariableMeta(type):
    _execution_engine = _Engine()

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=_VariableMeta):
    """`Variable(tensor, requires_grad=False)` gives the tensor's data as a tensor. Tensors need no wrapper
    any more.

    Args:
        data: a tensor.
        requires_grad: whether gradients are recorded.
        volatile: without effect but for a warning; `no_grad` is what it was.

    Example:
        >>> import tl_core
        >>> x = Variable(tl_core.ones(2), requires_grad=True)
        >>> x.requires_grad, type(x).__name__
        (True, 'Tensor')
    """

    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: bool = False) -> Any:
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if volatile:
            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                stacklevel=2,
            )
        return as_leaf(data.detach(), bool(requires_grad))
