"""Normalizations that need no running statistics."""

from __future__ import annotations

from typing import Any

import tl_nn as nn
from tl_core import Tensor
from tl_nn import functional as F

from .utils import Scaled, numbers_of, observed_qparams, program

__all__ = ["GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm"]

_PARTS = "self.weight, self.bias, self.eps, float(self.scale), int(self.zero_point)"  # of the operators


class LayerNorm(Scaled, nn.LayerNorm):
    """`tl_nn.LayerNorm` of quantized tensors.

    Args:
        normalized_shape (int or tuple of int): As of the float layer.
        weight, bias (Tensor): The factors and the shifts.
        scale, zero_point (float, int): Of the result.
        eps, elementwise_affine, device, dtype: As of the float layer.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> weight, bias = tl_nn.Parameter(tl_core.ones(4)), tl_nn.Parameter(tl_core.zeros(4))
        >>> x = tq.quantize_per_tensor(tl_core.ones(1, 4, 4), 0.5, 10, tq.quint8)
        >>> quantized.LayerNorm(4, weight, bias, 0.5, 10)(x).shape
        torch.Size([1, 4, 4])
    """

    _SCRIPT_SOURCE = program("input", f"layer_norm(input, self.normalized_shape, {_PARTS})")

    def __init__(
        self,
        normalized_shape: Any,
        weight: Any,
        bias: Any,
        scale: float,
        zero_point: int,
        eps: float = 1e-05,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine, device=device, dtype=dtype)
        self.weight, self.bias = weight, bias
        self._init_scale(scale, zero_point)

    def forward(self, input: Any) -> Any:
        """The normalized input, with the layer's scale and zero point."""
        x = numbers_of(input).dequantize()
        return self._again(
            F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps).detach(), input
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> LayerNorm:
        """The layer for a float `LayerNorm` that has been observed."""
        qparams = observed_qparams(mod)
        return cls(mod.normalized_shape, mod.weight, mod.bias, *qparams, mod.eps, mod.elementwise_affine)


class GroupNorm(Scaled, nn.GroupNorm):
    """`tl_nn.GroupNorm` of quantized tensors. `weight`, `bias`, `scale` and `zero_point` are as of `LayerNorm`.

    Args:
        num_groups: the number of groups of channels.
        num_channels: the number of channels.
        weight: the factors, one a channel.
        bias: the shifts, one a channel.
        scale: the scale of the result.
        zero_point: the zero point of the result.
        eps: added to the variance.
        affine: whether there are factors and shifts.
        device: the device of the buffers.
        dtype: the type of the buffers.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> weight, bias = tl_nn.Parameter(tl_core.ones(4)), tl_nn.Parameter(tl_core.zeros(4))
        >>> x = tq.quantize_per_tensor(tl_core.ones(1, 4, 4), 0.5, 10, tq.quint8)
        >>> quantized.GroupNorm(2, 4, weight, bias, 0.5, 10)(x).shape
        torch.Size([1, 4, 4])
    """

    _SCRIPT_SOURCE = program("input", f"group_norm(input, self.num_groups, {_PARTS})")

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        weight: Any,
        bias: Any,
        scale: float,
        zero_point: int,
        eps: float = 1e-05,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_groups, num_channels, eps, affine, device=device, dtype=dtype)
        self.weight, self.bias = weight, bias
        self._init_scale(scale, zero_point)

    def forward(self, input: Any) -> Any:
        """The normalized input, with the layer's scale and zero point."""
        x = numbers_of(input).dequantize()
        return self._again(F.group_norm(x, self.num_groups, self.weight, self.bias, self.eps).detach(), input)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> GroupNorm:
        """The layer for a float `GroupNorm` that has been observed."""
        qparams = observed_qparams(mod)
        return cls(mod.num_groups, mod.num_channels, mod.weight, mod.bias, *qparams, mod.eps, mod.affine)


