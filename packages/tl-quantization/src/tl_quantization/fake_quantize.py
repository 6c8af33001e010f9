"""Modules that round their inputs as quantization will, so that training adapts to it.

Jacob et al., Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference, 2018.
"""

from __future__ import annotations

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
    per_tensor_symmetric,
    qint8,
    quantized_dtype,
    quint4x2,
    quint8,
)
from .fake_quantization import fake_quantize_per_channel_affine, fake_quantize_per_tensor_affine
from .granularity import AffineQuantizedObserverBase
from .observer import (
    HistogramObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
)
from .observer_base import ObserverBase, _Partial, write_buffer
from .qparams import range_qparams

__all__ = [
    "FakeQuantize",
    "FakeQuantizeBase",
    "FixedQParamsFakeQuantize",
    "FusedMovingAvgObsFakeQuantize",
    "default_affine_fixed_qparams_fake_quant",
    "default_dynamic_fake_quant",
    "default_embedding_fake_quant",
    "default_embedding_fake_quant_4bit",
    "default_fake_quant",
    "default_fixed_qparams_range_0to1_fake_quant",
    "default_fixed_qparams_range_neg1to1_fake_quant",
    "default_fused_act_fake_quant",
    "default_fused_per_channel_wt_fake_quant",
    "default_fused_wt_fake_quant",
    "default_histogram_fake_quant",
    "default_per_channel_weight_fake_quant",
    "default_symmetric_fixed_qparams_fake_quant",
    "default_weight_fake_quant",
    "disable_fake_quant",
    "disable_observer",
    "enable_fake_quant",
    "enable_observer",
    "fused_per_channel_wt_fake_quant_range_neg_127_to_127",
    "fused_wt_fake_quant_range_neg_127_to_127",
]

_BY_CHANNEL = (per_channel_affine, per_channel_symmetric, per_channel_affine_float_qparams)


class FakeQuantizeBase(ABC, Module):
    """The base class of fake quantizers: two switches, stored as buffers so that they are saved with a model.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> issubclass(tq.FakeQuantize, tq.FakeQuantizeBase)
        True
    """

    fake_quant_enabled: Tensor
    observer_enabled: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", tl_core.tensor([1], dtype=tl_core.uint8))
        self.register_buffer("observer_enabled", tl_core.tensor([1], dtype=tl_core.uint8))

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Watches and rounds `x`, as the switches say."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point for the observed range."""

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Whether numbers are rounded."""
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self) -> None:
        """Numbers pass as they are."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Whether numbers are watched."""
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self) -> None:
        """The scale stays as it is."""
        self.enable_observer(False)

    @classmethod
    def with_args(cls, **kwargs: Any) -> _Partial:
        """A factory of the class with some of its arguments fixed."""
        return _Partial(partial(cls, **kwargs))


def _is_activation_post_process(module: Any) -> bool:
    """Whether a module is an observer or a fake quantizer."""
    return isinstance(module, (ObserverBase, FakeQuantizeBase, AffineQuantizedObserverBase))


