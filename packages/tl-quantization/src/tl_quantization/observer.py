"""Modules that watch the numbers that pass through, to choose scales and zero points for them."""

from __future__ import annotations

import struct
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
    quantized_dtype,
    quint8,
)

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
_BY_CHANNEL = (per_channel_affine, per_channel_symmetric, per_channel_affine_float_qparams)


class _Partial:
    """A class with some of its arguments given: calling it makes an object."""

    def __init__(self, make: Any) -> None:
        self.p = make
        self.callable_args: dict[str, Any] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        late = {name: value() for name, value in self.callable_args.items() if name not in keywords}
        return self.p(*args, **late, **keywords)

    def with_args(self, **kwargs: Any) -> _Partial:
        """The same with more arguments given."""
        made = _Partial(partial(self.p, **kwargs))
        made.callable_args = dict(self.callable_args)
        return made

    def with_callable_args(self, **kwargs: Any) -> _Partial:
        """The same with arguments that are asked for when an object is made."""
        made = self.with_args()
        made.callable_args |= kwargs
        return made

    def __repr__(self) -> str:
        return repr(self.p) + repr(self.callable_args)


class ObserverBase(ABC, Module):
    """What observers share: a class may be given to a QConfig with some arguments fixed.

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
        """The scale and the zero point for what has been seen."""

    @classmethod
    def with_args(cls, **kwargs: Any) -> _Partial:
        """The class with some of its arguments given."""
        return _Partial(partial(cls, **kwargs))

    @classmethod
    def with_callable_args(cls, **kwargs: Any) -> _Partial:
        """The class with arguments that are asked for when an object is made."""
        return _Partial(cls).with_callable_args(**kwargs)


class UniformQuantizationObserverBase(ObserverBase):
    """What observers share that end in a smallest and a largest number.

    Args:
        dtype (quantized dtype or integer dtype): The type that the numbers are to be quantized to.
        qscheme (QScheme): Whether the zero point is in the middle, and whether each channel has a scale.
        reduce_range (bool): Whether one bit is left unused, for kernels whose sums of products would overflow.
        quant_min, quant_max (int, optional): The range of the integers; that of the type if left out.
        factory_kwargs (dict, optional): `device` and `dtype` of the buffers.
        eps (float): The smallest scale.
        is_dynamic (bool): Whether numbers will be quantized anew at each call.
        kwargs: arguments of the base class.
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
        if (quant_min is None) != (quant_max is None) or (quant_min is not None and quant_min > quant_max):  # type: ignore[operator]
            raise ValueError(f"quant_min and quant_max must be a range, but got {quant_min} and {quant_max}")
        self.qscheme = qscheme
        self.reduce_range = reduce_range
        self.register_buffer("eps", tl_core.tensor([eps], **(factory_kwargs or {})))
        self.has_customized_qrange = quant_min is not None
        self.quant_min, self.quant_max = self._range(quant_min, quant_max)

    def _range(self, low: int | None, high: int | None) -> tuple[int, int]:
        if low is None or high is None:
            low, high = bounds(quantized_dtype(self.dtype))
        return (low // 2, high // 2) if self.reduce_range else (low, high)

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
        zero = (self.quant_min - (low / scale).round()).clamp(self.quant_min, self.quant_max)
        return self._shaped(scale, zero.to(tl_core.int32))

    def _symmetric(self, bound: Tensor) -> tuple[Tensor, Tensor]:
        scale = (bound / (float(self.quant_max - self.quant_min) / 2)).maximum(self.eps)
        unsigned = quantized_dtype(self.dtype) is quint8
        middle = (self.quant_min + self.quant_max) // 2 if self.has_customized_qrange else 128
        return self._shaped(scale, tl_core.full_like(scale, middle if unsigned else 0, dtype=tl_core.int64))

    def _floating(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        scale = (high - low) / float(self.quant_max - self.quant_min)
        scale = tl_core.where(scale > self.eps, scale, tl_core.ones_like(scale))
        return self._shaped(scale, -low / scale)

    def _shaped(self, scale: Tensor, zero: Tensor) -> tuple[Tensor, Tensor]:
        return scale.reshape(-1), zero.reshape(-1)


class MinMaxObserver(UniformQuantizationObserverBase):
    """The smallest and the largest number seen so far, in the buffers `min_val` and `max_val`.

    See `UniformQuantizationObserverBase` for the parameters.

    Args:
        dtype: the type of the integers.
        qscheme: how numbers become integers: per tensor or channel, affine or symmetric.
        reduce_range: whether a bit less of the type is used.
        quant_min: the least integer; None for the type's.
        quant_max: the largest integer; None for the type's.
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
        if qscheme in _BY_CHANNEL and not isinstance(self, PerChannelMinMaxObserver):
            raise NotImplementedError(
                f"{type(self).__name__} has one scale for all, but qscheme is {qscheme}"
            )
        super().__init__(
            dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs
        )
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
        """The scale and the zero point for what has been seen."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def reset_min_max_vals(self) -> None:
        """Forgets what has been seen."""
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
        quant_min: the least integer; None for the type's.
        quant_max: the largest integer; None for the type's.
        eps: the least scale.
        is_dynamic: whether the range is taken anew at each call.
        kwargs: arguments of the base class.

    See `UniformQuantizationObserverBase` for the others.
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
        super().__init__(
            dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min, quant_max=quant_max,
            eps=eps, is_dynamic=is_dynamic, **kwargs,
        )  # fmt: skip
        self.averaging_constant = averaging_constant

    def _watch(self, x: Tensor) -> None:
        _follow(self, x.amin(), x.amax())


def _follow(observer: Any, low: Tensor, high: Tensor) -> None:
    """Moves an observer's bounds towards those of a batch; the first batch's are taken as they are."""
    if observer.min_val.shape != low.shape or bool((observer.min_val > observer.max_val).any()):
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
        quant_min: the least integer; None for the type's.
        quant_max: the largest integer; None for the type's.
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
        """Forgets what has been seen."""
        self.min_val, self.max_val = (tl_core.empty(0, device=self.eps.device) for _ in range(2))

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Takes buffers of any number of channels."""
        for name in ("min_val", "max_val"):
            if prefix + name in state_dict:
                setattr(self, name, tl_core.empty_like(state_dict[prefix + name]))
        super()._load_from_state_dict(state_dict, prefix, *rest)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Moving means of the smallest and of the largest number of each slice along an axis.

    Args:
        averaging_constant (float): How much a new batch counts.
        ch_axis (int): The axis of the channels.
        dtype: the type of the integers.
        qscheme: how numbers become integers: per tensor or channel, affine or symmetric.
        reduce_range: whether a bit less of the type is used.
        quant_min: the least integer; None for the type's.
        quant_max: the largest integer; None for the type's.
        eps: the least scale.
        is_dynamic: whether the range is taken anew at each call.
        kwargs: arguments of the base class.

    See `UniformQuantizationObserverBase` for the others.
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
    """A histogram of all numbers seen; the range is the part of it with the smallest squared error of rounding.

    The range is searched from both ends inwards, whichever side costs less, as in the reference (its origin is Caffe2's
    norm minimization). A histogram that a batch does not fit into is spread over the wider range first.

    Args:
        bins (int): The bins of the histogram.
        dtype: the type of the integers.
        qscheme: how numbers become integers: per tensor or channel, affine or symmetric.
        reduce_range: whether a bit less of the type is used.
        quant_min: the least integer; None for the type's.
        quant_max: the largest integer; None for the type's.
        factory_kwargs: device and type of the buffers.
        eps: the least scale.
        is_dynamic: whether the range is taken anew at each call.
        kwargs: arguments of the base class.

    See `UniformQuantizationObserverBase` for the others.
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
        if qscheme in _BY_CHANNEL:
            raise NotImplementedError(f"HistogramObserver has one scale for all, but qscheme is {qscheme}")
        super().__init__(
            dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs
        )
        self.bins = bins
        self.register_buffer("histogram", tl_core.zeros(bins))
        self.register_buffer("min_val", tl_core.tensor(float("inf")))
        self.register_buffer("max_val", tl_core.tensor(float("-inf")))

    def forward(self, x_orig: Tensor) -> Tensor:
        """Adds the tensor's finite numbers to the histogram and returns it."""
        x = x_orig.detach().to(tl_core.float32).flatten()
        x = x[tl_core.isfinite(x)]
        if x.numel():
            self._add(x, float(x.min()), float(x.max()))
        return x_orig

    def _add(self, x: Tensor, low: float, high: float) -> None:
        before, after = float(self.min_val), float(self.max_val)
        if before <= after:
            low, high = min(low, before), max(high, after)
        if (low, high) != (before, after):
            self.histogram.copy_(self._spread(before, after, low, high))
            self.min_val.fill_(low)
            self.max_val.fill_(high)
        self.histogram.add_(_counts(x, self.bins, low, high))

    def _spread(self, before: float, after: float, low: float, high: float) -> Tensor:
        """The histogram over [before, after] as one over [low, high]: each bin's count goes to its middle."""
        if before > after:
            return tl_core.zeros(self.bins)
        width = (after - before) / self.bins
        middles = before + (tl_core.arange(self.bins, dtype=tl_core.float64) + 0.5) * width
        return _counts(middles, self.bins, low, high, self.histogram)

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """The scale and the zero point of the best range."""
        low, high = float(self.min_val), float(self.max_val)
        if low < high:
            low, high = self._best_range(low, high)
        return self._calculate_qparams(tl_core.tensor(low), tl_core.tensor(high))

    def _best_range(self, low: float, high: float) -> tuple[float, float]:
        width = (high - low) / self.bins
        total = self.histogram.to(tl_core.float64).cumsum(0)
        mass, first, last = float(total[-1]), 0, self.bins - 1
        best, chosen, alpha, beta = float("inf"), (0, self.bins - 1), 0.0, 1.0
        sums = total.tolist()
        while alpha < beta:
            left, right = first, last
            low_mass, high_mass = _single((alpha + 1e-5) * mass), _single((beta - 1e-5) * mass)
            while left < last and sums[left] < low_mass:
                left += 1
            while right > first and sums[right] > high_mass:
                right -= 1
            inward_left = left - first > last - right
            next_first, next_last = (left, last) if inward_left else (first, right)
            alpha, beta = (alpha + 1e-5, beta) if inward_left else (alpha, beta - 1e-5)
            if (next_first, next_last) == (first, last):
                continue
            error = self._error(next_first, next_last, width)
            if error > best:
                break
            best, chosen, first, last = error, (next_first, next_last), next_first, next_last
        return low + width * chosen[0], low + width * (chosen[1] + 1)

    def _error(self, first: int, last: int, width: float) -> float:
        """The squared error if the integers cover the bins from first to last, each bin filled evenly."""
        steps = self.quant_max - self.quant_min + 1
        step = width * (last - first + 1) / steps
        if step == 0.0:
            return 0.0
        begins = (tl_core.arange(self.bins, dtype=tl_core.float64) - first) * width
        ends = begins + width
        left, right = ((x / step).floor().clamp(0, steps - 1) for x in (begins, ends))
        density = self.histogram.to(tl_core.float64) / width
        within = _cubed(begins - (left + 0.5) * step, ends - (left + 0.5) * step)
        crossing = _cubed(begins - (left + 0.5) * step, tl_core.full_like(begins, step / 2))
        crossing = crossing + (right - left - 1) * _cubed(tl_core.tensor(-step / 2), tl_core.tensor(step / 2))
        crossing = crossing + _cubed(tl_core.full_like(ends, -step / 2), ends - (right + 0.5) * step)
        return float((density * tl_core.where(left == right, within, crossing)).sum())


def _counts(x: Tensor, bins: int, low: float, high: float, weights: Tensor | None = None) -> Tensor:
    """How many numbers fall into each bin of [low, high]; a single number fills the first."""
    scale = bins / (high - low) if high > low else 0.0
    bins_of = ((x.to(tl_core.float64) - low) * scale).to(tl_core.int64).clamp(0, bins - 1)
    return tl_core.bincount(bins_of, weights, minlength=bins).to(tl_core.float32)


def _single(x: float) -> float:
    """A share of the counts, which are of float32, rounded as these are."""
    return float(struct.unpack("f", struct.pack("f", x))[0])


def _cubed(begin: Tensor, end: Tensor) -> Tensor:
    """The integral of x² from begin to end."""
    return (end * end * end - begin * begin * begin) / 3


class FixedQParamsObserver(ObserverBase):
    """A scale and a zero point that are known beforehand.

    Args:
        scale (float): The scale.
        zero_point (int): The zero point.
        dtype, qscheme, quant_min, quant_max, is_dynamic: As of `UniformQuantizationObserverBase`.
        kwargs: arguments of the base class.
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
        """The scale and the zero point given."""
        return self.scale, self.zero_point


class PlaceholderObserver(ObserverBase):
    """Only says which type is wanted: for numbers that are converted, or quantized at each call.

    Args:
        dtype (dtype): The type that is wanted.
        custom_op_name (str): A name for programs that look for it.
        compute_dtype, quant_min, quant_max, qscheme, eps, is_dynamic: Kept for whoever quantizes at each call.
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
        """Raises: nothing was watched."""
        raise RuntimeError(
            "calculate_qparams should not be called for PlaceholderObserver: it watches nothing"
        )

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"


class RecordingObserver(ObserverBase):
    """Keeps every tensor that passes, in `tensor_val`, for those who look for an error.

    Args:
        dtype (dtype): Of the numbers, once quantized.
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
    """Watches nothing; only says which type is wanted, such as float16.

    Args:
        dtype (dtype): The type that is wanted.
        custom_op_name (str): A name for programs that look for it.
    """

    def __init__(self, dtype: Any = tl_core.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.custom_op = custom_op_name

    def forward(self, x: Tensor) -> Tensor:
        """The tensor itself."""
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """Raises: nothing was watched."""
        raise RuntimeError("calculate_qparams should not be called for NoopObserver")


class ReuseInputObserver(ObserverBase):
    """For operators that keep their input's scale, such as a reshape."""

    def __init__(self) -> None:
        super().__init__(quint8, is_dynamic=False)

    def forward(self, x: Tensor) -> Tensor:
        """The tensor itself."""
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """Raises: the input's observer knows."""
        raise RuntimeError("calculate_qparams should not be called for ReuseInputObserver")


def get_observer_state_dict(mod: Module) -> OrderedDict[str, Any]:
    """A module's state, the part of its observers: names with `activation_post_process` or `observer`."""
    found: OrderedDict[str, Any] = OrderedDict()
    for name, value in mod.state_dict().items():
        if "observer" in name or "activation_post_process" in name:
            found[name] = value
    return found


def load_observer_state_dict(mod: Module, obs_dict: dict[str, Any]) -> None:
    """Gives a module's observers the state that `get_observer_state_dict` took from an equal one.

    Raises:
        ValueError: If names of the state fit no observer, or observers find no state.
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
#: For results between -1 and 1, such as those of tanh.
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128
)
#: For results between 0 and 1, such as those of sigmoid.
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(scale=1.0 / 256.0, zero_point=0)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
#: For operators that keep their input's scale.
default_reuse_input_observer = ReuseInputObserver
