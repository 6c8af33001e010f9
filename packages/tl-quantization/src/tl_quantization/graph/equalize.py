"""Equalization of inputs and weights: the observers of their columns, and the configuration that has them."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, NamedTuple

import tl_core
import tl_nn as nn
from tl_core import Tensor
from tl_nn import Module

from ..dtypes import (
    per_channel_affine,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    quint8,
)
from ..observer_base import _Partial
from ..range_observers import PerChannelMinMaxObserver

__all__ = [
    "EqualizationQConfig",
    "calculate_equalization_scale",
    "default_equalization_qconfig",
    "input_equalization_observer",
    "is_equalization_observer",
    "reshape_scale",
    "weight_equalization_observer",
]

_BY_CHANNEL = {per_tensor_affine: per_channel_affine, per_tensor_symmetric: per_channel_symmetric}


def reshape_scale(scale: Tensor, axis: int, input: Tensor) -> Tensor:
    """A vector of scales in the shape that multiplies a dimension of a tensor.

    Args:
        scale: the scales.
        axis: the dimension.
        input: the tensor.

    Example:
        >>> import tl_core
        >>> reshape_scale(tl_core.ones(3), 1, tl_core.ones(2, 3, 4)).shape
        torch.Size([1, 3, 1])
    """
    shape = [1] * input.dim()
    shape[axis] = input.shape[axis]
    return scale.reshape(shape)


class _EqualizationObserver(Module):
    """Watches the range of each column, which is dimension 1."""

    def __init__(self, dtype: Any, qscheme: Any, quant_min: Any, quant_max: Any, factory_kwargs: Any) -> None:
        super().__init__()
        self.dtype, self.qscheme = dtype, qscheme
        self.equalization_scale = tl_core.tensor(1)
        self._columns = PerChannelMinMaxObserver(
            ch_axis=1,
            dtype=dtype,
            qscheme=_BY_CHANNEL.get(qscheme, qscheme),
            quant_min=quant_min,
            quant_max=quant_max,
            factory_kwargs=factory_kwargs,
        )

    def forward(self, x: Tensor) -> Tensor:
        """Watches `x` and returns it. Raises ValueError if it isn't of a linear layer or convolution."""
        if not 2 <= x.dim() <= 5:
            raise ValueError(
                f"inputs and weights of equalized layers have 2 to 5 dimensions, but got {x.dim()}"
            )
        result: Tensor = self._columns(x)
        return result

    def range_of_columns(self) -> tuple[Tensor, Tensor]:
        """The smallest and the largest number of each column."""
        return self._columns.min_val, self._columns.max_val

    def is_scaled(self) -> bool:
        """Whether `set_equalization_scale` has set other scales than 1."""
        return self.equalization_scale.numel() != 1 or bool(self.equalization_scale != 1)

    def set_equalization_scale(self, equalization_scale: Tensor) -> None:
        """Takes the scale of each column.

        Args:
            equalization_scale: the scales.
        """
        self.equalization_scale = equalization_scale

    @classmethod
    def with_args(cls, **kwargs: Any) -> _Partial:
        """A factory of the class with some of its arguments fixed."""
        return _Partial(partial(cls, **kwargs))


class _InputEqualizationObserver(_EqualizationObserver):
    """Watches the range of each column of an input."""

    def __init__(
        self,
        dtype: Any = quint8,
        qscheme: Any = per_tensor_affine,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: Any = None,
    ) -> None:
        if qscheme not in _BY_CHANNEL:
            raise TypeError(f"qscheme of an input must be one for all channels, but got {qscheme}")
        super().__init__(dtype, qscheme, quant_min, quant_max, factory_kwargs)
        self.equalization_shape: list[int] = []

    @property
    def input_obs(self) -> PerChannelMinMaxObserver:
        """The observer of the columns."""
        return self._columns

    def forward(self, x: Tensor) -> Tensor:
        """Watches `x` and returns it. Raises ValueError if it isn't the input of a linear layer or convolution."""
        result = super().forward(x)
        self.equalization_shape = [1] * x.dim()
        self.equalization_shape[1] = x.shape[1]
        return result

    def get_input_minmax(self) -> tuple[Tensor, Tensor]:
        """The smallest and the largest number of each column."""
        return self.range_of_columns()

    def set_equalization_scale(self, equalization_scale: Tensor) -> None:
        """Takes the scale of each column, in the shape that multiplies the input.

        Args:
            equalization_scale: the scales. A single 1 has no effect.
        """
        if equalization_scale.numel() != 1 or bool(equalization_scale != 1):
            self.equalization_scale = equalization_scale.reshape(self.equalization_shape)

    def calculate_scaled_minmax(self) -> tuple[Tensor | None, Tensor | None]:
        """The range of the scaled input, or two None with a warning if there is no scale."""
        if not self.is_scaled():
            warnings.warn(
                "calculate_scaled_minmax before calculate_equalization_scale: the observer behind isn't scaled",
                stacklevel=2,
            )
            return None, None
        low, high = self.range_of_columns()
        scale = self.equalization_scale.reshape(low.shape)
        return (low * scale).min(), (high * scale).max()


