"""Making quantized tensors, and numbers of them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.base.keyword_names import also_named
from tl_core.overrides import overridable

from . import operators
from .dtypes import bits_of, bounds, is_quantized_dtype, qint32, quantized_dtype
from .qparams import choose_qparams
from .tensor import is_quantized_tensor, made_of, quantizer_of
from .tensor_quantizer import PerChannel, PerTensor

__all__ = [
    "dequantize",
    "int_repr",
    "q_per_channel_axis",
    "q_per_channel_scales",
    "q_per_channel_zero_points",
    "q_scale",
    "q_zero_point",
    "quantize_per_channel",
    "quantize_per_tensor",
    "quantize_per_tensor_dynamic",
    "quantized_batch_norm",
    "quantized_max_pool1d",
    "quantized_max_pool2d",
    "quantized_max_pool3d",
]


@overridable
@also_named(tensors="input", scales="scale", zero_points="zero_point")
def quantize_per_tensor(input: Any, scale: Any, zero_point: Any, dtype: Any) -> Any:
    """Numbers as integers: `clamp(round(input * (1 / scale) + zero_point))`, halves rounded to even.

    Infinities become the smallest and the largest integer, nan the largest of 8 bits and the smallest of 32.

    Args:
        input (Tensor or list of Tensor): Of floating numbers. A list takes lists, or tensors, of scales and zero
            points.
        scale (float or Tensor): Above 0.
        zero_point (int or Tensor): The integer of the number 0.
        dtype (quantized dtype): `quint8`, `qint8` or `qint32`.

    Raises:
        RuntimeError: If the input isn't float32, or the zero point isn't one of the type's integers.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> tq.quantize_per_tensor(tl_core.tensor([0.1, 0.26, 9.0]), 0.1, 0, tq.qint8).int_repr()
        tensor([ 1,  3, 90], dtype=torch.int8)
    """
    if isinstance(input, (list, tuple)):
        scales, zeros = list(scale), list(zero_point)
        return tuple(
            quantize_per_tensor(x, s, z, dtype) for x, s, z in zip(input, scales, zeros, strict=True)
        )
    kind = _checked_kind("quantize_per_tensor", dtype)
    _check_floating("quantize_per_tensor", input)
    quantizer = PerTensor(float(scale), _checked_zero("quantize_per_tensor", int(zero_point), kind), kind)
    return made_of(quantizer.integers(input), quantizer)


def _checked_kind(name: str, dtype: Any) -> tl_core.dtype:
    if not is_quantized_dtype(dtype):
        raise RuntimeError(
            f"{name}: dtype must be torch.quint8, torch.qint8, torch.qint32, torch.quint4x2 or torch.quint2x4, "
            f"but got {dtype}"
        )
    kind: tl_core.dtype = dtype
    return kind


def _check_floating(name: str, x: Tensor) -> None:
    if x.dtype is not tl_core.float32:
        raise RuntimeError(f"{name}: expected a tensor of torch.float32, but got {x.dtype}")


def _checked_zero(name: str, zero_point: int, kind: tl_core.dtype) -> int:
    low, high = bounds(kind)
    if not low <= zero_point <= high:
        raise RuntimeError(f"{name}: zero_point must be from {low} to {high}, but got {zero_point}")
    return zero_point


@overridable
def quantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: Any) -> Tensor:
    """Numbers as integers, with a scale and a zero point for each slice along an axis.

    Args:
        input (Tensor): Of floating numbers.
        scales, zero_points (Tensor, shape (input.shape[axis],)): Zero points are integers; floating ones give
            `per_channel_affine_float_qparams`.
        axis (int): The axis of the channels, from 0.
        dtype (quantized dtype): `quint8`, `qint8`, or `qint32`, which takes integer zero points only, or `quint4x2` or
            `quint2x4`, which take floating zero points only.

    Raises:
        RuntimeError: If there aren't as many scales and zero points as channels, or an argument is of a type that
            isn't taken.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> x = tl_core.tensor([[1.0, 2.0], [1.0, 2.0]])
        >>> tq.quantize_per_channel(x, tl_core.tensor([1.0, 0.5]), tl_core.zeros(2), 0, tq.qint8).int_repr()
        tensor([[1, 2],
                [2, 4]], dtype=torch.int8)
    """
    kind = _checked_kind("quantize_per_channel", dtype)
    _check_floating("quantize_per_channel", input)
    if not 0 <= axis < input.dim():
        raise RuntimeError(
            f"quantize_per_channel: axis must be from 0 to {input.dim() - 1} for an input with {input.dim()} "
            f"dimensions, but got {axis}"
        )
    for name, qparams in (("scales", scales), ("zero_points", zero_points)):
        if tuple(qparams.shape) != (input.shape[axis],):
            shape = (input.shape[axis],)
            raise RuntimeError(
                f"quantize_per_channel: {name} must have shape {shape}, but got {tuple(qparams.shape)}"
            )
    floating = zero_points.is_floating_point()
    if floating and kind is qint32:
        raise RuntimeError("quantize_per_channel: zero_points of torch.qint32 must be integers")
    if not floating and bits_of(kind) < 8:
        raise NotImplementedError(f"quantize_per_channel: zero_points of {kind} must be floating numbers")
    types = (tl_core.float32, tl_core.float32) if floating else (tl_core.float64, tl_core.int64)
    quantizer = PerChannel(scales.to(types[0]), zero_points.to(types[1]), axis, kind)
    return made_of(quantizer.integers(input), quantizer)


@overridable
def quantize_per_tensor_dynamic(input: Tensor, dtype: Any, reduce_range: bool) -> Any:
    """Numbers as integers, with the scale and the zero point that their smallest and largest ask for.

    Args:
        input: floating numbers.
        dtype: quint8 or qint8, or float16, which halves the numbers.
        reduce_range: whether a bit less of the type is used.

    Raises:
        RuntimeError: If a number isn't finite.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> tq.quantize_per_tensor_dynamic(tl_core.tensor([0.0, 255.0]), tq.quint8, False).q_scale()
        1.0
    """
    if dtype is tl_core.float16:
        return input.to(dtype)
    kind = quantized_dtype(dtype)
    low, high = (float(input.min()), float(input.max())) if input.numel() else (0.0, 0.0)
    return quantize_per_tensor(input, *choose_qparams(low, high, kind, reduce_range), kind)


@overridable
@also_named(input="tensor", tensors="tensor")
def dequantize(tensor: Any) -> Any:
    """The numbers of a quantized tensor as float32, or of each tensor of a list.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> tq.dequantize(tq.quantize_per_tensor(tl_core.tensor([1.1]), 0.5, 0, tq.qint8))
        tensor([1.])
    """
    if isinstance(tensor, (list, tuple)):
        return tuple(dequantize(t) for t in tensor)
    return tensor.dequantize() if is_quantized_tensor(tensor) else tensor.to(tl_core.float32)


@overridable
def quantized_max_pool1d(
    input: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> Any:
    """The largest element of each window of a quantized tensor, shape (batch, channels, width).

    Args:
        input: the quantized tensor.
        kernel_size: the extent of the window.
        stride: the distance of its positions, by default its extent.
        padding: the number of positions added on both sides, at most half of the window.
        dilation: the distance of the elements under the kernel.
        ceil_mode: whether windows may reach over the end.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> x = tq.quantize_per_tensor(tl_core.tensor([0.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> tq.quantized_max_pool1d(x.reshape(1, 1, 4), [2]).dequantize()
        tensor([[[0.5000, 2.0000]]])
    """
    return tl_core.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


@overridable
def quantized_max_pool2d(
    input: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> Any:
    """The largest element of each rectangle of a quantized tensor, shape (batch, channels, height, width).

    Args:
        input: the quantized tensor.
        kernel_size: the extent of the window.
        stride: the distance of its positions, by default its extent.
        padding: the number of positions added on both sides, at most half of the window.
        dilation: the distance of the elements under the kernel.
        ceil_mode: whether windows may reach over the end.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> x = tq.quantize_per_tensor(tl_core.tensor([0.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> tq.quantized_max_pool2d(x.reshape(1, 1, 2, 2), [2, 2]).dequantize()
        tensor([[[[2.]]]])
    """
    return tl_core.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


@overridable
def quantized_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    var: Tensor,
    eps: float,
    output_scale: float,
    output_zero_point: int,
) -> Tensor:
    """Batch normalization in evaluation, with `output_scale` and `output_zero_point`.

    Args:
        input (Tensor, shape (batch, channels, ...)): With one scale.
        weight, bias (Tensor, shape (channels,), optional): A factor and a shift of each channel.
        mean, var (Tensor, shape (channels,)): Of each channel.
        eps (float): Added to the variance.
        output_scale, output_zero_point (float, int): Of the result.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> x = tq.quantize_per_tensor(tl_core.tensor([0.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> one, none = tl_core.ones(1), tl_core.zeros(1)
        >>> tq.quantized_batch_norm(x.reshape(1, 1, 2, 2), one, none, none, one, 0.0, 0.5, 10).dequantize()
        tensor([[[[0.0000, 0.5000],
                  [1.0000, 2.0000]]]])
    """
    x = tl_core.batch_norm(input.dequantize(), weight, bias, mean, var, False, 0.0, eps, False)
    return operators.quantize_numbers(
        x, PerTensor(float(output_scale), int(output_zero_point), quantizer_of(input).dtype)
    )


@overridable
def quantized_max_pool3d(
    input: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> Any:
    """The largest element of each box of a quantized tensor, shape (batch, channels, depth, height, width).

    Args:
        input: the quantized tensor.
        kernel_size: the extent of the window.
        stride: the distance of its positions, by default its extent.
        padding: the number of positions added on both sides, at most half of the window.
        dilation: the distance of the elements under the kernel.
        ceil_mode: whether windows may reach over the end.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> x = tq.quantize_per_tensor(tl_core.tensor([0.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> tq.quantized_max_pool3d(x.reshape(1, 1, 1, 2, 2), [1, 2, 2]).dequantize()
        tensor([[[[[2.]]]]])
    """
    return tl_core.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)


# ---- attributes of a quantized tensor, as functions
@overridable
def int_repr(input: Tensor) -> Tensor:
    """Its integers: `Tensor.int_repr`.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> x = tq.quantize_per_tensor(tl_core.tensor([0.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> tq.int_repr(x)
        tensor([10, 11, 12, 14], dtype=torch.uint8)
    """
    return input.int_repr()


@overridable
def q_scale(input: Tensor) -> float:
    """Its scale: `Tensor.q_scale`.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> x = tq.quantize_per_tensor(tl_core.tensor([0.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> tq.q_scale(x)
        0.5
    """
    return input.q_scale()


@overridable
def q_zero_point(input: Tensor) -> int:
    """The integer of the number 0: `Tensor.q_zero_point`.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> x = tq.quantize_per_tensor(tl_core.tensor([0.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> tq.q_zero_point(x)
        10
    """
    return input.q_zero_point()


@overridable
def q_per_channel_scales(input: Tensor) -> Tensor:
    """The scales of its channels: `Tensor.q_per_channel_scales`.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> scales, zero_points = tl_core.tensor([0.5, 1.0]), tl_core.tensor([0, 3])
        >>> x = tq.quantize_per_channel(tl_core.ones(2, 2), scales, zero_points, 0, tq.quint8)
        >>> tq.q_per_channel_scales(x)
        tensor([0.5000, 1.0000], dtype=torch.float64)
    """
    return input.q_per_channel_scales()


@overridable
def q_per_channel_zero_points(input: Tensor) -> Tensor:
    """The integers of the number 0 in each channel: `Tensor.q_per_channel_zero_points`.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> scales, zero_points = tl_core.tensor([0.5, 1.0]), tl_core.tensor([0, 3])
        >>> x = tq.quantize_per_channel(tl_core.ones(2, 2), scales, zero_points, 0, tq.quint8)
        >>> tq.q_per_channel_zero_points(x)
        tensor([0, 3])
    """
    return input.q_per_channel_zero_points()


@overridable
def q_per_channel_axis(input: Tensor) -> int:
    """The axis of its channels: `Tensor.q_per_channel_axis`.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> scales, zero_points = tl_core.tensor([0.5, 1.0]), tl_core.tensor([0, 3])
        >>> x = tq.quantize_per_channel(tl_core.ones(2, 2), scales, zero_points, 0, tq.quint8)
        >>> tq.q_per_channel_axis(x)
        0
    """
    return input.q_per_channel_axis()
