"""Base classes of observers: factories of a class, and scales and zero points for a range of numbers."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from functools import partial
from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module

from .dtypes import (
    bounds,
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    qint32,
    quint4x2,
    quint8,
)

__all__ = [
    "ObserverBase",
    "UniformQuantizationObserverBase",
]


_SYMMETRIC = (per_tensor_symmetric, per_channel_symmetric)
# The types of integers that observers choose scales for, and float8, for converters.
_TYPES = (
    *(
        qint8,
        quint8,
        quint4x2,
        qint32,
        tl_core.int8,
        tl_core.uint8,
        tl_core.int16,
        tl_core.uint16,
        tl_core.int32,
    ),
    *(tl_core.float8_e5m2, tl_core.float8_e4m3fn),
)
_BY_CHANNEL = (per_channel_affine, per_channel_symmetric, per_channel_affine_float_qparams)


def write_buffer(buffer: Tensor, numbers: Tensor) -> None:
    """Writes numbers to a buffer, which stays the same tensor and gets their shape.

    Args:
        buffer: the buffer.
        numbers: the numbers.

    Example:
        >>> import tl_core
        >>> buffer = tl_core.empty(0)
        >>> write_buffer(buffer, tl_core.ones(2))
        >>> buffer
        tensor([1., 1.])
    """
    if buffer.shape != numbers.shape:
        buffer.resize_(numbers.shape)
    buffer.copy_(numbers)


class _Partial:
    """A factory of a class with some of its arguments fixed."""

    def __init__(self, make: Any) -> None:
        self.p = make
        self.callable_args: dict[str, Any] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        late = {name: value() for name, value in self.callable_args.items() if name not in keywords}
        return self.p(*args, **late, **keywords)

    def with_args(self, **kwargs: Any) -> _Partial:
        """Returns a factory with more arguments fixed."""
        factory = _Partial(partial(self.p, **kwargs))
        factory.callable_args = dict(self.callable_args)
        return factory

    def with_callable_args(self, **kwargs: Any) -> _Partial:
        """Returns a factory with arguments that it computes at each call."""
        factory = self.with_args()
        factory.callable_args |= kwargs
        return factory

    def __repr__(self) -> str:
        return repr(self.p) + repr(self.callable_args)


class ObserverBase(ABC, Module):
    """The base class of observers. A QConfig takes a class, or a factory with some arguments fixed.

    Args:
        dtype (dtype): The type that the numbers are to be quantized to.
        is_dynamic (bool): Whether they will be quantized anew at each call.

    Example:
        >>> import tl_quantization as tq
        >>> make = tq.MinMaxObserver.with_args(dtype=tq.qint8, qscheme=tq.per_tensor_symmetric)
        >>> make().dtype
        torch.qint8
    """

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = is_dynamic

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Watches `x` and returns it."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point for the observed range."""

    @classmethod
    def with_args(cls, **kwargs: Any) -> _Partial:
        """A factory of the class with some of its arguments fixed."""
        return _Partial(partial(cls, **kwargs))

    @classmethod
    def with_callable_args(cls, **kwargs: Any) -> _Partial:
        """A factory of the class with arguments that it computes at each call."""
        return _Partial(cls).with_callable_args(**kwargs)


