"""Numbers rounded as by a quantized type, with the gradient of the identity inside the range.

Bengio et al., Estimating or Propagating Gradients Through Stochastic Neurons, 2013 (the straight-through estimator).
"""

from __future__ import annotations

from typing import Any

import tl_core
from tl_autograd import Function
from tl_core import Tensor
from tl_core.overrides import overridable

__all__ = ["fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine"]


# Sums of integers up to here are exact in float32. Numbers beyond are clamped, so their inexact sums don't matter.
_EXACT = 2**22
# PyTorch's numbers of steps are int64 where each channel has a scale: larger numbers become the least.
_LARGEST = 2.0**63


class _Rounded(Function):
    """`(clamp(round(x * (1 / scale)) + zero_point) - zero_point) * scale`, with nan as a number below the range."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int) -> Tensor:
        wide = x if x.dtype is tl_core.float64 else x.to(tl_core.float32)
        steps = wide * scale.reciprocal()
        floating = zero_point.is_floating_point()  # then added before the rounding, and taken off in float64
        if floating:
            steps = (steps + zero_point).to(tl_core.float32).round_()
        elif max(abs(low), abs(high)) > _EXACT or bool((zero_point.abs() > _EXACT).any()):
            steps = steps.round_().to(tl_core.float64) + zero_point
        else:
            steps.round_().add_(zero_point)
        ctx.save_for_backward((steps >= low) & (steps <= high))
        channels = scale.dim() > 0
        if channels:
            steps = tl_core.where(steps.abs() < _LARGEST, steps, low)
        integers = steps.fmax(tl_core.tensor(low, dtype=steps.dtype)).clamp_max_(
            high
        )  # nan becomes the least
        double = floating or (channels and x.dtype is tl_core.float64)
        distance = (
            integers.to(tl_core.float64) - zero_point
            if double
            else (integers - zero_point).to(tl_core.float32)
        )
        return (distance * scale).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        (inside,) = ctx.saved_tensors
        return grad * inside, None, None, None, None


def _check_floating(name: str, input: Tensor) -> None:
    if not input.is_floating_point():
        raise NotImplementedError(f"{name}: input must be of floating numbers, but got {input.dtype}")


def _check_type(name: str, argument: str, tensor: Tensor, types: tuple[Any, ...]) -> None:
    if tensor.dtype not in types:
        raise RuntimeError(
            f"{name}: {argument} must be of {' or '.join(map(str, types))}, but got {tensor.dtype}"
        )


def _check_range(name: str, low: int, high: int) -> None:
    if low > high:
        raise RuntimeError(
            f"{name}: `quant_min` should be less than or equal to `quant_max`, got {low} and {high}"
        )


@overridable
def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """`input` rounded to multiples of a scale, within the range of integers.

    Args:
        input (Tensor): Of floating numbers. The result has its type.
        scale (float or Tensor of one float32): Above 0.
        zero_point (int or Tensor of one int32): From `quant_min` to `quant_max`. A tensor's number isn't checked.
        quant_min, quant_max (int): The range of the integers.

    Raises:
        RuntimeError: If the range is empty or the zero point isn't in it.
        NotImplementedError: If the input isn't of floating numbers.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> x = tl_core.tensor([0.12, 0.31, 9.0], requires_grad=True)
        >>> y = tq.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 15)
        >>> y.sum().backward()
        >>> y.detach(), x.grad
        (tensor([0.1000, 0.3000, 1.5000]), tensor([1., 1., 0.]))
    """
    _check_range("fake_quantize_per_tensor_affine", quant_min, quant_max)
    _check_floating("fake_quantize_per_tensor_affine", input)
    zero = int(zero_point)
    if not (isinstance(zero_point, Tensor) or quant_min <= zero <= quant_max):
        raise RuntimeError(f"`zero_point` must be between `quant_min` and `quant_max`, but got {zero}.")
    factor = tl_core.tensor(float(scale), dtype=tl_core.float32)
    return _Rounded.apply(input, factor, tl_core.tensor(zero), quant_min, quant_max)


@overridable
def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """As `fake_quantize_per_tensor_affine`, with a scale and a zero point for each slice along an axis.

    Args:
        input (Tensor): Of floating numbers.
        scale, zero_point (Tensor, shape (input.shape[axis],)): Scales are of float32 or bfloat16, zero points of int32,
            float32 or float16.
        axis (int): Which axis of the input, from 0.
        quant_min, quant_max (int): The range of the integers.

    Raises:
        RuntimeError: If there aren't as many scales as slices, a zero point isn't in the range, or scales or zero
            points are of another type.
        NotImplementedError: If the input isn't of floating numbers.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> x = tl_core.tensor([[0.12, 0.31], [0.12, 0.31]])
        >>> scales, zeros = tl_core.tensor([0.1, 0.5]), tl_core.zeros(2, dtype=tl_core.int32)
        >>> tq.fake_quantize_per_channel_affine(x, scales, zeros, 0, 0, 255)
        tensor([[0.1000, 0.3000],
                [0.0000, 0.5000]])
    """
    name = "fake_quantize_per_channel_affine"
    _check_range(name, quant_min, quant_max)
    _check_floating(name, input)
    _check_type(name, "scale", scale, (tl_core.float32, tl_core.bfloat16))
    _check_type(name, "zero_point", zero_point, (tl_core.int32, tl_core.float32, tl_core.float16))
    if not 0 <= axis < input.dim():
        raise RuntimeError(
            f"{name}: axis must be from 0 to {input.dim() - 1} for an input with {input.dim()} dimensions, "
            f"but got {axis}"
        )
    size = (input.shape[axis],)
    for argument, tensor in (("scale", scale), ("zero_point", zero_point)):
        if tuple(tensor.shape) != size:
            raise RuntimeError(f"{name}: {argument} must have shape {size}, but got {tuple(tensor.shape)}")
    if not zero_point.is_floating_point() and bool(
        ((zero_point < quant_min) | (zero_point > quant_max)).any()
    ):
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    shape = [1] * input.dim()
    shape[axis] = -1
    return _Rounded.apply(input, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max)
