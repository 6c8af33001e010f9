"""`_efficientzerotensor`: tensors of zeros without memory, which PyTorch's forward derivatives start with.

PyTorch has them as plain tensors with a dispatch key of their own. Here they are a subclass, so `type` distinguishes
them from other tensors.
"""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.dispatch.modes import no_modes
from tl_core.overrides import disabled_torch_function
from tl_core.subclasses.tensor_structures import map_tensors, tensors_in
from tl_core.subclasses.wrappers import make_wrapper_subclass

__all__ = ["ZeroTensor", "_efficientzerotensor"]

# Results are such zeros where one operand is, or for `_LINEAR` all operands are.
_PRODUCTS = frozenset({"mul", "multiply", "dot", "vdot"})
_QUOTIENTS = frozenset({"div", "divide", "true_divide"})
_LINEAR = frozenset({"add", "sub", "subtract"})
# Operators whose schemas state a view that no caller of a zero sees.
_COPIES = frozenset({"contiguous"})


class ZeroTensor(Tensor):
    """Zeros without memory. Views of them, their products and quotients are such zeros, too.

    Any other operator computes with ordinary zeros. Writes raise RuntimeError; `clone` returns an ordinary tensor.

    Args:
        meta: a tensor on meta with the geometry of the zeros.
        device: the device of the zeros.
        requires_grad: whether autograd records operators on the zeros.

    Example:
        >>> zeros = _efficientzerotensor(2, 3)
        >>> zeros._is_zerotensor(), (zeros * 2)._is_zerotensor(), (zeros + 1)._is_zerotensor()
        (True, True, False)
    """

    __torch_function__ = disabled_torch_function

    @staticmethod
    def __new__(cls, meta: Tensor, device: Any, requires_grad: bool = False) -> Any:
        return make_wrapper_subclass(
            cls, meta.shape, meta.stride(), meta.storage_offset(),
            dtype=meta.dtype, device=device, requires_grad=requires_grad,
        )  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        _check_writes(func, args, kwargs)
        if _is_view(func) or _is_zero(func, args, kwargs):
            device = next(t.device for t in tensors_in((args, kwargs)) if isinstance(t, ZeroTensor))
            with no_modes():
                result = func(*map_tensors(args, _on_meta), **map_tensors(kwargs, _on_meta))
            return map_tensors(result, lambda meta: cls(meta, device))
        return func(*map_tensors(args, _materialize), **map_tensors(kwargs, _materialize))

    def _is_zerotensor(self) -> bool:
        return True

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return repr(_materialize(self).requires_grad_(self.requires_grad))

    def data_ptr(self) -> int:
        """0: the zeros have no memory."""
        return 0

    def numpy(self, *, force: bool = False) -> Any:
        """An array of zeros.

        Args:
            force: whether the array may be a copy.

        Raises:
            RuntimeError: without `force`.
        """
        if not force:
            raise RuntimeError(
                "Cannot convert a ZeroTensor to numpy. Set force=True if you need the zero array."
            )
        return _materialize(self).numpy()

    def tolist(self) -> Any:
        """RuntimeError: the zeros have no memory.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError("tolist() shouldn't be called on a tensor with unallocated storage")

    def __deepcopy__(self, memo: Any) -> Any:
        raise RuntimeError("a ZeroTensor has no storage to copy: copy the tensor that clone() returns")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError("ZeroTensor is not serializable, please file an issue if required.")


def _on_meta(t: Tensor) -> Tensor:
    return tl_core.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta")


def _materialize(t: Tensor) -> Tensor:
    return tl_core.zeros(t.shape, dtype=t.dtype, device=t.device) if isinstance(t, ZeroTensor) else t


def _check_writes(func: Any, args: Any, kwargs: Any) -> None:
    arguments = func._schema.arguments
    values = {a.name: value for a, value in zip(arguments, args, strict=False)} | kwargs
    for argument in arguments:
        if argument.is_write and any(
            isinstance(t, ZeroTensor) for t in tensors_in(values.get(argument.name))
        ):
            raise RuntimeError(
                "ZeroTensors are immutable. Please use the materialized zero tensor obtained using .clone() if you "
                "want a mutable tensor."
            )


def _is_view(func: Any) -> bool:
    """Whether the results are views of the first argument."""
    arguments = func._schema.arguments
    alias = arguments[0].alias_info if arguments else None
    return alias is not None and not alias.is_write and func.overloadpacket.__name__ not in _COPIES


def _is_zero(func: Any, args: Any, kwargs: Any) -> bool:
    """Whether the result of an operator of arithmetic is zero whatever the other operand is."""
    name = func.overloadpacket.__name__
    if name in _PRODUCTS:
        return True
    if name in _QUOTIENTS:
        return isinstance(args[0], ZeroTensor) and kwargs.get("rounding_mode") is None
    return name in _LINEAR and all(isinstance(x, ZeroTensor) for x in args[:2])


def _efficientzerotensor(
    *size: Any,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
    requires_grad: bool = False,
) -> Tensor:
    """Zeros without memory, which no program can write.

    Args:
        size: the sizes, as numbers or in one sequence.
        dtype: the element type; None: the default one.
        layout: strided.
        device: the device; None: the default one.
        pin_memory: must be False.
        requires_grad: whether autograd records operators on the zeros.

    Returns:
        The zeros.

    Raises:
        RuntimeError: a size is negative, or the layout isn't strided.

    Example:
        >>> _efficientzerotensor(2, dtype=tl_core.float64)
        tensor([0., 0.], dtype=torch.float64)
    """
    if layout not in (None, tl_core.strided):
        raise RuntimeError(f"_efficientzerotensor: expected the layout strided, got {layout}")
    if pin_memory:
        raise RuntimeError("_efficientzerotensor: expected pin_memory=False")
    device = tl_core.get_default_device() if device is None else tl_core.device(device)
    with no_modes():
        meta = tl_core.empty(*size, dtype=dtype, device="meta")
    return ZeroTensor(meta, device, requires_grad)