class FakeQuantize(FakeQuantizeBase):
    """Watches numbers with an observer, and rounds them by its scale and zero point.

    Args:
        observer (class or its `with_args`): The observer of the numbers, constructed with the other arguments.
        quant_min, quant_max (int, optional): The range of the integers, by default the observer's.
        is_dynamic (bool): Whether the numbers will be quantized with a range of their own at each call.
        observer_kwargs: the arguments of the observer.

    Raises:
        AssertionError: If the range isn't within the range of the observer's type.

    Example:
        >>> x = tl_core.tensor([0.0, 0.1001, 2.55])
        >>> FakeQuantize()(x)
        tensor([0.0000, 0.1000, 2.5500])
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int | None = None,
        quant_max: int | None = None,
        is_dynamic: bool = False,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__()
        if quant_min is not None and quant_max is not None:
            fixed = getattr(getattr(observer, "p", observer), "keywords", {})
            self._check_range(quant_min, quant_max, observer_kwargs.get("dtype", fixed.get("dtype", quint8)))
            observer_kwargs |= {"quant_min": quant_min, "quant_max": quant_max}
        observer_kwargs["is_dynamic"] = is_dynamic
        self.activation_post_process = observer(**observer_kwargs)
        watching = self.activation_post_process
        self.quant_min, self.quant_max = watching.quant_min, watching.quant_max
        self.is_dynamic, self.dtype, self.qscheme = watching.is_dynamic, watching.dtype, watching.qscheme
        self.ch_axis = getattr(watching, "ch_axis", -1)
        self.is_per_channel = self.qscheme in _BY_CHANNEL
        floating = self.qscheme is per_channel_affine_float_qparams
        self.register_buffer("scale", tl_core.tensor([1.0]))
        self.register_buffer(
            "zero_point", tl_core.tensor([0], dtype=tl_core.float32 if floating else tl_core.int32)
        )

    @staticmethod
    def _check_range(low: int, high: int, dtype: Any) -> None:
        lowest, highest = bounds(quantized_dtype(dtype))
        if low > high:
            raise AssertionError(
                f"quant_min must be less than or equal to quant_max, but got {low} and {high}"
            )
        if low < lowest or high > highest:
            raise AssertionError(
                f"quant_min and quant_max must be from {lowest} to {highest}, but got {low} and {high}"
            )

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """The observer's scale and zero point."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: Tensor) -> Tensor:
        """Watches and rounds the tensor, if the switches are on."""
        if self.observer_enabled[0]:
            self._watch(X)
        return self._fake_quantize(X) if self.fake_quant_enabled[0] else X

    def _watch(self, x: Tensor) -> None:
        self.activation_post_process(x.detach())
        scale, zero = self.calculate_qparams()
        write_buffer(self.scale, scale)
        write_buffer(self.zero_point, zero)

    def _fake_quantize(self, x: Tensor) -> Tensor:
        limits = self.quant_min, self.quant_max
        if self.is_per_channel:
            return fake_quantize_per_channel_affine(x, self.scale, self.zero_point, self.ch_axis, *limits)
        return fake_quantize_per_tensor_affine(x, self.scale, self.zero_point, *limits)

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
            f"quant_min={self.quant_min}, quant_max={self.quant_max}, dtype={self.dtype}, "
            f"qscheme={self.qscheme}, ch_axis={self.ch_axis}, scale={self.scale}, zero_point={self.zero_point}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Takes scales of any number of channels."""
        for name in ("scale", "zero_point"):
            if prefix + name in state_dict:
                getattr(self, name).resize_(state_dict[prefix + name].shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)


