"""Tensors that a module trains or carries along."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Self

from tl_core import _C
from tl_core._C import Tensor
from tl_core.overrides import disabled_torch_function

__all__ = ["Buffer", "Parameter", "as_leaf"]


class _Kind(type):
    _mark: str

    def __instancecheck__(cls, instance: object) -> bool:
        """Tensors of other subclasses count if they were marked as one of these; not for classes that extend these."""
        if super().__instancecheck__(instance):
            return True
        if "_mark" not in vars(cls):
            return False
        mark = getattr(instance, cls._mark, False) if isinstance(instance, Tensor) else False
        return bool(mark)


def as_leaf(tensor: Any, requires_grad: bool = True) -> Any:
    """Switches the recording of a new tensor on, also inside of a transform such as `func.grad`.

    The method `requires_grad_` refuses its call there, as in PyTorch, because the transform doesn't see the leaf. A
    function that creates tensors, such as the constructor of a module, must work there.

    Args:
        tensor: a tensor that no operator has recorded.
        requires_grad: False leaves the tensor as it is.

    Returns:
        The tensor.

    Raises:
        RuntimeError: If the element type is neither floating nor complex.
    """
    if requires_grad:
        tensor.requires_grad = True
    return tensor


class Parameter(Tensor, metaclass=_Kind):
    """A tensor that a module lists among its parameters; it requires a gradient unless told otherwise.

    >>> Parameter(tensor([1.0])).requires_grad
    True
    """

    __module__ = "tl_core"
    _mark = "_is_param"
    __torch_function__ = disabled_torch_function

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = _C.empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            parameter = _C._make_subclass(cls, data)
            _C._mark_parameter(parameter)
            return as_leaf(parameter, requires_grad)
        parameter = as_leaf(data.detach(), requires_grad)
        if type(parameter) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns "
                f"an instance of the same type, but return type {type(parameter).__name__} was found instead."
            )
        parameter._is_param = True
        return parameter

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        return "Parameter containing:\n" + Tensor.__repr__(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuild_parameter, (self.data, self.requires_grad, OrderedDict()), dict(self.__dict__) or None


class Buffer(Tensor, metaclass=_Kind):
    """A tensor that a module lists among its buffers."""

    __module__ = "tl_core"
    _mark = "_is_buffer"
    _is_buffer: bool
    persistent: bool
    __torch_function__ = disabled_torch_function

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Self:
        source = _C.empty(0) if data is None else data
        buffer: Any = as_leaf(source.detach(), source.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


def _rebuild_parameter(data: Any, requires_grad: bool, backward_hooks: Any) -> Any:
    """Hooks are not part of a pickle: the reference writes an empty dictionary in their place, too."""
    return Parameter(data, requires_grad)