class UniformQuantizationObserverBase(ObserverBase):
    """The base class of observers that compute a smallest and a largest number.

    Args:
        dtype (quantized dtype or integer dtype): The type that the numbers are to be quantized to.
        qscheme (QScheme): Whether the zero point is in the middle, and whether each channel has a scale.
        reduce_range (bool): Whether one bit is left unused, for kernels whose sums of products would overflow.
        quant_min, quant_max (int, optional): The range of the integers, by default the range of the type.
        factory_kwargs (dict, optional): `device` and `dtype` of the buffers.
        eps (float): The smallest scale.
        is_dynamic (bool): Whether numbers will be quantized anew at each call.
        kwargs: arguments of the base class.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> issubclass(tq.MinMaxObserver, tq.UniformQuantizationObserverBase)
        True
    """

    eps: Tensor

    _version = 3  # of the state: entries `min_val` and `max_val`, as in PyTorch

    def __init__(
        self,
        dtype: Any = quint8,
        qscheme: Any = per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict[str, Any] | None = None,
        eps: float = tl_core.finfo(tl_core.float32).eps,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        _check_uniform(dtype, qscheme)
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        self.qscheme = qscheme
        self.reduce_range = reduce_range
        self.register_buffer("eps", tl_core.tensor([eps], **(factory_kwargs or {})))
        self.quant_min, self.quant_max = self._range(quant_min, quant_max)

    def _range(self, low: int | None, high: int | None) -> tuple[int, int]:
        if low is None or high is None:
            low, high = _bounds(self.dtype)
            is_reduced = self.reduce_range and high - low == 255  # of types of 8 bits only
        else:
            _check_limits(low, high, self.dtype)
            is_reduced = self.reduce_range
        return (low // 2, high // 2) if is_reduced else (low, high)

    def _calculate_qparams(self, min_val: Tensor, max_val: Tensor) -> tuple[Tensor, Tensor]:
        """Scales and zero points by which the integers cover [min_val, max_val] and 0."""
        if not min_val.numel() or bool((min_val > max_val).any()):
            warnings.warn(
                "must run observer before calling calculate_qparams. Returning default values.", stacklevel=3
            )
            return tl_core.tensor([1.0]), tl_core.tensor([0])
        low, high = min_val.clamp_max(0.0), max_val.clamp_min(0.0)
        if self.qscheme is per_channel_affine_float_qparams:
            return self._floating(min_val, max_val)
        if self.qscheme in _SYMMETRIC:
            return self._symmetric(tl_core.maximum(-low, high))
        scale = ((high - low) / float(self.quant_max - self.quant_min)).maximum(self.eps)
        zero = (self.quant_min - (low / scale).round().to(tl_core.int32)).clamp(
            self.quant_min, self.quant_max
        )
        return self._flatten_qparams(scale, zero)

    def _symmetric(self, bound: Tensor) -> tuple[Tensor, Tensor]:
        scale = (bound / (float(self.quant_max - self.quant_min) / 2)).maximum(self.eps)
        return self._flatten_qparams(scale, tl_core.full_like(scale, self._middle(), dtype=tl_core.int64))

    def _middle(self) -> int:
        if self.dtype is tl_core.uint16:
            return 2**15
        if self.dtype not in (quint8, tl_core.uint8):
            return 0
        return (self.quant_min + self.quant_max) // 2 if self.has_customized_qrange else 128

    def _floating(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        scale = (high - low) / float(self.quant_max - self.quant_min)
        scale = tl_core.where(scale > self.eps, scale, tl_core.ones_like(scale))
        return self._flatten_qparams(scale, -low / scale)

    def _flatten_qparams(self, scale: Tensor, zero: Tensor) -> tuple[Tensor, Tensor]:
        return scale.reshape(-1), zero.reshape(-1)


def _check_uniform(dtype: Any, qscheme: Any) -> None:
    schemes = (per_tensor_affine, per_tensor_symmetric, *_BY_CHANNEL)
    if qscheme not in schemes:
        raise AssertionError(f"qscheme must be one of {', '.join(map(str, schemes))}, but got {qscheme}")
    if dtype not in _TYPES:
        raise AssertionError(f"dtype must be one of {', '.join(map(str, _TYPES))}, but got {dtype}")


def _bounds(dtype: tl_core.dtype) -> tuple[int, int]:
    """The smallest and the largest integer of a type, or 0 and 15 of a floating type."""
    return (0, 15) if dtype.is_floating_point else bounds(dtype)


def _check_limits(low: int, high: int, dtype: tl_core.dtype) -> None:
    if not low <= 0 <= high:
        raise AssertionError(f"quant_min and quant_max must include 0, but got {low} and {high}")
    if low >= high:
        raise AssertionError(f"quant_min must be less than quant_max, but got {low} and {high}")
    bits = {qint8: 8, tl_core.int8: 8, qint32: 32, tl_core.int32: 32}.get(dtype)
    if bits is not None and high - low >= 2**bits:
        raise AssertionError(
            f"quant_min and quant_max of {dtype} must be at most {2**bits} integers, but got {low} and {high}"
        )


def _check_tensor_scheme(name: str, qscheme: Any) -> None:
    if qscheme in _BY_CHANNEL:
        raise NotImplementedError(f"{name} has one scale for all, but qscheme is {qscheme}")
