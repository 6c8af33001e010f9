"""Scales and zero points, and the arithmetic by which numbers become integers and come back."""

from __future__ import annotations

from dataclasses import dataclass

import tl_core
from tl_core import Tensor
from tl_core.tensors import quantized_tensor

from .dtypes import (
    QScheme,
    bits_of,
    bounds,
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_tensor_affine,
    qint8,
    qint32,
    storage_dtype,
)

__all__ = ["PerChannel", "PerTensor", "Quantizer"]


@dataclass(frozen=True)
class PerTensor:
    """One scale and one zero point for all elements.

    Args:
        scale: the difference of the numbers of successive integers.
        zero_point: the integer of the number 0.
        dtype: the type of the integers.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> tq.PerTensor(0.5, 10, tq.quint8).scale
        0.5
    """

    scale: float
    zero_point: int
    dtype: tl_core.dtype

    @property
    def scheme(self) -> QScheme:
        """`per_tensor_affine`."""
        return per_tensor_affine

    @property
    def parts(self) -> tuple[float, int]:
        """The scale and the zero point."""
        return self.scale, self.zero_point

    @property
    def _inverse(self) -> Tensor:
        return tl_core.tensor(self.scale, dtype=tl_core.float32).reciprocal()

    def integers(self, x: Tensor) -> Tensor:
        """`clamp(round(x * (1 / scale) + zero_point))`: of 8 bits, product and sum are rounded once, as by fma.

        Halves are rounded to even, nan becomes the largest integer of 8 bits and the smallest of 32.
        """
        if self.dtype is qint32:
            zero = tl_core.tensor(self.zero_point, dtype=tl_core.float32)
            return _saturate(x.to(tl_core.float32) * self._inverse + zero, self.dtype, bounds(self.dtype)[0])
        is_signed = self.dtype is qint8
        integers = tl_core._quantize_bytes(x.to(tl_core.float32), self.scale, self.zero_point, is_signed)
        return integers.clamp_max(bounds(self.dtype)[1]) if bits_of(self.dtype) < 8 else integers

    def requantized(self, x: Tensor) -> Tensor:
        """`clamp(round(x * (1 / scale)) + zero_point)`, the rule of operators that compute with quantized tensors."""
        numbers = x.to(tl_core.float32)
        if self.dtype is qint32 or bits_of(self.dtype) < 8:
            return self.integers_of_steps(numbers * self._inverse)
        integers: Tensor = quantized_tensor.requantized_bytes(
            numbers, self.scale, self.zero_point, self.dtype is qint8
        )
        return integers

    def integers_of_steps(self, steps: Tensor) -> Tensor:
        """`clamp(round(steps) + zero_point)`: the integers of numbers in units of the scale."""
        return _saturate(steps.round().to(tl_core.float64) + self.zero_point, self.dtype, 0)

    def numbers(self, integers: Tensor) -> Tensor:
        """`(integers - zero_point) * scale` as float32. Differences of 32 bits wrap."""
        if self.dtype is not qint32:
            return tl_core._dequantize_bytes(integers, self.scale, self.zero_point)
        return (integers.to(tl_core.int32) - self.zero_point).to(tl_core.float32) * self.scale

    def fused_numbers(self, integers: Tensor) -> Tensor:
        """`fma(integers, scale, -scale * zero_point)`, the numbers that functions of each element compute with.

        Products of bytes and their sums are exact in float64, so one conversion rounds.

        Args:
            integers: the integers, of 8 bits.
        """
        scale = tl_core.tensor(self.scale, dtype=tl_core.float32)
        shift = scale * -self.zero_point
        return (integers.to(tl_core.float64) * scale.item() + shift.item()).to(tl_core.float32)

    def facts(self) -> list[str]:
        """What is printed behind the elements."""
        return [f"scale={self.scale}", f"zero_point={self.zero_point}"]


@dataclass(frozen=True, eq=False)
class PerChannel:
    """A scale and a zero point for each slice along an axis.

    Args:
        scales: a scale for each slice, of float64, or of float32 with floating zero points.
        zero_points: a zero point for each slice, of int64 or float32.
        axis: the axis of the slices.
        dtype: the type of the integers.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> tq.PerChannel(tl_core.tensor([0.5, 1.0]), tl_core.tensor([0, 3]), 0, tq.quint8).axis
        0
    """

    scales: Tensor
    zero_points: Tensor
    axis: int
    dtype: tl_core.dtype

    @property
    def scheme(self) -> QScheme:
        """`per_channel_affine`, or `per_channel_affine_float_qparams` if the zero points are floating numbers."""
        floating = self.zero_points.is_floating_point()
        return per_channel_affine_float_qparams if floating else per_channel_affine

    @property
    def parts(self) -> tuple[Tensor, Tensor, int]:
        """The scales, the zero points and the axis."""
        return self.scales, self.zero_points, self.axis

    def integers(self, x: Tensor) -> Tensor:
        """`clamp(round(x * (1 / scale) + zero_point))`, product and sum rounded each.

        nan becomes 0, or the smallest integer of 32 bits.
        """
        scales, zeros = (self._along(v, x.dim()).to(tl_core.float32) for v in (self.scales, self.zero_points))
        shifted = x.to(tl_core.float32) * scales.reciprocal() + zeros
        return _saturate(shifted, self.dtype, bounds(self.dtype)[0] if self.dtype is qint32 else 0)

    def numbers(self, integers: Tensor) -> Tensor:
        """`(integers - zero_point) * scale`, rounded once to float32, or in float32 with floating zero points."""
        scales, zeros = (self._along(v, integers.dim()) for v in (self.scales, self.zero_points))
        shifted = integers.to(tl_core.float32) - zeros.to(tl_core.float32)
        return (shifted * scales).to(tl_core.float32)

    def facts(self) -> list[str]:
        """What is printed behind the elements."""
        return [f"scale={self.scales}", f"zero_point={self.zero_points}", f"axis={self.axis}"]

    def _along(self, values: Tensor, dims: int) -> Tensor:
        shape = [1] * dims
        shape[self.axis] = -1
        return values.reshape(shape)


Quantizer = PerTensor | PerChannel


def _saturate(values: Tensor, dtype: tl_core.dtype, of_nan: int) -> Tensor:
    """Rounds and clamps, in float64 where float32 lacks some integers of the type."""
    low, high = bounds(dtype)
    wide = values.to(tl_core.float64) if dtype is qint32 else values
    wide = wide.nan_to_num(of_nan, high, low)
    return wide.round_().clamp_(low, high).to(storage_dtype(dtype))
