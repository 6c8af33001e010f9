"""Layers that take and return plain integers: the parts of lowered models."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module

from ..packed.convolution import PackedConvolution
from ..packed.linear import PackedLinear
from ..tensor import made_of
from ..tensor_quantizer import PerTensor

__all__ = ["IntegerConvolution", "IntegerLinear", "IntegerLinearToFloat"]

# Operators with a leading underscore have no type in the stub.
_int_mm: Any = tl_core._int_mm
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

    def extra_repr(self) -> str:
        return f"{tuple(self.shape)}, input={self.source}, output={self.target}, relu={self.relu}"


class IntegerLinear(_IntegerLayer):
    """A linear layer from integers to integers.

    Args:
        packed: the `PackedLinear`.
        source: how the input is quantized.
        target: how the result is quantized.
        relu: whether negative results become 0.
    """

    def forward(self, x: Tensor) -> Tensor:
        """The integers of the result."""
        source, target = self.source, self.target
        assert target is not None
        return tl_core._int8_linear(
            x, source.scale, source.zero_point, self.packed, self.sums, self.scales, self.zero_points, self.bias,
            target.scale, target.zero_point, self.relu,
        )  # fmt: skip


class IntegerLinearToFloat(Module):
    """A linear layer from integers to floating numbers: an exact product of integers, scaled once.

    Args:
        weight: the integers of the weight, of int8.
        scales: the scale of each row, or one scale.
        bias: the bias, or None.
        source: how the input is quantized.
        relu: whether negative results become 0.
    """

    weight: Tensor
    units: Tensor
    shift: Tensor
    bias: Tensor | None

    def __init__(
        self, weight: Tensor, scales: Tensor, bias: Tensor | None, source: PerTensor, relu: bool
    ) -> None:
        super().__init__()
        # `_int_mm` multiplies bytes with signs: the bytes of quint8 are edges by 128, and so is their zero point.
        self.offset = 128 if source.dtype.itemsize == 1 and "quint8" in str(source.dtype) else 0
        self.register_buffer("weight", weight.t().contiguous())
        self.register_buffer("units", (scales.to(tl_core.float32) * source.scale).reshape(-1))
        shift = weight.to(tl_core.int32).sum(1, dtype=tl_core.int32) * (source.zero_point - self.offset)
        self.register_buffer("shift", shift)
        self.register_buffer("bias", bias)
        self.relu = relu

    def forward(self, x: Tensor) -> Tensor:
        """The result in floating numbers."""
        rows = x.flatten(0, -2) if x.dim() != 2 else x
        if self.offset:
            rows = (rows.to(tl_core.int16) - self.offset).to(tl_core.int8)
        sums = _int_mm(rows, self.weight) - self.shift
        result = sums.to(tl_core.float32) * self.units
        if self.bias is not None:
            result = result + self.bias
        result = result.reshape(*x.shape[:-1], -1)
        return result.relu() if self.relu else result


class IntegerConvolution(_IntegerLayer):
    """A convolution from integers to integers.

    Args:
        packed: the `PackedConvolution`.
        windows: stride, padding and dilation of each axis.
        source: how the input is quantized.
        target: how the result is quantized.
        relu: whether negative results become 0.
    """

    def __init__(
        self, packed: PackedConvolution, windows: Any, source: PerTensor, target: PerTensor, relu: bool
    ) -> None:
        super().__init__(packed, source, target, relu)
        self.windows, self.groups = windows, packed.groups

    def forward(self, x: Tensor) -> Tensor:
        """The integers of the result."""
        source, target = self.source, self.target
        assert target is not None
        return _int8_convolution(
            x, source.scale, source.zero_point, self.packed, self.sums, self.scales, self.zero_points, self.bias,
            self.shape[2:], *self.windows, self.groups, target.scale, target.zero_point, self.relu,
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
