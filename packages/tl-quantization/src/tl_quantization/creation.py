"""Quantized tensors of integers that are there, and of uninitialized memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Tensor

from .dtypes import is_quantized_dtype, quantized_dtype, quint8, storage_dtype
from .qparams import choose_qparams
from .tensor import is_quantized_tensor, made_of, quantizer_of
from .tensor_quantizer import PerChannel, PerTensor, Quantizer

__all__ = ["empty_quantized"]


def _check_dtype(name: str, dtype: Any) -> tl_core.dtype:
    if not is_quantized_dtype(dtype):
        raise RuntimeError(f"{name}: dtype must be a quantized type such as torch.quint8, but got {dtype}")
    kind: tl_core.dtype = dtype
    return kind


def _empty(size: Sequence[int], quantizer: Quantizer, memory_format: Any, device: Any) -> Any:
    integers = tl_core.empty(
        size,
        dtype=storage_dtype(quantizer.dtype),
        device=device,
        memory_format=memory_format or tl_core.contiguous_format,
    )
    return made_of(integers, quantizer)


def _channel_quantizer(
    name: str, shape: Sequence[int], scales: Tensor, zero_points: Tensor, axis: int, kind: tl_core.dtype
) -> PerChannel:
    """The quantizer of scales and zero points of channels, which are checked against a shape."""
    if not 0 <= axis < len(shape):
        raise RuntimeError(f"{name}: axis must be from 0 to {len(shape) - 1}, but got {axis}")
    for noun, values in (("scales", scales), ("zero_points", zero_points)):
        if tuple(values.shape) != (shape[axis],):
            raise RuntimeError(
                f"{name}: {noun} must have shape {(shape[axis],)}, but got {tuple(values.shape)}"
            )
    floating = zero_points.is_floating_point()
    types = (tl_core.float32, tl_core.float32) if floating else (tl_core.float64, tl_core.int64)
    return PerChannel(scales.to(types[0]), zero_points.to(types[1]), axis, kind)


def _empty_affine_quantized(
    size: Sequence[int],
    *,
    dtype: Any = quint8,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = None,
    scale: float = 1.0,
    zero_point: int = 0,
    memory_format: Any = None,
) -> Tensor:
    """A quantized tensor of uninitialized memory, with one scale.

    Args:
        size: the sizes.
        dtype: the quantized type.
        layout: None or strided.
        device: the device.
        pin_memory: has no effect on the CPU.
        scale: the scale.
        zero_point: the zero point.
        memory_format: the order in memory.

    Example:
        >>> _empty_affine_quantized([2, 3], scale=0.5, zero_point=1).q_scale()
        0.5
    """
    kind = _check_dtype("_empty_affine_quantized", dtype)
    return _empty(size, PerTensor(float(scale), int(zero_point), kind), memory_format, device)


def _empty_per_channel_affine_quantized(
    size: Sequence[int],
    *,
    scales: Tensor,
    zero_points: Tensor,
    axis: int,
    dtype: Any = quint8,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = None,
    memory_format: Any = None,
) -> Tensor:
    """A quantized tensor of uninitialized memory, with a scale for each slice along an axis.

    Args:
        size: the sizes.
        scales: a scale for each slice.
        zero_points: a zero point for each slice.
        axis: the axis of the slices.
        dtype: the quantized type.
        layout: None or strided.
        device: the device.
        pin_memory: has no effect on the CPU.
        memory_format: the order in memory.

    Example:
        >>> ones = tl_core.ones(2)
        >>> _empty_per_channel_affine_quantized([2, 3], scales=ones, zero_points=ones, axis=0).q_per_channel_axis()
        0
    """
    name = "_empty_per_channel_affine_quantized"
    kind = _check_dtype(name, dtype)
    return _empty(
        size, _channel_quantizer(name, size, scales, zero_points, axis, kind), memory_format, device
    )


def _make_per_tensor_quantized_tensor(input: Tensor, scale: float, zero_point: int) -> Tensor:
    """A quantized tensor of a copy of integers, with one scale.

    Args:
        input: of uint8, int8 or int32.
        scale: the scale.
        zero_point: the zero point.

    Example:
        >>> _make_per_tensor_quantized_tensor(tl_core.tensor([3], dtype=tl_core.uint8), 0.5, 1).dequantize()
        tensor([1.])
    """
    kind = _type_for("_make_per_tensor_quantized_tensor", input)
    return made_of(input.clone(), PerTensor(float(scale), int(zero_point), kind))


def _make_per_channel_quantized_tensor(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int) -> Tensor:
    """A quantized tensor of a copy of integers, with a scale for each slice along an axis.

    Args:
        input: of uint8, int8 or int32.
        scale: a scale for each slice.
        zero_point: a zero point for each slice.
        axis: the axis of the slices.

    Example:
        >>> ones = tl_core.ones(1)
        >>> _make_per_channel_quantized_tensor(tl_core.ones(1, 2, dtype=tl_core.int8), ones, ones, 0).dequantize()
        tensor([[0., 0.]])
    """
    name = "_make_per_channel_quantized_tensor"
    kind = _type_for(name, input)
    return made_of(input.clone(), _channel_quantizer(name, input.shape, scale, zero_point, axis, kind))


def _type_for(name: str, input: Tensor) -> tl_core.dtype:
    if input.dtype not in (tl_core.uint8, tl_core.int8, tl_core.int32):
        raise RuntimeError(f"{name}: input must be of uint8, int8 or int32, but got {input.dtype}")
    return quantized_dtype(input.dtype)


def empty_quantized(
    size: Sequence[int],
    qtensor: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = None,
    memory_format: Any = None,
) -> Tensor:
    """A quantized tensor of uninitialized memory, with the scales of another one.

    Args:
        size (sequence of int): The sizes.
        qtensor (Tensor): The tensor with the scales.
        dtype (dtype, optional): The type of `qtensor`.
        layout (layout, optional): None or strided.
        device (device, optional): By default the device of `qtensor`.
        pin_memory (bool, optional): Has no effect on the CPU.
        memory_format (memory_format, optional): The order in memory.

    Raises:
        RuntimeError: `qtensor` isn't quantized, or of another type than `dtype`.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> q = tq.quantize_per_tensor(tl_core.ones(2), 0.5, 0, tq.quint8)
        >>> empty_quantized([4], q).q_scale()
        0.5
    """
    if not is_quantized_tensor(qtensor):
        raise RuntimeError(f"empty_quantized: qtensor must be quantized, but got {qtensor.dtype}")
    if dtype is not None and dtype is not qtensor.dtype:
        raise RuntimeError(f"empty_quantized: dtype must be {qtensor.dtype}, but got {dtype}")
    quantizer = quantizer_of(qtensor)
    if isinstance(quantizer, PerChannel):
        quantizer = _channel_quantizer(
            "empty_quantized", size, quantizer.scales, quantizer.zero_points, quantizer.axis, quantizer.dtype
        )
    return _empty(size, quantizer, memory_format, device or qtensor.device)


def _choose_qparams_per_tensor(self: Tensor, reduce_range: bool = False) -> tuple[float, int]:
    """The scale and the zero point of `quint8` for the smallest and largest number.

    Args:
        self: floating numbers.
        reduce_range: whether one bit is left unused.

    Example:
        >>> _choose_qparams_per_tensor(tl_core.tensor([0.0, 255.0]))
        (1.0, 0)
    """
    low, high = (float(self.min()), float(self.max())) if self.numel() else (0.0, 0.0)
    return choose_qparams(low, high, quint8, reduce_range)


def _saturate_weight_to_fp16(weight: Tensor) -> Tensor:
    """Floating numbers between the smallest and the largest finite number of float16.

    Args:
        weight: floating numbers.

    Example:
        >>> _saturate_weight_to_fp16(tl_core.tensor([1e9, 1.0]))
        tensor([6.5504e+04, 1.0000e+00])
    """
    largest = tl_core.finfo(tl_core.float16).max
    return weight.clamp(-largest, largest)
