"""Modules that watch the numbers that pass through, to choose scales and zero points for them."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections import OrderedDict
from functools import partial
from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module

from .dtypes import (
    bounds,
    is_quantized_dtype,
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    qint32,
    quantized_dtype,
    quint8,
)
from .qparams import single

__all__ = [
    "FixedQParamsObserver",
    "HistogramObserver",
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
    "NoopObserver",
    "ObserverBase",
    "PerChannelMinMaxObserver",
    "PlaceholderObserver",
    "RecordingObserver",
    "ReuseInputObserver",
    "UniformQuantizationObserverBase",
    "default_debug_observer",
    "default_dynamic_quant_observer",
    "default_fixed_qparams_range_0to1_observer",
    "default_fixed_qparams_range_neg1to1_observer",
    "default_float_qparams_observer",
    "default_float_qparams_observer_4bit",
    "default_histogram_observer",
    "default_observer",
    "default_per_channel_weight_observer",
    "default_placeholder_observer",
    "default_reuse_input_observer",
    "default_symmetric_fixed_qparams_observer",
    "default_weight_observer",
    "get_observer_state_dict",
    "load_observer_state_dict",
    "per_channel_weight_observer_range_neg_127_to_127",
    "weight_observer_range_neg_127_to_127",
]

_SYMMETRIC = (per_tensor_symmetric, per_channel_symmetric)
# The types of integers that observers choose scales for, and float8, for converters.
_TYPES = (
    *(qint8, quint8, qint32, tl_core.int8, tl_core.uint8, tl_core.int16, tl_core.uint16, tl_core.int32),
    *(tl_core.float8_e5m2, tl_core.float8_e4m3fn),
)
_BY_CHANNEL = (per_channel_affine, per_channel_symmetric, per_channel_affine_float_qparams)


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
        >>> make = MinMaxObserver.with_args(dtype=qint8, qscheme=per_tensor_symmetric)
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


def _check_reduced(observer: UniformQuantizationObserverBase) -> None:
    if observer.qscheme in _SYMMETRIC and observer.reduce_range and observer.dtype is quint8:
        raise NotImplementedError("reduce_range isn't there for symmetric quantization to torch.quint8")


class MinMaxObserver(UniformQuantizationObserverBase):
    """The smallest and the largest number seen so far, in the buffers `min_val` and `max_val`.

    See `UniformQuantizationObserverBase` for the parameters.

    Args:
        dtype: the type of the integers.
        qscheme: how numbers become integers: per tensor or channel, affine or symmetric.
        reduce_range: whether a bit less of the type is used.
        quant_min: the least integer, by default the type's.
        quant_max: the largest integer, by default the type's.
        factory_kwargs: device and type of the buffers.
        eps: the least scale.
        is_dynamic: whether the range is taken anew at each call.
        kwargs: arguments of the base class.

    Raises:
        NotImplementedError: If the scheme has a scale for each channel.

    Example:
        >>> observer = MinMaxObserver()
        >>> _ = observer(tl_core.tensor([-1.0, 4.1]))
        >>> observer.calculate_qparams()
        (tensor([0.0200]), tensor([50], dtype=torch.int32))
    """

    min_val: Tensor
    max_val: Tensor

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
        if not isinstance(self, PerChannelMinMaxObserver):
            _check_tensor_scheme(type(self).__name__, qscheme)
        super().__init__(
            dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs
        )
        _check_reduced(self)
        self.register_buffer("min_val", tl_core.tensor(float("inf"), **(factory_kwargs or {})))
        self.register_buffer("max_val", tl_core.tensor(float("-inf"), **(factory_kwargs or {})))

    def forward(self, x_orig: Tensor) -> Tensor:
        """Watches the tensor and returns it."""
        if x_orig.numel():
            self._watch(x_orig.detach().to(self.min_val.dtype))
        return x_orig

    def _watch(self, x: Tensor) -> None:
        self.min_val.copy_(tl_core.minimum(x.amin(), self.min_val))
        self.max_val.copy_(tl_core.maximum(x.amax(), self.max_val))

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """The scale and the zero point for the observed range."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def reset_min_max_vals(self) -> None:
        """Resets the observed range."""
        self.min_val.fill_(float("inf"))
        self.max_val.fill_(float("-inf"))

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Moving means of the smallest and of the largest number of each batch.

    Args:
        averaging_constant (float): How much a new batch counts.
        dtype: the type of the integers.
        qscheme: how numbers become integers: per tensor or channel, affine or symmetric.
        reduce_range: whether a bit less of the type is used.
        quant_min: the least integer, by default the type's.
        quant_max: the largest integer, by default the type's.
        eps: the least scale.
        is_dynamic: whether the range is taken anew at each call.
        kwargs: arguments of the base class.

    See `UniformQuantizationObserverBase` for the others.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> observer = tq.MovingAverageMinMaxObserver(averaging_constant=0.5)
        >>> _ = observer(tl_core.tensor([0.0, 1.0])), observer(tl_core.tensor([0.0, 3.0]))
        >>> observer.max_val
        tensor(2.)
    """

    def __init__(
        self,
        averaging_constant: float = 0.01,
        dtype: Any = quint8,
        qscheme: Any = per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = tl_core.finfo(tl_core.float32).eps,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        _check_tensor_scheme(type(self).__name__, qscheme)
        if is_dynamic and averaging_constant != 1:
            raise NotImplementedError(
                f"{type(self).__name__} of numbers that are quantized at each call needs averaging_constant=1, "
                f"but got {averaging_constant}"
            )
        super().__init__(
            dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min, quant_max=quant_max,
            eps=eps, is_dynamic=is_dynamic, **kwargs,
        )  # fmt: skip
        self.averaging_constant = averaging_constant

    def _watch(self, x: Tensor) -> None:
        _follow(self, x.amin(), x.amax())


def _follow(observer: Any, low: Tensor, high: Tensor) -> None:
    """Moves an observer's bounds towards the bounds of a batch, and copies the first batch's."""
    before = observer.min_val
    if not before.numel() or (before.shape == low.shape and bool((before > observer.max_val).all())):
        observer.min_val, observer.max_val = low, high
        return
    observer.min_val = observer.min_val + observer.averaging_constant * (low - observer.min_val)
    observer.max_val = observer.max_val + observer.averaging_constant * (high - observer.max_val)


class PerChannelMinMaxObserver(MinMaxObserver):
    """The smallest and the largest number of each slice along an axis.

    Args:
        ch_axis (int): The axis of the channels.
        dtype: the type of the integers.
        qscheme: how numbers become integers: per tensor or channel, affine or symmetric.
        reduce_range: whether a bit less of the type is used.
        quant_min: the least integer, by default the type's.
        quant_max: the largest integer, by default the type's.
        factory_kwargs: device and type of the buffers.
        eps: the least scale.
        is_dynamic: whether the range is taken anew at each call.
        kwargs: arguments of the base class.

    See `UniformQuantizationObserverBase` for the others.

    Example:
        >>> observer = PerChannelMinMaxObserver(dtype=qint8, qscheme=per_channel_symmetric)
        >>> _ = observer(tl_core.tensor([[-1.0, 1.275], [0.0, 2.55]]))
        >>> observer.calculate_qparams()
        (tensor([0.0100, 0.0200]), tensor([0, 0]))
    """

    def __init__(
        self,
        ch_axis: int = 0,
        dtype: Any = quint8,
        qscheme: Any = per_channel_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict[str, Any] | None = None,
        eps: float = tl_core.finfo(tl_core.float32).eps,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        _check_channel_options(type(self).__name__, qscheme, is_dynamic)
        super().__init__(
            dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs
        )
        self.ch_axis = ch_axis
        self.reset_min_max_vals()

    def _bounds(self, x: Tensor) -> tuple[Tensor, Tensor]:
        rows = x.movedim(self.ch_axis, 0).flatten(1) if x.dim() > 1 else x.reshape(-1, 1)
        return rows.amin(1), rows.amax(1)

    def _watch(self, x: Tensor) -> None:
        low, high = self._bounds(x)
        if not self.min_val.numel():
            self.min_val, self.max_val = low, high
            return
        self.min_val = tl_core.minimum(low, self.min_val)
        self.max_val = tl_core.maximum(high, self.max_val)

    def reset_min_max_vals(self) -> None:
        """Resets the observed range."""
        self.min_val, self.max_val = (tl_core.empty(0, device=self.eps.device) for _ in range(2))

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Takes buffers of any number of channels."""
        for name in ("min_val", "max_val"):
            if prefix + name in state_dict:
                setattr(self, name, tl_core.empty_like(state_dict[prefix + name]))
        super()._load_from_state_dict(state_dict, prefix, *rest)


