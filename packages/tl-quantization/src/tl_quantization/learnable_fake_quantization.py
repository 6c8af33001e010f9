"""Fake quantization whose scale and zero point are learned, too.

Esser et al., Learned Step Size Quantization, 2020, and Bhalgat et al., LSQ+, 2020: the gradient of a scale is
the gradient of the rounding error where a number is in the range, and of the bound where it is clamped.
"""

from __future__ import annotations

from typing import Any

import tl_core
from tl_autograd import Function
from tl_core import Tensor
from tl_core.overrides import overridable

from .fake_quantization import fake_quantize_per_channel_affine, fake_quantize_per_tensor_affine

__all__: list[str] = []


def _gradients(
    grad: Tensor, x: Tensor, scale: Tensor, zero: Tensor, low: int, high: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of the input, the scale and the zero point, the last two element by element."""
    steps = (zero + x * (1 / scale)).round()
    below, above = steps < low, steps > high
    inside = ~(below | above)
    rounded = (steps.clamp(low, high) - zero) * scale
    of_scale = tl_core.where(inside, (rounded - x) / scale, tl_core.where(below, low - zero, high - zero))
    return grad * inside, grad * of_scale, grad * tl_core.where(inside, 0.0, -scale)


def _check_pair(name: str, input: Tensor, scale: Tensor, zero_point: Tensor) -> None:
    for argument, tensor in (("input", input), ("scale", scale), ("zero_point", zero_point)):
        if not tensor.is_floating_point():
            raise RuntimeError(f"{name}: {argument} must be of floating numbers, but got {tensor.dtype}")


class _PerTensor(Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int, factor: float
    ) -> Tensor:
        zero = zero_point.item()
        ctx.save_for_backward(x, scale, zero_point)
        # PyTorch rounds halves to even on the way forward and up on the way back.
        ctx.zero, ctx.range, ctx.factor = int(min(max(zero + 0.5, low), high)), (low, high), factor
        return fake_quantize_per_tensor_affine(
            x, scale.item(), int(min(max(round(zero), low), high)), low, high
        )

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        x, scale, zero_point = ctx.saved_tensors
        zero = zero_point.new_tensor(ctx.zero)
        of_x, of_scale, of_zero = _gradients(grad, x, scale.reshape(()), zero, *ctx.range)
        sums = [ctx.factor * each.sum() for each in (of_scale, of_zero)]
        return of_x, sums[0].reshape(scale.shape), sums[1].reshape(zero_point.shape), None, None, None


class _PerChannel(Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, scale: Tensor, zero_point: Tensor, axis: int, limits: Any, factor: float
    ) -> Tensor:
        zero = zero_point.round().clamp(*limits)
        ctx.save_for_backward(x, scale, zero)
        ctx.axis, ctx.limits, ctx.factor = axis, limits, factor
        return fake_quantize_per_channel_affine(x, scale, zero.to(tl_core.int32), axis, *limits)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        x, scale, zero = ctx.saved_tensors
        shape = [1] * x.dim()
        shape[ctx.axis] = -1
        of_x, *of_both = _gradients(grad, x, scale.reshape(shape), zero.reshape(shape), *ctx.limits)
        other_dims = [d for d in range(x.dim()) if d != ctx.axis]
        sums = [ctx.factor * (each.sum(other_dims) if other_dims else each) for each in of_both]
        return of_x, *sums, None, None, None


@overridable
def _fake_quantize_learnable_per_tensor_affine(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> Tensor:
    """`fake_quantize_per_tensor_affine` with gradients of the scale and of the zero point.

    Args:
        input: floating numbers.
        scale: one number above 0.
        zero_point: one floating number, which is rounded.
        quant_min: the least integer.
        quant_max: the largest integer.
        grad_factor: the factor of the gradients of scale and zero point.

    Raises:
        RuntimeError: If one of the tensors isn't of floating numbers, or scale or zero point isn't one number.
    """
    name = "_fake_quantize_learnable_per_tensor_affine"
    _check_pair(name, input, scale, zero_point)
    for argument, tensor in (("scale", scale), ("zero_point", zero_point)):
        if tensor.numel() != 1:
            raise RuntimeError(f"{name}: {argument} must hold one number, but got {tensor.numel()}")
    return _PerTensor.apply(input, scale, zero_point, quant_min, quant_max, grad_factor)


@overridable
def _fake_quantize_learnable_per_channel_affine(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> Tensor:
    """`fake_quantize_per_channel_affine` with gradients of the scales and of the zero points.

    Args:
        input: floating numbers.
        scale: a number above 0 for each slice.
        zero_point: a floating number for each slice, rounded.
        axis: the axis of the slices.
        quant_min: the least integer.
        quant_max: the largest integer.
        grad_factor: the factor of the gradients of scales and zero points.

    Raises:
        RuntimeError: If one of the tensors isn't of floating numbers, or there aren't as many scales as slices.
    """
    _check_pair("_fake_quantize_learnable_per_channel_affine", input, scale, zero_point)
    return _PerChannel.apply(input, scale, zero_point, axis, (quant_min, quant_max), grad_factor)
