"""Private names of observers and of fake quantization."""

from __future__ import annotations

from abc import ABC as ABC
from functools import partial
from typing import Any

from ..dtypes import per_channel_symmetric, per_tensor_symmetric
from ..observer_base import UniformQuantizationObserverBase as _ObserverBase
from ..observer_base import _Partial as _PartialWrapper
from ..utils import is_per_channel as _is_per_channel
from ..utils import is_per_tensor as _is_per_tensor

__all__ = ["ABC", "_ObserverBase", "_PartialWrapper", "_is_per_channel", "_is_per_tensor"]

_PER_CHANNEL = ("PerChannelMinMaxObserver", "MovingAveragePerChannelMinMaxObserver")
_ROUNDING = ("FakeQuantize", "FusedMovingAvgObsFakeQuantize")


def _with_args(cls_or_self: Any, **kwargs: Any) -> _PartialWrapper:
    """A factory with arguments fixed.

    Args:
        cls_or_self: a class, or a factory.
        **kwargs: the arguments.
    """
    return _PartialWrapper(partial(cls_or_self, **kwargs))


def _with_callable_args(cls_or_self: Any, **kwargs: Any) -> _PartialWrapper:
    """A factory with arguments that it computes at each call.

    Args:
        cls_or_self: a class, or a factory.
        **kwargs: functions that return the arguments.
    """
    factory = cls_or_self if isinstance(cls_or_self, _PartialWrapper) else _with_args(cls_or_self)
    return factory.with_callable_args(**kwargs)


def _is_symmetric_quant(qscheme: Any) -> bool:
    return qscheme in (per_tensor_symmetric, per_channel_symmetric)


def _is_script_of(module: Any, names: tuple[str, ...]) -> bool:
    return getattr(module, "original_name", None) in names


def _is_per_channel_script_obs_instance(module: Any) -> bool:
    return _is_script_of(module, _PER_CHANNEL)


def _is_fake_quant_script_module(mod: Any) -> bool:
    return _is_script_of(mod, _ROUNDING)
