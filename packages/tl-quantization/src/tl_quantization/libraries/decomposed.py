"""`quantized_decomposed::` operators: integers as plain tensors, with scales as arguments."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor

from ..fake_quantization import fake_quantize_per_channel_affine
from .registry import define

__all__: list[str] = []

# The ranges of types of 8 and 16 bits; 32 bits have the range of their own.
_BOUNDS = {
    tl_core.uint8: (0, 255),
    tl_core.int8: (-128, 127),
    tl_core.uint16: (0, 2**16 - 1),
    tl_core.int16: (-(2**15), 2**15 - 1),
    tl_core.int32: (-(2**31), 2**31 - 1),
    tl_core.float8_e5m2: (-57344, 57344),
    tl_core.float8_e4m3fn: (-448, 448),
}


def _check_bounds(low: Any, high: Any, dtype: Any) -> None:
    if dtype not in _BOUNDS:
        raise ValueError(f"Unsupported dtype: {dtype}")
    least, most = _BOUNDS[dtype]
    if low < least:
        raise AssertionError(
            f"quant_min out of bounds for dtype, quant_min_lower_bound: {least} quant_min: {low}"
        )
    if high > most:
        raise AssertionError(
            f"quant_max out of bounds for dtype, quant_max_upper_bound: {most} quant_max: {high}"
        )


def _floats(x: Tensor) -> Tensor:
    """Numbers of float32, of halves too; raises AssertionError for others."""
    if x.dtype in (tl_core.float16, tl_core.bfloat16):
        return x.to(tl_core.float32)
    if x.dtype is not tl_core.float32:
        raise AssertionError(f"Expecting input to have dtype torch.float32, but got dtype: {x.dtype}")
    return x


def _check_integers(x: Tensor, dtype: Any) -> None:
    if x.dtype is not dtype:
        raise AssertionError(f"Expecting input to have dtype: {dtype}, but got {x.dtype}")


def _number(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


def _check_one(name: str, x: Any) -> None:
    if isinstance(x, Tensor) and x.numel() != 1:
        raise AssertionError(f"Expecting {name} tensor to be one element, but received : {x.numel()}")


def _quantize(
    input: Tensor, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any
) -> Tensor:
    x = _floats(input)
    _check_one("scale", scale)
    _check_one("zero_point", zero_point)
    low, high = _number(quant_min), _number(quant_max)
    _check_bounds(low, high, dtype)
    steps = x * (1.0 / scale)
    return (steps.round() + zero_point).clamp(low, high).to(dtype)


def _dequantize(
    input: Tensor,
    scale: Any,
    zero_point: Any,
    quant_min: Any,
    quant_max: Any,
    dtype: Any,
    *,
    out_dtype: Any = None,
) -> Tensor:
    _check_integers(input, dtype)
    _check_one("scale", scale)
    _check_one("zero_point", zero_point)
    if dtype not in _BOUNDS:
        raise ValueError(f"Unsupported dtype in dequantize_per_tensor: {dtype}")
    return (input.to(out_dtype or tl_core.float32) - zero_point) * scale


def _choose(symmetric: bool) -> Any:
    def call(input: Tensor, qmin: int, qmax: int, eps: float, dtype: Any) -> tuple[Tensor, Tensor]:
        if input.dtype not in (tl_core.float32, tl_core.float16, tl_core.bfloat16):
            raise AssertionError(
                f"Expecting input to have dtype torch.float32/16/b16, but got dtype: {input.dtype}"
            )
        if dtype not in _BOUNDS:
            raise AssertionError(f"Expecting target dtype to be one of {list(_BOUNDS)}, but got: {dtype}")
        if not qmin < qmax:
            raise AssertionError(
                f"Expecting quant_min to be smaller than quant_max but received min: {qmin} max: {qmax}"
            )
        low, high = tl_core.aminmax(input)
        return _qparams(low, high, qmin, qmax, eps, symmetric and dtype is not tl_core.uint8, symmetric)

    return call


def _qparams(
    low: Tensor, high: Tensor, qmin: int, qmax: int, eps: float, at_zero: bool, symmetric: bool
) -> tuple[Tensor, Tensor]:
    low, high = low.to(tl_core.float32).clamp_max(0.0), high.to(tl_core.float32).clamp_min(0.0)
    least = tl_core.tensor(eps)
    if symmetric:
        bound = tl_core.maximum(-low, high)
        scale = (bound / (float(qmax - qmin) / 2)).maximum(least)
        middle = 0 if at_zero else 128
        return scale.to(tl_core.float64), tl_core.full_like(scale, middle, dtype=tl_core.int64)
    scale = ((high - low) / float(qmax - qmin)).maximum(least)
    zero = (qmin - (low / scale).round().to(tl_core.int32)).clamp(qmin, qmax)
    return scale.to(tl_core.float64), zero.to(tl_core.int64)


def _along(values: Tensor, x: Tensor, axis: int) -> Tensor:
    shape = [1] * x.dim()
    shape[axis] = -1
    return values.reshape(shape)


def _check_axis(x: Tensor, axis: int) -> None:
    if not axis < x.dim():
        raise AssertionError(f"Expecting axis to be < {x.dim()}")


def _quantize_channels(
    input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, quant_min: int, quant_max: int, dtype: Any
) -> Tensor:
    x = _floats(input)
    _check_axis(x, axis)
    _check_bounds(quant_min, quant_max, dtype)
    steps = (x * _along(1.0 / scales, x, axis)).round()
    return (steps + _along(zero_points, x, axis)).clamp(quant_min, quant_max).to(dtype)


def _dequantize_channels(
    input: Tensor, scales: Tensor, zero_points: Tensor | None, axis: int, quant_min: int, quant_max: int, dtype: Any,
    *, out_dtype: Any = None,
) -> Tensor:  # fmt: skip
    _check_integers(input, dtype)
    _check_axis(input, axis)
    _check_bounds(quant_min, quant_max, dtype)
    kind = out_dtype or tl_core.float32
    x = input if zero_points is None else input.to(tl_core.int32) - _along(zero_points, input, axis)
    return (x.to(kind) * _along(scales, input, axis)).to(kind)


def _choose_token(input: Tensor, dtype: Any) -> tuple[Tensor, Tensor]:
    if dtype is not tl_core.int8:
        raise RuntimeError(f"unsupported dtype in choose_qparams_per_token: {dtype}")
    scales = input.abs().amax(-1, keepdim=True)
    scales = scales.to(tl_core.float32) if scales.dtype is tl_core.float16 else scales
    scales = scales.clamp(min=1e-5).div(127)
    return scales, tl_core.zeros_like(scales)


def _choose_token_asymmetric(input: Tensor, dtype: Any) -> tuple[Tensor, Tensor]:
    low = input.amin(-1, keepdim=True).clamp(max=0)
    high = input.amax(-1, keepdim=True).clamp(min=0)
    scale = ((high - low) / 255.0).clamp(min=tl_core.finfo(tl_core.float32).eps)
    first, last = low / scale, high / scale
    is_nearer = (first - 128) + (last + 127) > 0
    zero = tl_core.where(is_nearer, -128 - first, 127 - last).clamp(-128, 127).round()
    return scale.to(tl_core.float64), zero.to(tl_core.int64)


def _quantize_tokens(
    input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int, dtype: Any
) -> Tensor:
    _check_bounds(quant_min, quant_max, dtype)
    return input.mul(1.0 / scales).add(zero_points).round().clamp(quant_min, quant_max).to(dtype)


def _dequantize_tokens(
    input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int, dtype: Any,
    output_dtype: Any = tl_core.float32,
) -> Tensor:  # fmt: skip
    return ((input - zero_points) * scales).to(output_dtype)


def _check_groups(x: Tensor, group_size: int) -> None:
    if group_size <= 1:
        raise AssertionError(f"group_size must be greater than 1, but got {group_size}")
    if x.dim() != 2 or x.shape[-1] % group_size:
        raise AssertionError(
            f"input must be a matrix whose columns group_size divides, but got {tuple(x.shape)} and {group_size}"
        )


def _quantize_groups(
    input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int, dtype: Any,
    group_size: int = 128,
) -> Tensor:  # fmt: skip
    group_size = input.shape[-1] if group_size > input.shape[-1] and scales.shape[-1] == 1 else group_size
    _check_groups(input, group_size)
    rows = input.reshape(-1, group_size)
    steps = rows.div(scales.reshape(-1, 1)).add(zero_points.reshape(-1, 1)).round()
    return steps.clamp(quant_min, quant_max).to(dtype).reshape_as(input)


def _dequantize_groups(
    input: Tensor, scales: Tensor, zero_points: Tensor | None, quant_min: int, quant_max: int, dtype: Any,
    group_size: int = 128, output_dtype: Any = tl_core.float32,
) -> Tensor:  # fmt: skip
    group_size = input.shape[-1] if group_size > input.shape[-1] and scales.shape[-1] == 1 else group_size
    _check_groups(input, group_size)
    rows = input.reshape(-1, group_size)
    zeros = 0 if zero_points is None else zero_points.reshape(-1, 1)
    return (rows - zeros).mul(scales.reshape(-1, 1)).reshape_as(input).to(output_dtype)


def _fake_quantize_channels(
    input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    return fake_quantize_per_channel_affine(
        _floats(input), scales.to(tl_core.float32), zero_points.to(tl_core.int32), axis, quant_min, quant_max
    )


def _convert(input: Tensor, dtype: Any) -> Tensor:
    return input.to(dtype)


_FLOAT = "float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype"
_TENSOR = "Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype"
_TENSORS = "Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype"
_OUT = "*, ScalarType? out_dtype=None"
_RANGE = "int quant_min, int quant_max"
_EPS = f"{_RANGE}, float eps, ScalarType dtype"
_ROWS = f"Tensor scales, Tensor zero_points, {_RANGE}, ScalarType dtype"
_GROUPS = (
    f"Tensor scales, Tensor? zero_points, {_RANGE}, ScalarType dtype, int group_size, ScalarType output_dtype"
)
_CHANNELS = f"Tensor scales, Tensor zero_points, int axis, {_RANGE}"
_SOME = f"Tensor scales, Tensor? zero_points, int axis, {_RANGE}"
_PAIR = "-> (Tensor, Tensor)"

define(
    "quantized_decomposed",
    {
        f"quantize_per_tensor(Tensor input, {_FLOAT}) -> Tensor": _quantize,
        f"quantize_per_tensor.tensor(Tensor input, {_TENSOR}) -> Tensor": _quantize,
        f"quantize_per_tensor.tensor2(Tensor input, {_TENSORS}) -> Tensor": _quantize,
        f"dequantize_per_tensor(Tensor input, {_FLOAT}, {_OUT}) -> Tensor": _dequantize,
        f"dequantize_per_tensor.tensor(Tensor input, {_TENSOR}, {_OUT}) -> Tensor": _dequantize,
        f"dequantize_per_tensor.tensor2(Tensor input, {_TENSORS}, {_OUT}) -> Tensor": _dequantize,
        f"choose_qparams.tensor(Tensor input, {_EPS}) {_PAIR}": _choose(False),
        f"choose_qparams_symmetric.tensor(Tensor input, {_EPS}) {_PAIR}": _choose(True),
        f"quantize_per_channel(Tensor input, {_CHANNELS}, ScalarType dtype) -> Tensor": _quantize_channels,
        f"dequantize_per_channel(Tensor input, {_SOME}, ScalarType dtype, {_OUT}) -> Tensor": _dequantize_channels,
        f"choose_qparams_per_token(Tensor input, ScalarType dtype) {_PAIR}": _choose_token,
        f"choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) {_PAIR}": _choose_token_asymmetric,
        f"quantize_per_token(Tensor input, {_ROWS}) -> Tensor": _quantize_tokens,
        f"dequantize_per_token(Tensor input, {_ROWS}, ScalarType output_dtype) -> Tensor": _dequantize_tokens,
        f"quantize_per_channel_group(Tensor input, {_ROWS}, int group_size) -> Tensor": _quantize_groups,
        f"dequantize_per_channel_group(Tensor input, {_GROUPS}) -> Tensor": _dequantize_groups,
        f"fake_quant_per_channel(Tensor input, {_CHANNELS}) -> Tensor": _fake_quantize_channels,
        "convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor": _convert,
    },
)
define(
    "quantized_decomposed",
    {
        f"_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType dtype) {_PAIR}": _choose_token_asymmetric
    },
    "CompositeImplicitAutograd",
)
