"""PyTorch's older linear layers with packed weights: float16 weights, and int8 weights with one scale.

A packed weight is the weight itself here, in another type: nothing is reordered. The products are of float32.
"""

from __future__ import annotations

import warnings

import tl_core
from tl_core import Tensor

__all__: list[str] = []


def _warn(name: str) -> None:
    warnings.warn(
        f"{name} is deprecated and will be removed in a future PyTorch release.", UserWarning, stacklevel=3
    )


def fbgemm_pack_gemm_matrix_fp16(input: Tensor) -> Tensor:
    """The weight in float16; numbers that it doesn't hold become its largest."""
    _warn("fbgemm_pack_gemm_matrix_fp16")
    largest = tl_core.finfo(tl_core.float16).max
    return input.clamp(-largest, largest).half()


def fbgemm_linear_fp16_weight_fp32_activation(
    input: Tensor, packed_weight: Tensor, bias: Tensor | None, output: Tensor | None = None
) -> Tensor:
    """The products of rows with a weight that `fbgemm_pack_gemm_matrix_fp16` has packed, plus the bias."""
    _warn("fbgemm_linear_fp16_weight_fp32_activation")
    product = _linear(input, packed_weight.float(), bias)
    return product if output is None else output.resize_(product.shape).copy_(product)


def fbgemm_linear_fp16_weight(
    input: Tensor, packed_weight: Tensor, bias: Tensor, output: Tensor | None = None
) -> Tensor:
    """As `fbgemm_linear_fp16_weight_fp32_activation`."""
    _warn("fbgemm_linear_fp16_weight")
    product = _linear(input, packed_weight.float(), bias)
    return product if output is None else output.resize_(product.shape).copy_(product)


def fbgemm_linear_quantize_weight(input: Tensor) -> tuple[Tensor, Tensor, float, int]:
    """A weight as int8: the numbers, the sums of its rows for the zero point, its scale and its zero point."""
    _warn("fbgemm_linear_quantize_weight")
    scale, zero = _scale_and_zero(float(input.min()), float(input.max()), -128, 127)
    numbers = (input / scale).round().add(zero).clamp(-128, 127).to(tl_core.int8)
    offsets = numbers.sum(1, dtype=tl_core.int32) - zero * input.shape[1]
    return numbers, offsets.to(tl_core.int32), scale, zero


def fbgemm_pack_quantized_matrix(input: Tensor, K: int | None = None, N: int | None = None) -> Tensor:
    """The int8 weight; its sizes may be said."""
    _warn("fbgemm_pack_quantized_matrix")
    return input.clone() if K is None or N is None else input.reshape(N, K).clone()


def fbgemm_linear_int8_weight_fp32_activation(
    input: Tensor,
    weight: Tensor,
    packed: Tensor,
    col_offsets: Tensor,
    weight_scale: float,
    weight_zero_point: int,
    bias: Tensor,
) -> Tensor:
    """The products of rows, which are quantized to bytes for the call, with an int8 weight, plus the bias."""
    _warn("fbgemm_linear_int8_weight_fp32_activation")
    scale, zero = _scale_and_zero(float(input.min()), float(input.max()), 0, 255)
    rows = ((input / scale).round().add(zero).clamp(0, 255) - zero) * scale
    return _linear(rows, (packed.float() - weight_zero_point) * weight_scale, bias)


def fbgemm_linear_int8_weight(
    input: Tensor,
    weight: Tensor,
    packed: Tensor,
    col_offsets: Tensor,
    weight_scale: float,
    weight_zero_point: int,
    bias: Tensor,
) -> Tensor:
    """As `fbgemm_linear_int8_weight_fp32_activation`."""
    return fbgemm_linear_int8_weight_fp32_activation(
        input, weight, packed, col_offsets, weight_scale, weight_zero_point, bias
    )


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if input.shape[-1] != weight.shape[1]:
        raise RuntimeError(f"rows of {input.shape[-1]} numbers do not fit a weight of {tuple(weight.shape)}")
    product = input @ weight.t()
    return product if bias is None else product + bias


def _scale_and_zero(low: float, high: float, least: int, greatest: int) -> tuple[float, int]:
    """The step between two numbers and the number that stands for zero, which the range always holds."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / (greatest - least) or 0.1
    return scale, max(least, min(greatest, round(least - low / scale)))