class _WeightEqualizationObserver(_EqualizationObserver):
    """Watches the range of each column of a weight."""

    def __init__(
        self,
        dtype: Any = qint8,
        qscheme: Any = per_tensor_affine,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: Any = None,
    ) -> None:
        super().__init__(dtype, qscheme, quant_min, quant_max, factory_kwargs)
        self.ch_axis = 1

    @property
    def weight_col_obs(self) -> PerChannelMinMaxObserver:
        """The observer of the columns."""
        return self._columns

    def get_weight_col_minmax(self) -> tuple[Tensor, Tensor]:
        """The smallest and the largest number of each column."""
        return self.range_of_columns()


def is_equalization_observer(observer: Any) -> bool:
    """Whether a module watches columns for equalization.

    Args:
        observer: the module.

    Example:
        >>> is_equalization_observer(input_equalization_observer())
        True
    """
    return isinstance(observer, _EqualizationObserver)


def calculate_equalization_scale(
    input_obs: _InputEqualizationObserver, weight_obs: _WeightEqualizationObserver
) -> Tensor:
    """The factor of each column of the input: the root of the range in the weight divided by that in the input.

    Args:
        input_obs: the observer of the input.
        weight_obs: the observer of the weight.

    Returns:
        The factors. Columns without range have 1. Without data, a single 1 with a warning.

    Raises:
        ValueError: If input and weight have other numbers of columns.

    Example:
        >>> import tl_core
        >>> inputs, weights = input_equalization_observer(), weight_equalization_observer()
        >>> _ = inputs(tl_core.tensor([[0.0, 0.0], [4.0, 1.0]])), weights(tl_core.tensor([[0.0, 0.0], [1.0, 1.0]]))
        >>> calculate_equalization_scale(inputs, weights)
        tensor([0.5000, 1.0000])
    """
    low, high = input_obs.get_input_minmax()
    least, most = weight_obs.get_weight_col_minmax()
    if not (_is_range(low, high) and _is_range(least, most)):
        warnings.warn("the observers have seen no data, so the equalization scale is 1", stacklevel=2)
        return tl_core.tensor(1)
    if low.shape != least.shape:
        raise ValueError(
            f"input and weight must have as many columns, but got {tuple(low.shape)} and {tuple(least.shape)}"
        )
    scale = ((most - least) / (high - low)).sqrt()
    scale = tl_core.where(scale == 0, tl_core.ones_like(scale), scale)
    return tl_core.nan_to_num(scale, nan=1, posinf=1, neginf=1)


def _is_range(low: Tensor, high: Tensor) -> bool:
    return bool(low.numel()) and not bool((low > high).any()) and not bool(low.isinf().all())


class EqualizationQConfig(NamedTuple("EqualizationQConfig", [("input_activation", Any), ("weight", Any)])):
    """The observers of a layer's input and weight columns.

    Args:
        input_activation: a function that makes the observer of the input.
        weight: a function that makes the observer of the weight.

    Raises:
        ValueError: For an observer instead of a function.

    Example:
        >>> import tl_nn
        >>> EqualizationQConfig() == EqualizationQConfig(tl_nn.Identity, tl_nn.Identity)
        True
    """

    __slots__ = ()

    def __new__(cls, input_activation: Any = nn.Identity, weight: Any = nn.Identity) -> EqualizationQConfig:
        for name, make in (("input_activation", input_activation), ("weight", weight)):
            if isinstance(make, Module):
                raise ValueError(
                    f"{name} must be a class or with_args of it, but got an instance of {type(make).__name__}"
                )
        return super().__new__(cls, input_activation, weight)


input_equalization_observer = _InputEqualizationObserver.with_args(dtype=quint8, qscheme=per_tensor_symmetric)
weight_equalization_observer = _WeightEqualizationObserver.with_args(
    dtype=qint8, qscheme=per_channel_symmetric
)
default_equalization_qconfig = EqualizationQConfig(input_equalization_observer, weight_equalization_observer)
