"""Scales and zero points, and the arithmetic by which numbers become integers and come back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tl_core
from tl_core import Tensor

from .dtypes import (
    QScheme,
    bounds,
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_tensor_affine,
    storage_dtype,
)

__all__ = ["PerChannel", "PerTensor", "Quantizer"]


@dataclass(frozen=True)
class PerTensor:
    """One scale and one zero point for all elements.

    Args:
        scale: the scale.
        zero_point: the integer that stands for 0.
        dtype: the type of the integers.
    """

    scale: float
    zero_point: int
    dtype: tl_core.dtype

    @property
    def scheme(self) -> QScheme:
        """`per_tensor_affine`."""
        return per_tensor_affine

    def integers(self, x: Tensor) -> Tensor:
        """`clamp(round(x / scale) + zero_point)`; halves are rounded to even."""
        inverse = tl_core.tensor(self.scale, dtype=tl_core.float32).reciprocal()
        return _clamped(x.to(tl_core.float32) * inverse, self.zero_point, self.dtype)

    def numbers(self, integers: Tensor) -> Tensor:
        """`(integers - zero_point) * scale` as float32."""
        return (integers.to(tl_core.int64) - self.zero_point).to(tl_core.float32) * self.scale

    def shown(self) -> str:
        """As it is printed behind the elements."""
        return f"scale={self.scale}, zero_point={self.zero_point}"


@dataclass(frozen=True, eq=False)
class PerChannel:
    """A scale and a zero point for each slice along an axis.

    Args:
        scales: a scale for each slice.
        zero_points: a zero point for each slice.
        axis: the axis of the slices.
        dtype: the type of the integers.
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

    def integers(self, x: Tensor) -> Tensor:
        """As of one scale, along the axis; floating zero points are added before the rounding."""
        scales, zeros = self._along(self.scales, x.dim()), self._along(self.zero_points, x.dim())
        x = x.to(tl_core.float32)
        if self.zero_points.is_floating_point():
            return _clamped(x / scales.to(tl_core.float32) + zeros.to(tl_core.float32), 0, self.dtype)
        return _clamped(x * scales.to(tl_core.float32).reciprocal(), zeros, self.dtype)

    def numbers(self, integers: Tensor) -> Tensor:
        """The numbers that the integers stand for, as float32."""
        scales = self._along(self.scales, integers.dim()).to(tl_core.float32)
        zeros = self._along(self.zero_points, integers.dim())
        kind = tl_core.float32 if zeros.is_floating_point() else tl_core.int64
        return (integers.to(kind) - zeros.to(kind)).to(tl_core.float32) * scales

    def shown(self) -> str:
        """As it is printed behind the elements."""
        return f"scale={self.scales}, zero_point={self.zero_points}, axis={self.axis}"

    def _along(self, values: Tensor, dims: int) -> Tensor:
        shape = [1] * dims
        shape[self.axis] = -1
        return values.reshape(shape)


Quantizer = PerTensor | PerChannel


def _clamped(scaled: Tensor, zero_point: Any, dtype: tl_core.dtype) -> Tensor:
    """Rounded, shifted and cut off, in float64, which holds all integers of 32 bits."""
    shifted = scaled.round().to(tl_core.float64) + zero_point
    return shifted.clamp(*bounds(dtype)).to(storage_dtype(dtype))
