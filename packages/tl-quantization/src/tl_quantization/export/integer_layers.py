"""Layers of integer kernels over plain tensors: the parts of lowered models."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module

from ..packed.convolution import PackedConvolution, check_channels
from ..packed.linear import PackedLinear, check_columns
from ..tensor import made_of
from ..tensor_quantizer import PerTensor

__all__ = ["DynamicLinear", "IntegerConvolution", "IntegerLinear", "pack_convolution", "pack_linear"]

# Operators with a leading underscore have no type in the stub.
_int8_linear: Any = tl_core._int8_linear
_int8_convolution: Any = tl_core._int8_convolution


def _state(packed: Any) -> dict[str, Tensor | None]:
    names = ("packed", "sums", "scales", "zero_points", "bias")
    return {name: getattr(packed, name) for name in names}


class _IntegerLayer(Module):
    """A layer with the tensors of a packed weight as buffers, and the scale of its input.

    Args:
        packed: the packed weight.
        source: how the input is quantized.
        target: how the result is quantized, or None.
        relu: whether negative results become 0.
    """

    bias: Tensor | None
    packed: Tensor
    sums: Tensor
    scales: Tensor
    zero_points: Tensor | None

    def __init__(self, packed: Any, source: PerTensor, target: PerTensor | None, relu: bool) -> None:
        super().__init__()
        for name, value in _state(packed).items():
            self.register_buffer(name, value)
        self.source, self.target, self.relu = source, target, relu
        self.shape = packed.shape
        self.output = (None, None) if target is None else (target.scale, target.zero_point)

    def extra_repr(self) -> str:
        return f"{tuple(self.shape)}, input={self.source}, output={self.target}, relu={self.relu}"


class IntegerLinear(_IntegerLayer):
    """A linear layer of integers, to integers, or to floating numbers without a target.

    Args:
        packed: the `PackedLinear`.
        source: how the input is quantized.
        target: how the result is quantized, or None.
        relu: whether negative results become 0.
    """

    def forward(self, x: Tensor) -> Tensor:
        """The integers of the result, or its numbers."""
        source = self.source
        check_columns(x, self.shape[1])
        return _int8_linear(
            x, source.scale, source.zero_point, self.packed, self.sums, self.scales, self.zero_points, self.bias,
            *self.output, self.relu,
        )  # fmt: skip


class DynamicLinear(Module):
    """A linear layer of floating numbers, whose input is rounded to bytes by its range.

    Args:
        packed: the `PackedLinear`.
        reduce_range: whether one bit of the bytes is left unused.
        relu: whether negative results become 0.
    """

    bias: Tensor | None
    packed: Tensor
    sums: Tensor
    scales: Tensor
    zero_points: Tensor | None

    def __init__(self, packed: PackedLinear, reduce_range: bool, relu: bool) -> None:
        super().__init__()
        for name, value in _state(packed).items():
            self.register_buffer(name, value)
        self.shape, self.reduce_range, self.relu = packed.shape, reduce_range, relu

    def extra_repr(self) -> str:
        return f"{tuple(self.shape)}, reduce_range={self.reduce_range}, relu={self.relu}"

    def forward(self, x: Tensor) -> Tensor:
        """The result in floating numbers."""
        check_columns(x, self.shape[1])
        return tl_core._int8_linear_dynamic(
            x, self.packed, self.sums, self.scales, self.zero_points, self.bias, self.reduce_range, self.relu
        )


class IntegerConvolution(_IntegerLayer):
    """A convolution of integers, to integers, or to floating numbers without a target.

    Args:
        packed: the `PackedConvolution`.
        windows: stride, padding and dilation of each axis.
        source: how the input is quantized.
        target: how the result is quantized, or None.
        relu: whether negative results become 0.
    """

    def __init__(
        self, packed: PackedConvolution, windows: Any, source: PerTensor, target: PerTensor | None, relu: bool
    ) -> None:
        super().__init__(packed, source, target, relu)
        self.windows, self.groups = windows, packed.groups

    def forward(self, x: Tensor) -> Tensor:
        """The integers of the result, or its numbers."""
        source = self.source
        check_channels(x, self.shape, self.groups)
        return _int8_convolution(
            x, source.scale, source.zero_point, self.packed, self.sums, self.scales, self.zero_points, self.bias,
            self.shape[2:], *self.windows, self.groups, *self.output, self.relu,
        )  # fmt: skip


def pack_linear(integers: Tensor, quantizer: Any, bias: Tensor | None) -> PackedLinear:
    """The packed weight of plain integers.

    Args:
        integers: the integers, of int8.
        quantizer: their scales.
        bias: the bias, or None.
    """
    return PackedLinear(made_of(integers, quantizer), bias)


def pack_convolution(integers: Tensor, quantizer: Any, bias: Tensor | None, groups: int) -> PackedConvolution:
    """The packed weight of plain integers.

    Args:
        integers: the integers, of int8.
        quantizer: their scales.
        bias: the bias, or None.
        groups: the groups of channels.
    """
    return PackedConvolution(made_of(integers, quantizer), bias, groups)