class FixedQParamsFakeQuantize(FakeQuantize):
    """Rounds numbers by a scale and a zero point that are known beforehand.

    Args:
        observer (`FixedQParamsObserver.with_args(...)`): Says them.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> issubclass(tq.FixedQParamsFakeQuantize, tq.FakeQuantizeBase)
        True
    """

    def __init__(self, observer: Any) -> None:
        super().__init__(observer=observer)
        scale, zero = self.calculate_qparams()
        self.scale, self.zero_point = scale.clone(), zero.clone()

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """The fixed scale and zero point."""
        return self.activation_post_process.calculate_qparams()

    def extra_repr(self) -> str:
        """The switches, the scale, the zero point and the type."""
        return super().extra_repr()


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """`FakeQuantize` with a moving average, whose scale is chosen by the rule of `quantize_per_tensor_dynamic`.

    With a symmetric scheme that scale is larger by 0.4 % than the observer's, which `calculate_qparams` returns: the
    largest magnitude becomes 127 instead of 127.5.

    Args:
        observer (MovingAverageMinMaxObserver or MovingAveragePerChannelMinMaxObserver): What watches the numbers.
        quant_min, quant_max (int): The range of the integers.
        is_dynamic (bool): Whether the numbers will be quantized with a range of their own at each call.
        observer_kwargs: the arguments of the observer.

    Raises:
        AssertionError: If the observer keeps no moving average.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> tq.FusedMovingAvgObsFakeQuantize()(tl_core.tensor([0.0, 1.0]))
        tensor([0., 1.])
    """

    _SCRIPT_SOURCE = """
def forward(self, X: Tensor) -> Tensor:
    observer = self.activation_post_process
    return aten.fused_moving_avg_obs_fake_quant(
        X, self.observer_enabled, self.fake_quant_enabled, observer.min_val, observer.max_val, self.scale,
        self.zero_point, observer.averaging_constant, observer.quant_min, observer.quant_max, self.ch_axis,
        self.is_per_channel, self.is_symmetric_quant)
"""

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int = 0,
        quant_max: int = 255,
        is_dynamic: bool = False,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__(observer, quant_min, quant_max, is_dynamic, **observer_kwargs)
        if not hasattr(self.activation_post_process, "averaging_constant"):
            kind = type(self.activation_post_process).__name__
            raise AssertionError(f"observer must keep a moving average, but got {kind}")
        for name in ("fake_quant_enabled", "observer_enabled"):
            self.register_buffer(name, tl_core.tensor([1]))
        self.is_symmetric_quant = self.qscheme in (per_tensor_symmetric, per_channel_symmetric)

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """The observer's scale and zero point."""
        return super().calculate_qparams()

    def extra_repr(self) -> str:
        """The switches, the scale, the zero point and the range."""
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
            f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}, quant_min={self.quant_min}, "
            f"quant_max={self.quant_max}, qscheme={self.qscheme}, "
            f"reduce_range={self.activation_post_process.reduce_range}"
        )

    def forward(self, X: Tensor) -> Tensor:
        """Watches and rounds the tensor, if the switches are on."""
        return super().forward(X)

    def _watch(self, x: Tensor) -> None:
        observer = self.activation_post_process
        self._follow(observer, x.detach())
        ranges = zip(
            observer.min_val.reshape(-1).tolist(), observer.max_val.reshape(-1).tolist(), strict=True
        )
        limits = observer.quant_min, observer.quant_max, self.is_symmetric_quant
        qparams = [range_qparams(low, high, *limits) for low, high in ranges]
        write_buffer(self.scale, self.scale.new_tensor([scale for scale, _ in qparams]))
        write_buffer(self.zero_point, self.zero_point.new_tensor([zero for _, zero in qparams]))

    @staticmethod
    def _follow(observer: Any, x: Tensor) -> None:
        """Lets the observer watch. Infinite bounds start anew."""
        low, high = observer.min_val, observer.max_val
        if not low.numel() or bool((low.isfinite() & high.isfinite() | (low > high)).all()):
            observer(x)
            return
        low, high = low.clone(), high.clone()
        observer.reset_min_max_vals()
        observer(x)
        for name, before in (("min_val", low), ("max_val", high)):
            now = getattr(observer, name)
            moved = before + observer.averaging_constant * (now - before)
            write_buffer(now, now.where(before.isinf(), moved))


def _switch(mod: Any, method: str) -> None:
    if isinstance(mod, FakeQuantizeBase):
        getattr(mod, method)()
    elif getattr(mod, "original_name", None) in ("FakeQuantize", "FusedMovingAvgObsFakeQuantize"):
        word, _, part = method.partition("_")  # a program of TorchScript has the buffers
        getattr(mod, f"{part}_enabled").fill_(int(word == "enable"))


def disable_fake_quant(mod: Module) -> None:
    """Lets numbers pass as they are: `model.apply(disable_fake_quant)`.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> rounding = tq.FakeQuantize()
        >>> _ = rounding.apply(tq.disable_fake_quant)
        >>> int(rounding.fake_quant_enabled)
        0
    """
    _switch(mod, "disable_fake_quant")