def _check_channel_options(name: str, qscheme: Any, is_dynamic: bool) -> None:
    if qscheme not in _BY_CHANNEL:
        raise NotImplementedError(f"{name} has a scale a channel, but qscheme is {qscheme}")
    if is_dynamic:
        raise NotImplementedError(f"{name} isn't there for numbers that are quantized at each call")


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Moving means of the smallest and of the largest number of each slice along an axis.

    Args:
        averaging_constant (float): How much a new batch counts.
        ch_axis (int): The axis of the channels.
        dtype: the type of the integers.
        qscheme: how numbers become integers: per tensor or channel, affine or symmetric.
        reduce_range: whether a bit less of the type is used.
        quant_min: the least integer, by default the type's.
        quant_max: the largest integer, by default the type's.
        eps: the least scale.
        is_dynamic: whether the range is taken anew at each call.
        kwargs: arguments of the base class.

    See `UniformQuantizationObserverBase` for the others.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> observer = tq.MovingAveragePerChannelMinMaxObserver(averaging_constant=0.5)
        >>> _ = observer(tl_core.tensor([[0.0, 1.0], [2.0, 4.0]]))
        >>> observer.max_val
        tensor([1., 4.])
    """

    def __init__(
        self,
        averaging_constant: float = 0.01,
        ch_axis: int = 0,
        dtype: Any = quint8,
        qscheme: Any = per_channel_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = tl_core.finfo(tl_core.float32).eps,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            ch_axis=ch_axis, dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min,
            quant_max=quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs,
        )  # fmt: skip
        self.averaging_constant = averaging_constant

    def _watch(self, x: Tensor) -> None:
        _follow(self, *self._bounds(x))


class HistogramObserver(UniformQuantizationObserverBase):
    """A histogram of all observed numbers. The range is its part with the smallest squared error of rounding.

    The range is searched from both ends inwards, whichever side costs less, as in PyTorch (its origin is Caffe2's
    norm minimization). A histogram that a batch does not fit into is spread over the wider range first.

    Args:
        bins (int): The bins of the histogram.
        dtype: the type of the integers.
        qscheme: how numbers become integers: per tensor or channel, affine or symmetric.
        reduce_range: whether a bit less of the type is used.
        quant_min: the least integer, by default the type's.
        quant_max: the largest integer, by default the type's.
        factory_kwargs: device and type of the buffers.
        eps: the least scale.
        is_dynamic: whether the range is taken anew at each call.
        kwargs: arguments of the base class.

    See `UniformQuantizationObserverBase` for the others.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> observer = tq.HistogramObserver(bins=8)
        >>> _ = observer(tl_core.tensor([0.0, 1.0]))
        >>> float(observer.max_val)
        1.0
    """

    histogram: Tensor
    min_val: Tensor
    max_val: Tensor

    def __init__(
        self,
        bins: int = 2048,
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
        _check_tensor_scheme(type(self).__name__, qscheme)
        if is_dynamic:
            raise NotImplementedError(
                "HistogramObserver isn't there for numbers that are quantized at each call"
            )
        super().__init__(
            dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs
        )
        self.bins = bins
        self.register_buffer("histogram", tl_core.zeros(bins))
        self.register_buffer("min_val", tl_core.tensor(float("inf")))
        self.register_buffer("max_val", tl_core.tensor(float("-inf")))

    def forward(self, x_orig: Tensor) -> Tensor:
        """Adds the tensor's numbers, without infinities, to the histogram and returns it.

        Raises:
            RuntimeError: If a number is nan.
        """
        x = x_orig.detach().flatten()
        if not x.numel():
            return x_orig
        low, high = x.aminmax()
        if bool(tl_core.isinf(low) | tl_core.isinf(high)):
            warnings.warn("torch.inf detected in input tensor, ignoring input", stacklevel=2)
            x = x[x.abs() != float("inf")]
            if not x.numel():
                return x_orig
            low, high = x.aminmax()
        self._add(x, low, high)
        return x_orig

    def _add(self, x: Tensor, low: Tensor, high: Tensor) -> None:
        before, after = self.min_val, self.max_val
        is_empty = float(before) == float("inf") or float(after) == float("-inf")
        if not is_empty:
            low, high = before.minimum(low), after.maximum(high)
        counts = tl_core.histc(x, self.bins, float(low), float(high))
        if not is_empty:
            counts = counts + self._spread(before, after, low, high)
        self.histogram.copy_(counts)
        self.min_val.copy_(low)
        self.max_val.copy_(high)

    def _spread(self, before: Tensor, after: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """The histogram over [before, after] as one over [low, high].

        The counts of _PARTS parts of each bin go to the new bins that contain their middles.
        """
        if float(low) == float(before) and float(high) == float(after):
            return self.histogram
        if float(before) == float(after):
            return tl_core.histc(before, self.bins, float(low), float(high)) * self.histogram.sum()
        parts = self.bins * _PARTS
        begins = tl_core.linspace(float(before), float(after), parts + 1)[:-1]
        middles = begins + 0.5 * ((after - before) / parts)
        ends = tl_core.linspace(float(low), float(high), self.bins + 1)
        bins = (tl_core.bucketize(middles, ends, right=True) - 1).clamp_(0, self.bins - 1)
        counts = self.histogram.repeat_interleave(_PARTS) / _PARTS
        return tl_core.bincount(bins, counts, self.bins)

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """The scale and the zero point of the best range."""
        low, high = self.min_val, self.max_val
        if float(low) < float(high):
            low, high = self._best_range(low, high)
        return self._calculate_qparams(low, high)

    def _best_range(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        mass, sums = float(self.histogram.sum()), self.histogram.cumsum(0).tolist()
        first, last, best = 0, self.bins - 1, float("inf")
        alpha, beta = 0.0, 1.0
        while alpha < beta:
            left, right = first, last
            low_mass, high_mass = single((alpha + _STEP) * mass), single((beta - _STEP) * mass)
            while left < last and sums[left] < low_mass:
                left += 1
            while right > first and sums[right] > high_mass:
                right -= 1
            inward_left = left - first > last - right
            next_first, next_last = (left, last) if inward_left else (first, right)
            alpha, beta = (alpha + _STEP, beta) if inward_left else (alpha, beta - _STEP)
            if (next_first, next_last) == (first, last):
                continue
            error = self._error(next_first, next_last)
            if error > best:
                break
            best, first, last = error, next_first, next_last
        width = (high - low) / self.bins
        return low + width * first, low + width * (last + 1)

    def _error(self, first: int, last: int) -> float:
        """The squared error if the integers cover the bins from first to last, each bin filled evenly.

        The integers are all integers of the type, whatever the range of the observer.
        """
        width = (float(self.max_val) - float(self.min_val)) / self.bins
        steps = 2 ** tl_core.iinfo(self.dtype).bits
        step = width * (last - first + 1) / steps
        if step == 0.0:
            return 0.0
        begins = (tl_core.arange(self.bins) - first) * width
        ends = begins + width
        left, right = ((x / step).floor().clamp(0, steps - 1) for x in (begins, ends))
        density = self.histogram / width
        half = tl_core.tensor(step / 2)
        error = density * _integrate_square(begins - (left + 0.5) * step, half)
        error = error + (right - left - 1) * (density * _integrate_square(-half, half))
        error = error + density * _integrate_square(-half, ends - (right * step + step / 2))
        return float(error.sum())


_STEP = 1e-5  # the share of the counts by which the search for a range moves an end
_PARTS = 16  # the parts of a bin whose counts are spread over a wider range


def _integrate_square(begin: Tensor, end: Tensor) -> Tensor:
    """The integral of x² from begin to end."""
    return (end * end * end - begin * begin * begin) / 3


class FixedQParamsObserver(ObserverBase):
    """A fixed scale and zero point.

    Args:
        scale (float): The scale.
        zero_point (int): The zero point.
        dtype, qscheme, quant_min, quant_max, is_dynamic: As of `UniformQuantizationObserverBase`.
        kwargs: arguments of the base class.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> tq.FixedQParamsObserver(scale=0.5, zero_point=3).calculate_qparams()
        (tensor([0.5000]), tensor([3], dtype=torch.int32))
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self,
        scale: float,
        zero_point: int,
        dtype: Any = quint8,
        qscheme: Any = per_tensor_affine,
        quant_min: int = 0,
        quant_max: int = 255,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.quant_min, self.quant_max, self.qscheme = quant_min, quant_max, qscheme
        self.register_buffer("scale", tl_core.tensor([scale]))
        self.register_buffer("zero_point", tl_core.tensor([zero_point], dtype=tl_core.int32))

    def forward(self, X: Tensor) -> Tensor:
        """The tensor itself."""
        return X

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """The fixed scale and zero point."""
        return self.scale, self.zero_point


