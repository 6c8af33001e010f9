"""The result of a collective that may still run: it is waited for when it is read."""

from __future__ import annotations

from typing import Any

from tl_autograd import Function
from tl_core import Tensor
from tl_core.pytree import tree_map_only

from ..base.work import Work

__all__ = ["AsyncCollectiveTensor"]


class AsyncCollectiveTensor(Tensor):
    """The result of a collective that may still run. Each operator on it waits first, and returns a plain tensor.

    Args:
        elem: the tensor that the collective writes.
        work: the handle of the collective; None if it is over.

    Example:
        >>> import tl_core
        >>> result = AsyncCollectiveTensor(tl_core.ones(2))
        >>> result + 1, result.wait()
        (tensor([2., 2.]), tensor([1., 1.]))
    """

    elem: Tensor
    _work: Work | None
    _graph: Tensor | None

    @staticmethod
    def __new__(cls, elem: Tensor, work: Work | None = None) -> AsyncCollectiveTensor:
        make: Any = Tensor
        self: AsyncCollectiveTensor = make._make_wrapper_subclass(
            cls,
            elem.shape,
            strides=elem.stride(),
            storage_offset=elem.storage_offset(),
            dtype=elem.dtype,
            device=elem.device,
        )
        self.elem, self._work = elem, work
        return self

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    @property
    def completed(self) -> bool:
        """True if the collective has been waited for."""
        return self._work is None

    def trigger_wait(self) -> Tensor:
        """Waits for the collective; returns its result as a plain tensor."""
        if self._work is not None:
            self._work.wait()
            self._work = None
        return self.elem

    def wait(self) -> Tensor:
        """Waits for the collective; returns its result as a plain tensor with the gradient of this one."""
        value = self.trigger_wait()
        if not self.requires_grad:
            return value
        result: Tensor = _Unwrap.apply(self)
        return result

    def tolist(self) -> Any:
        """The elements as nested lists."""
        return self.wait().tolist()

    def numpy(self, *, force: bool = False) -> Any:
        """The elements as an array.

        Args:
            force: whether tensors with gradients are detached first.
        """
        return self.wait().numpy(force=force)

    def __repr__(self) -> str:
        return f"AsyncCollectiveTensor({self.wait()})"

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        self.trigger_wait()
        return ["elem"], None

    @staticmethod
    def __tensor_unflatten__(
        inner: dict[str, Tensor], context: Any, size: Any, stride: Any
    ) -> AsyncCollectiveTensor:
        return AsyncCollectiveTensor(inner["elem"])

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = tree_map_only(
            AsyncCollectiveTensor, AsyncCollectiveTensor.trigger_wait, (args, kwargs or {})
        )
        return func(*args, **kwargs)


class _Unwrap(Function):
    @staticmethod
    def forward(ctx: Any, tensor: AsyncCollectiveTensor) -> Tensor:
        return tensor.elem.view_as(tensor.elem)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad


class _Wrap(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> AsyncCollectiveTensor:
        return AsyncCollectiveTensor(tensor.detach())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad


def wrap_with_gradient(tensor: Tensor) -> Tensor:
    """A result that is there, with its gradient, as an `AsyncCollectiveTensor`.

    Args:
        tensor: the result.
    """
    result: Tensor = _Wrap.apply(tensor)
    return result
