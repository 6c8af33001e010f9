"""Sums and products of quantized tensors, with each other and with numbers."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core.tensors import quantized_tensor
from tl_nn import functional as F

from .dtypes import bounds, qint32
from .operators import quantize_numbers
from .tensor import integers_of, made_of
from .tensor_quantizer import PerTensor

__all__ = ["add", "add_number", "mul", "mul_number"]


def add(x: Any, y: Any, scale: float, zero_point: int, relu: bool = False) -> Any:
    """The sum of two quantized tensors.

    Args:
        x: the first tensor.
        y: the second tensor.
        scale: the scale of the result.
        zero_point: the zero point of the result.
        relu: whether negative results become 0.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> q = tq.quantize_per_tensor(tl_core.ones(2), 0.5, 0, tq.quint8)
        >>> add(q, q, 0.5, 0).dequantize()
        tensor([2., 2.])
    """
    if _are_bytes(x, y) and x.shape != y.shape:
        x, y = tl_core.broadcast_tensors(x, y)
    if not _are_bytes(x, y):
        total = x.dequantize() + y.dequantize()
        return quantize_numbers(F.relu(total) if relu else total, PerTensor(scale, zero_point, x.dtype))
    (x_scale, x_zero), (y_scale, y_zero) = quantized_tensor.quantizer(x), quantized_tensor.quantizer(y)
    integers = tl_core._add_bytes(
        integers_of(x), x_scale, x_zero, integers_of(y), y_scale, y_zero, scale, zero_point, relu
    )
    return quantized_tensor.quantized(integers, x.dtype, scale, zero_point)


def add_number(x: Any, y: float) -> Any:
    """The sum of a quantized tensor and a number, in steps of the tensor's scale.

    The sum shifts the zero point, if that stays in range.

    Args:
        x: the tensor.
        y: the number.
    """
    scale, zero, kind = x.q_scale(), x.q_zero_point(), x.dtype
    shifted = zero - round(y / scale)
    numbers = x.dequantize() + round(y / scale) * scale
    low, high = bounds(kind)
    if low <= shifted <= high:
        return quantize_numbers(numbers, PerTensor(scale, shifted, kind))
    return _covering(x, numbers, shifted)


def mul(x: Any, y: Any, scale: float, zero_point: int, relu: bool = False) -> Any:
    """The product of two quantized tensors: that of the integers less their zero points is exact, and rounded once.

    Args:
        x: the first tensor.
        y: the second tensor.
        scale: the scale of the result.
        zero_point: the zero point of the result.
        relu: whether negative results become 0.
    """
    if _are_bytes(x, y) and x.shape == y.shape:
        return quantized_tensor.multiplied_bytes(x, y, scale, zero_point, relu)
    quantizer = PerTensor(scale, zero_point, x.dtype)
    if not _are_bytes(x, y):
        product = x.dequantize() * y.dequantize()
        return quantize_numbers(F.relu(product) if relu else product, quantizer)
    first, second = ((integers_of(t).to(tl_core.int32) - t.q_zero_point()) for t in (x, y))
    factors = [tl_core.tensor(s, dtype=tl_core.float32) for s in (x.q_scale(), y.q_scale(), scale)]
    steps = (first * second).to(tl_core.float32) * (factors[0] * factors[1] * factors[2].reciprocal())
    return made_of(quantizer.integers_of_steps(F.relu(steps) if relu else steps), quantizer)


def mul_number(x: Any, y: float) -> Any:
    """The product of a quantized tensor and a number, which changes scale and zero point only.

    Args:
        x: the tensor.
        y: the number.
    """
    scale, zero, kind = x.q_scale(), x.q_zero_point(), x.dtype
    if y == 0:
        return quantize_numbers(x.dequantize() * 0, PerTensor(1.0, 0, kind))
    zero = zero if y > 0 else sum(bounds(kind)) - zero
    return quantize_numbers(x.dequantize() * y, PerTensor(scale * abs(y), zero, kind))


def _are_bytes(x: Any, y: Any) -> bool:
    """Whether both are bytes of one type, each with one scale."""
    is_byte = x.dtype is y.dtype and x.dtype is not qint32
    return is_byte and all(len(quantized_tensor.quantizer(t)) == 2 for t in (x, y))


def _covering(x: Any, numbers: Any, shifted: int) -> Any:
    """A wider scale, where a zero point would leave the range: the integers reach from it to the far end."""
    kind, scale = x.dtype, x.q_scale()
    low, high = bounds(kind)
    if shifted < low:
        return quantize_numbers(numbers, PerTensor((high - shifted) / (high - low) * scale, low, kind))
    return quantize_numbers(numbers, PerTensor((shifted - low) / (high - low) * scale, high, kind))