class PlaceholderObserver(ObserverBase):
    """Only the type of a conversion, or of a quantization at each call.

    Args:
        dtype (dtype): The type that is wanted.
        custom_op_name (str): A name for programs that look for it.
        compute_dtype, quant_min, quant_max, qscheme, eps, is_dynamic: Attributes for quantization at each call.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> tq.PlaceholderObserver(dtype=tl_core.float16)(tl_core.ones(2))
        tensor([1., 1.])
    """

    def __init__(
        self,
        dtype: Any = tl_core.float32,
        custom_op_name: str = "",
        compute_dtype: Any = None,
        quant_min: int | None = None,
        quant_max: int | None = None,
        qscheme: Any = None,
        eps: float | None = None,
        is_dynamic: bool = False,
    ) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic or bool(compute_dtype))
        if is_quantized_dtype(dtype) or quant_min is not None:
            low, high = bounds(quantized_dtype(dtype))
            quant_min = low if quant_min is None else quant_min
            quant_max = high if quant_max is None else quant_max
        self.custom_op, self.compute_dtype = custom_op_name, compute_dtype
        self.quant_min, self.quant_max = quant_min, quant_max
        self.qscheme = per_tensor_affine if qscheme is None else qscheme
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """The tensor itself."""
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """Raises an error: this observer records no range."""
        raise RuntimeError(
            "calculate_qparams should not be called for PlaceholderObserver: it watches nothing"
        )

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"


