"""Observers of the smallest and the largest number, of a tensor or of each channel."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor

from .dtypes import per_channel_affine, per_tensor_affine, quint8
from .observer_base import (
    _BY_CHANNEL,
    _SYMMETRIC,
    UniformQuantizationObserverBase,
    _check_tensor_scheme,
    write_buffer,
)

__all__ = [
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
    "PerChannelMinMaxObserver",
]


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
        >>> import tl_core, tl_quantization as tq
        >>> observer = tq.MinMaxObserver()
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

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]  # no keywords
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
        write_buffer(before, low)
        write_buffer(observer.max_val, high)
        return
    for bound, now in ((before, low), (observer.max_val, high)):
        write_buffer(bound, bound + observer.averaging_constant * (now - bound))


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
        >>> import tl_core, tl_quantization as tq
        >>> observer = tq.PerChannelMinMaxObserver(dtype=tq.qint8, qscheme=tq.per_channel_symmetric)
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
        if self.min_val.numel():
            low, high = tl_core.minimum(low, self.min_val), tl_core.maximum(high, self.max_val)
        write_buffer(self.min_val, low)
        write_buffer(self.max_val, high)

    def reset_min_max_vals(self) -> None:
        """Resets the observed range."""
        self.min_val, self.max_val = (tl_core.empty(0, device=self.eps.device) for _ in range(2))

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Takes buffers of any number of channels. Before version 3, their names were plurals."""
        for name in ("min_val", "max_val"):
            if prefix + name not in state_dict and f"{prefix}{name}s" in state_dict:
                state_dict[prefix + name] = state_dict.pop(f"{prefix}{name}s")
        for name in ("min_val", "max_val"):
            if prefix + name in state_dict:
                getattr(self, name).resize_(state_dict[prefix + name].shape)
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