def enable_fake_quant(mod: Module) -> None:
    """Rounds numbers: `model.apply(enable_fake_quant)`.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> rounding = tq.FakeQuantize()
        >>> _ = rounding.apply(tq.enable_fake_quant)
        >>> int(rounding.fake_quant_enabled)
        1
    """
    _switch(mod, "enable_fake_quant")


def disable_observer(mod: Module) -> None:
    """Leaves scales as they are: `model.apply(disable_observer)`.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> rounding = tq.FakeQuantize()
        >>> _ = rounding.apply(tq.disable_observer)
        >>> int(rounding.observer_enabled)
        0
    """
    _switch(mod, "disable_observer")


def enable_observer(mod: Module) -> None:
    """Watches numbers: `model.apply(enable_observer)`.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> rounding = tq.FakeQuantize()
        >>> _ = rounding.apply(tq.enable_observer)
        >>> int(rounding.observer_enabled)
        1
    """
    _switch(mod, "enable_observer")


_ACTIVATION: dict[str, Any] = {"observer": MovingAverageMinMaxObserver, "quant_min": 0, "quant_max": 255}
_WEIGHT: dict[str, Any] = {
    "quant_min": -128,
    "quant_max": 127,
    "dtype": qint8,
    "qscheme": per_tensor_symmetric,
}
_CHANNELS: dict[str, Any] = _WEIGHT | {"qscheme": per_channel_symmetric, "ch_axis": 0}
_NARROW: dict[str, Any] = {"quant_min": -127, "quant_max": 127, "eps": 2**-12}
_FLOATING: dict[str, Any] = {
    "qscheme": per_channel_affine_float_qparams,
    "ch_axis": 0,
    "averaging_constant": 1,
}
_MOVING, _MOVING_CHANNELS = MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver

#: For activations: unsigned, one bit left unused.
default_fake_quant = FakeQuantize.with_args(**_ACTIVATION, dtype=quint8, reduce_range=True)
#: For weights: signed and symmetric.
default_weight_fake_quant = FakeQuantize.with_args(observer=_MOVING, **_WEIGHT, reduce_range=False)
#: For activations that are quantized at each call.
default_dynamic_fake_quant = FakeQuantize.with_args(
    **_ACTIVATION, is_dynamic=True, dtype=quint8, averaging_constant=1
)
#: For results between -1 and 1.
default_fixed_qparams_range_neg1to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_neg1to1_observer
)
#: For results between 0 and 1.
default_fixed_qparams_range_0to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_0to1_observer
)
default_symmetric_fixed_qparams_fake_quant = default_fixed_qparams_range_neg1to1_fake_quant
default_affine_fixed_qparams_fake_quant = default_fixed_qparams_range_0to1_fake_quant
#: For weights, a scale for each channel.
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    observer=_MOVING_CHANNELS, **_CHANNELS, reduce_range=False
)
#: For embeddings: floating zero points.
default_embedding_fake_quant = FakeQuantize.with_args(
    observer=_MOVING_CHANNELS, quant_min=0, quant_max=255, dtype=quint8, **_FLOATING
)
#: The same with 16 steps.
default_embedding_fake_quant_4bit = FakeQuantize.with_args(
    observer=_MOVING_CHANNELS, dtype=quint4x2, **_FLOATING
)
#: For activations: a histogram.
default_histogram_fake_quant = FakeQuantize.with_args(
    observer=HistogramObserver, quant_min=0, quant_max=255, dtype=quint8, reduce_range=True
)
#: For activations, with a moving average.
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_ACTIVATION, dtype=quint8)
#: For weights, with a moving average.
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(observer=_MOVING, **_WEIGHT)
#: For weights, with a moving average and a scale for each channel.
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=_MOVING_CHANNELS, **(_WEIGHT | {"qscheme": per_channel_symmetric})
)
#: For weights without -128.
fused_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    observer=_MOVING, **(_WEIGHT | _NARROW)
)
#: For weights without -128, a scale for each channel.
fused_per_channel_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    observer=_MOVING_CHANNELS, **(_CHANNELS | _NARROW)
)