class RecordingObserver(ObserverBase):
    """Keeps every tensor that passes, in `tensor_val`, for those who look for an error.

    Args:
        dtype (dtype): Of the numbers, once quantized.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> observer = tq.RecordingObserver()
        >>> _ = observer(tl_core.ones(2))
        >>> observer.get_tensor_value()
        [tensor([1., 1.])]
    """

    def __init__(self, dtype: Any = quint8) -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.tensor_val: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        """Keeps a copy and returns the tensor."""
        self.tensor_val.append(x.clone())
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """Raises: a record has no scale."""
        raise RuntimeError("calculate_qparams should not be called for RecordingObserver")

    def get_tensor_value(self) -> list[Tensor]:
        """The tensors kept."""
        return self.tensor_val


class NoopObserver(ObserverBase):
    """Only the type of a conversion, such as float16.

    Args:
        dtype (dtype): The type that is wanted.
        custom_op_name (str): A name for programs that look for it.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> tq.NoopObserver(dtype=tl_core.float16)(tl_core.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, dtype: Any = tl_core.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.custom_op = custom_op_name

    def forward(self, x: Tensor) -> Tensor:
        """The tensor itself."""
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """Raises an error: this observer records no range."""
        raise RuntimeError("calculate_qparams should not be called for NoopObserver")


class ReuseInputObserver(ObserverBase):
    """For operators that keep their input's scale, such as a reshape.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> tq.ReuseInputObserver()(tl_core.ones(2))
        tensor([1., 1.])
    """

    def __init__(self) -> None:
        super().__init__(quint8, is_dynamic=False)

    def forward(self, x: Tensor) -> Tensor:
        """The tensor itself."""
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """Raises an error: the input's observer has the scale."""
        raise RuntimeError("calculate_qparams should not be called for ReuseInputObserver")


