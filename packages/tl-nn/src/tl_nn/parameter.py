"""The kinds of tensor a module registers when they are assigned to it."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Buffer, Parameter, Tensor
from tl_core.overrides import DisableTorchFunctionSubclass

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]

# The operations on a tensor whose shape isn't known yet: conversions and queries of its kind.
_ALLOWED = frozenset(
    [
        "__delete__",
        "__get__",
        "__set__",
        "bfloat16",
        "bool",
        "byte",
        "char",
        "cpu",
        "cuda",
        "double",
        "float",
        "half",
        "int",
        "is_complex",
        "is_floating_point",
        "long",
        "requires_grad_",
        "short",
        "to",
        "type",
    ]
)


class UninitializedTensorMixin:
    """A tensor whose shape isn't known yet: it has a type and a device, and no values.

    `materialize` gives it a shape. Until then, operators raise ValueError.
    """

    cls_to_become: ClassVar[Any]

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give the tensor a shape, in place: it becomes one of the class `cls_to_become`, of any values.

        Args:
            shape (tuple of int): The shape.
            device, dtype (optional): By default those it has.

        Example:
            >>> import tl_nn
            >>> parameter = tl_nn.UninitializedParameter()
            >>> parameter.materialize((2, 3))
            >>> parameter.shape
            torch.Size([2, 3])
        """
        device = self.data.device if device is None else device
        dtype = self.data.dtype if dtype is None else dtype
        self.data = tl_core.empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """Not known yet: raises RuntimeError."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized module. "
            "Call `forward` to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> Any:
        """Not possible yet: raises RuntimeError."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the "
            "parameters before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        return type(self), (self.requires_grad, self.data.device, self.data.dtype)

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in _ALLOWED:
            with DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a "
            "`LazyModule` or explicitly manipulating `torch.nn.parameter.UninitializedParameter` objects. When "
            "using LazyModules Call `forward` with a dummy batch to initialize the parameters before calling "
            "torch functions"
        )


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[override]
    """A parameter whose shape isn't known yet.

    Args:
        requires_grad (bool): Whether it is trained.
        device, dtype (optional): The future device and element type.

    Example:
        >>> import tl_nn
        >>> weight = tl_nn.UninitializedParameter()
        >>> weight.materialize((2, 3))
        >>> weight.shape, type(weight).__name__
        (torch.Size([2, 3]), 'Parameter')
    """

    cls_to_become: ClassVar[Any] = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return super().__new__(cls, tl_core.empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[override]
    """A buffer whose shape isn't known yet.

    Args:
        requires_grad (bool): Whether it requires a gradient.
        device, dtype (optional): The future device and element type.
        persistent (bool): Whether it is part of the module's state.

    Example:
        >>> import tl_nn
        >>> buffer = tl_nn.UninitializedBuffer()
        >>> buffer.materialize((2, 3))
        >>> buffer.shape
        torch.Size([2, 3])
    """

    cls_to_become: ClassVar[Any] = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        kind: Any = Tensor
        buffer = kind._make_subclass(cls, tl_core.empty(0, device=device, dtype=dtype), requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


def is_lazy(param: Any) -> bool:
    """Whether a tensor's shape isn't known yet.

    Example:
        >>> import tl_nn
        >>> from tl_nn.parameter import is_lazy
        >>> is_lazy(tl_nn.LazyLinear(2).weight), is_lazy(tl_nn.Linear(3, 2).weight)
        (True, False)
    """
    return isinstance(param, UninitializedTensorMixin)