class _InstanceNorm(Scaled):
    """The base of the instance normalizations, before the float class in the order of bases."""

    _SCRIPT_SOURCE = program("input", f"instance_norm(input, {_PARTS})")

    weight: Any
    bias: Any
    eps: float

    def __init__(
        self,
        num_features: int,
        weight: Any,
        bias: Any,
        scale: float,
        zero_point: int,
        eps: float = 1e-05,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype)  # type: ignore[call-arg]
        self.weight, self.bias = weight, bias
        self._init_scale(scale, zero_point)

    def forward(self, input: Any) -> Any:
        """The normalized input, with the layer's scale and zero point."""
        x: Tensor = numbers_of(input).dequantize()
        return self._again(
            F.instance_norm(x, weight=self.weight, bias=self.bias, eps=self.eps).detach(), input
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float one that has been observed."""
        return cls(
            mod.num_features, mod.weight, mod.bias, *observed_qparams(mod), mod.eps, mod.momentum, mod.affine
        )


class InstanceNorm1d(_InstanceNorm, nn.InstanceNorm1d):
    """`tl_nn.InstanceNorm1d` of quantized tensors. `weight`, `bias`, `scale` and `zero_point` are as of `LayerNorm`.

    Args:
        num_features: the number of channels.
        weight: the factors, one a channel.
        bias: the shifts, one a channel.
        scale: the scale of the result.
        zero_point: the zero point of the result.
        eps: added to the variance.
        momentum: accepted and unused, as the layer doesn't train.
        affine: whether there are factors and shifts.
        track_running_stats: accepted: each sample's own statistics are used.
        device: the device of the buffers.
        dtype: the type of the buffers.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> weight, bias = tl_nn.Parameter(tl_core.ones(4)), tl_nn.Parameter(tl_core.zeros(4))
        >>> x = tq.quantize_per_tensor(tl_core.ones(1, 4, 4), 0.5, 10, tq.quint8)
        >>> quantized.InstanceNorm1d(4, weight, bias, 0.5, 10)(x).shape
        torch.Size([1, 4, 4])
    """


class InstanceNorm2d(_InstanceNorm, nn.InstanceNorm2d):
    """`tl_nn.InstanceNorm2d` of quantized tensors. `weight`, `bias`, `scale` and `zero_point` are as of `LayerNorm`.

    Args:
        num_features: the number of channels.
        weight: the factors, one a channel.
        bias: the shifts, one a channel.
        scale: the scale of the result.
        zero_point: the zero point of the result.
        eps: added to the variance.
        momentum: accepted and unused, as the layer doesn't train.
        affine: whether there are factors and shifts.
        track_running_stats: accepted: each sample's own statistics are used.
        device: the device of the buffers.
        dtype: the type of the buffers.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> weight, bias = tl_nn.Parameter(tl_core.ones(4)), tl_nn.Parameter(tl_core.zeros(4))
        >>> x = tq.quantize_per_tensor(tl_core.ones(1, 4, 4), 0.5, 10, tq.quint8)
        >>> quantized.InstanceNorm2d(4, weight, bias, 0.5, 10)(x.reshape(1, 4, 4, 1)).shape
        torch.Size([1, 4, 4, 1])
    """


class InstanceNorm3d(_InstanceNorm, nn.InstanceNorm3d):
    """`tl_nn.InstanceNorm3d` of quantized tensors. `weight`, `bias`, `scale` and `zero_point` are as of `LayerNorm`.

    Args:
        num_features: the number of channels.
        weight: the factors, one a channel.
        bias: the shifts, one a channel.
        scale: the scale of the result.
        zero_point: the zero point of the result.
        eps: added to the variance.
        momentum: accepted and unused, as the layer doesn't train.
        affine: whether there are factors and shifts.
        track_running_stats: accepted: each sample's own statistics are used.
        device: the device of the buffers.
        dtype: the type of the buffers.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> weight, bias = tl_nn.Parameter(tl_core.ones(4)), tl_nn.Parameter(tl_core.zeros(4))
        >>> x = tq.quantize_per_tensor(tl_core.ones(1, 4, 4), 0.5, 10, tq.quint8)
        >>> quantized.InstanceNorm3d(4, weight, bias, 0.5, 10)(x.reshape(1, 4, 4, 1, 1)).shape
        torch.Size([1, 4, 4, 1, 1])
    """