def get_observer_state_dict(mod: Module) -> OrderedDict[str, Any]:
    """A module's state, the part of its observers: names with `activation_post_process` or `observer`.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> tq.get_observer_state_dict(tq.MinMaxObserver())
        OrderedDict()
    """
    state: OrderedDict[str, Any] = OrderedDict()
    for name, value in mod.state_dict().items():
        if "observer" in name or "activation_post_process" in name:
            state[name] = value
    return state


def load_observer_state_dict(mod: Module, obs_dict: dict[str, Any]) -> None:
    """Gives a module's observers the state that `get_observer_state_dict` took from an equal one.

    Raises:
        ValueError: If names of the state fit no observer, or observers find no state.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> observer = tq.MinMaxObserver()
        >>> tq.load_observer_state_dict(observer, tq.get_observer_state_dict(observer))
    """
    own = {name for name in mod.state_dict() if "observer" in name or "activation_post_process" in name}
    if own != set(obs_dict):
        raise ValueError(
            f"the observers' states differ: missing {sorted(own - set(obs_dict))}, "
            f"unexpected {sorted(set(obs_dict) - own)}"
        )
    mod.load_state_dict(obs_dict, strict=False)


#: The smallest and the largest number, one bit left unused.
default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
#: For numbers that are only converted.
default_placeholder_observer = PlaceholderObserver
#: Keeps all tensors.
default_debug_observer = RecordingObserver
#: Signed and symmetric, for weights.
default_weight_observer = MinMaxObserver.with_args(dtype=qint8, qscheme=per_tensor_symmetric)
#: The same without -128.
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(
    dtype=qint8, qscheme=per_tensor_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
#: A histogram, one bit left unused.
default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
#: Signed and symmetric, a scale for each channel of a weight.
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=qint8, qscheme=per_channel_symmetric
)
#: The same without -128.
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(
    dtype=qint8, qscheme=per_channel_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
#: Numbers are quantized at each call.
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=quint8, quant_min=0, quant_max=255, is_dynamic=True
)
#: Floating zero points, for embeddings.
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=quint8, qscheme=per_channel_affine_float_qparams, ch_axis=0
)
#: The same with 16 steps.
default_float_qparams_observer_4bit = PerChannelMinMaxObserver.with_args(
    dtype=quint8, qscheme=per_channel_affine_float_qparams, ch_axis=0, quant_min=0, quant_max=15
)
#: For results between -1 and 1, such as tanh.
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128
)
#: For results between 0 and 1, such as sigmoid.
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(scale=1.0 / 256.0, zero_point=0)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
#: For operators that keep their input's scale.
default_reuse_input_observer = ReuseInputObserver
