"""The operators of tl_core for quantized tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.pytree import tree_map
from tl_core.tensors import quantized_tensor

from .bilinear_interpolation import interpolate_integers
from .channel_views import view_channels
from .dtypes import bits_of, is_quantized_dtype, qint32, quint8, storage_dtype
from .tensor import implements, integers_of, is_quantized_tensor, made_of, quantizer_of
from .tensor_quantizer import PerChannel, PerTensor, Quantizer

__all__: list[str] = []

# Elements keep their order as integers, so these choose among the integers themselves. Views of tensors with one scale
# need no rule.
_CHOOSERS = [
    *("amax", "amin", "max", "min", "sort", "topk"),
    *("channel_shuffle", "pixel_shuffle", "pixel_unshuffle"),
    *("flip", "index", "index_select", "repeat", "repeat_interleave", "roll"),
    *("max_pool1d", "max_pool2d", "max_pool3d"),
    *("reflection_pad1d", "reflection_pad2d", "reflection_pad3d"),
    *("select", "slice", "squeeze", "unsqueeze"),
]
# Computed with floating numbers, with the scale and the zero point of the input.
_REQUANTIZED = ["pad", "upsample_bicubic2d", "upsample_linear1d", "upsample_trilinear3d"]


def _first_quantizer(args: Any) -> Quantizer:
    """The quantizer of the first quantized tensor among the arguments."""
    flat = (a for x in args for a in (x if isinstance(x, (list, tuple)) else [x]))
    return next(quantizer_of(a) for a in flat if is_quantized_tensor(a))


def on_integers(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The operator, called with the integers."""
    plain = [tree_map(_integers, x) for x in (args, kwargs)]
    return func(*plain[0], **plain[1])


def on_numbers(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The operator, called with the numbers."""
    plain = [tree_map(_numbers, x) for x in (args, kwargs)]
    return func(*plain[0], **plain[1])


def _integers(x: Any) -> Any:
    return integers_of(x) if is_quantized_tensor(x) else x


def _numbers(x: Any) -> Any:
    return x.dequantize() if is_quantized_tensor(x) else x


def quantize_numbers(x: Any, quantizer: PerTensor) -> Any:
    """Numbers as a quantized tensor."""
    return made_of(quantizer.requantized(x), quantizer)


def map_numbers(
    function: Callable[[Tensor], Tensor], x: Any, quantizer: PerTensor, *, is_fused: bool = True
) -> Any:
    """A function of each number, as a quantized tensor. Of bytes, it is computed once for each of the 256 bytes.

    Args:
        function: a function of each element of a tensor alone.
        x: the quantized tensor.
        quantizer: the scale and the zero point of the result.
        is_fused: whether the numbers are those of `fused_numbers`, or else those of `dequantize`, in which the zero
            point is exactly 0.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5]), 0.5, 10, tq.quint8)
        >>> map_numbers(tl_core.abs, x, PerTensor(0.5, 0, tq.quint8)).int_repr()
        tensor([2, 1], dtype=torch.uint8)
    """
    source, integers = quantizer_of(x), integers_of(x)
    if not isinstance(source, PerTensor) or bits_of(x.dtype) != 8 or bits_of(quantizer.dtype) != 8:
        return quantize_numbers(function(x.dequantize()), quantizer)
    numbers = source.fused_numbers if is_fused else source.numbers
    table = quantizer.requantized(function(numbers(_every_byte(integers.dtype))))
    return made_of(quantized_tensor.look_up_bytes(integers, table), quantizer)


def _one_scale(func: Callable[..., Any], args: Any) -> PerTensor:
    quantizer = _first_quantizer(args)
    if not isinstance(quantizer, PerTensor):
        raise NotImplementedError(
            f"{func.__name__} doesn't compute with tensors that have a scale a channel; call dequantize() before"
        )
    return quantizer


@implements("_to_copy")
def move(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Moves the elements to another device, or copies them."""
    (x,) = args
    dtype = kwargs.pop("dtype", None)
    if dtype is not None and not is_quantized_dtype(dtype):
        raise RuntimeError(
            f"a quantized tensor can't be converted to {dtype}, which isn't a quantized type; call dequantize() before"
        )
    if dtype is not None and dtype is not x.dtype:
        raise NotImplementedError("a quantized tensor can't be converted; call dequantize() before")
    return made_of(on_integers(func, args, kwargs), quantizer_of(x))


@implements(*_CHOOSERS)
def choosers(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Some of the elements, perhaps in another order. Positions are plain tensors."""
    if is_quantized_tensor(args[0]) and isinstance(quantizer_of(args[0]), PerChannel):
        view = view_channels(func.__name__, args, kwargs)
        if view is not NotImplemented:
            return view
    quantizer = _one_scale(func, args)
    result = on_integers(func, args, kwargs)
    return tree_map(lambda x: _with(quantizer, x), result)


def _with(quantizer: Quantizer, x: Any) -> Any:
    mine = isinstance(x, Tensor) and x.dtype is storage_dtype(quantizer.dtype)
    return made_of(x, quantizer) if mine else x


@implements(*_REQUANTIZED)
def requantize(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The result with the input's scale and zero point."""
    quantizer = _one_scale(func, args)
    return quantize_numbers(on_numbers(func, args, kwargs), quantizer)


def _every_byte(dtype: tl_core.dtype) -> Tensor:
    """The 256 bytes of a type of integers, in the order of bytes without a sign."""
    return tl_core.arange(256, dtype=tl_core.uint8).view(dtype)


@implements("gelu", "leaky_relu", "threshold")
def map_elements(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A function of each number, with the input's scale and zero point."""
    x, *rest = args
    return map_numbers(lambda numbers: func(numbers, *rest, **kwargs), x, _one_scale(func, args))


@implements("clamp", "hardtanh")
def clamp_integers(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Integers between those of the bounds. Bounds that are tensors clamp the numbers."""
    quantizer = _one_scale(func, args)
    x, *limits = args
    if any(isinstance(limit, Tensor) for limit in limits):
        return quantize_numbers(on_numbers(func, args, kwargs), quantizer)
    bounds_of_integers = [_integer_of(limit, quantizer) for limit in limits]
    integers = integers_of(x)
    if bits_of(x.dtype) != 8:
        return made_of(integers.clamp(*bounds_of_integers), quantizer)
    table = _every_byte(integers.dtype).clamp(*bounds_of_integers)
    return made_of(quantized_tensor.look_up_bytes(integers, table), quantizer)


def _integer_of(limit: Any, quantizer: PerTensor) -> int | None:
    return None if limit is None else int(quantizer.integers(tl_core.tensor(float(limit))))


@implements("avg_pool1d", "avg_pool2d", "avg_pool3d")
def average_windows(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Means of integers, rounded: the scale has no effect.

    The zero point is added before the rounding, or behind it where PyTorch computes a vector of channels at once.
    """
    x = args[0]
    by_channels = func.__name__ == "avg_pool3d" or _is_image_of_channels(x)
    rounding = PerTensor.requantized if by_channels and x.size(-x.dim() + 1) >= 8 else PerTensor.integers
    return _average(func, args, kwargs, rounding)


@implements("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "grid_sampler")
def average_integers(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Means of integers, rounded: the scale has no effect."""
    return _average(func, args, kwargs, PerTensor.integers)


def _average(func: Callable[..., Any], args: Any, kwargs: Any, rounding: Callable[..., Tensor]) -> Any:
    quantizer = _one_scale(func, args)
    steps = replace(quantizer, scale=1.0)
    x, *rest = args
    return made_of(rounding(steps, func(steps.numbers(integers_of(x)), *rest, **kwargs)), quantizer)


@implements("mean", "std")
def reduce_numbers(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A reduction of floating numbers, rounded as `quantize_per_tensor` does. Means of whole rows are exact."""
    quantizer = _one_scale(func, args)
    if func.__name__ == "mean" and kwargs.get("dtype") is None and bits_of(quantizer.dtype) == 8:
        means = _row_means(*args, **{name: value for name, value in kwargs.items() if name != "dtype"})
        if means is not None:
            return made_of(means, quantizer)
    return made_of(quantizer.integers(on_numbers(func, args, kwargs)), quantizer)


def _row_means(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor | None:
    """The rounded means of integers over the last dimensions of a contiguous tensor; None for other dimensions."""
    dims = [] if dim is None else [dim] if isinstance(dim, int) else list(dim)
    last = list(range(x.dim() - len(dims), x.dim()))
    if not dims or not x.is_contiguous() or sorted(d % x.dim() if x.dim() else d for d in dims) != last:
        return None
    integers = integers_of(x)
    return integers.double().mean(dims, keepdim).round_().to(integers.dtype) if integers.numel() else None


@implements(*(f"{name}{n}d" for name in ("upsample_nearest", "_upsample_nearest_exact") for n in (1, 2, 3)))
def choose_nearest(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The nearest elements. The kernels, which take no type with a sign, copy them."""
    quantizer = _one_scale(func, args)
    x, *rest = args
    integers = integers_of(x)
    if quantizer.dtype is qint32:
        return made_of(func(integers.double(), *rest, **kwargs).to(integers.dtype), quantizer)
    return made_of(func(integers.view(tl_core.uint8), *rest, **kwargs).view(integers.dtype), quantizer)


@implements("upsample_bilinear2d")
def interpolate(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Means of integers, rounded: the scale has no effect."""
    quantizer = _one_scale(func, args)
    x, size, align_corners, *scales = args
    factors = scales[0] if scales and isinstance(scales[0], list) else [*scales, None, None][:2]
    means = interpolate_integers(integers_of(x), quantizer.zero_point, size, align_corners, factors)
    return made_of(replace(quantizer, scale=1.0).integers(means), quantizer)


@implements("cat", "concat", "stack")
def concatenate(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The tensors with the scale and the zero point of the first."""
    quantizer = _one_scale(func, args)
    if func.__name__ == "stack":
        return made_of(quantizer.integers(on_numbers(func, args, kwargs)), quantizer)
    tensors, dim = args
    return join(tensors, dim, quantizer)


def join(tensors: list[Any], dim: int, quantizer: PerTensor, relu: bool = False) -> Any:
    """Quantized tensors behind each other, rounded as `quantize_per_tensor` does.

    Images whose channels are the last in memory, joined along the channels, are rounded as results of operators are.

    Args:
        tensors: the tensors, each with a scale of its own.
        dim: the dimension.
        quantizer: the scale and the zero point of the result.
        relu: whether negative numbers become 0.
    """
    if all(_is_image_of_channels(x) for x in tensors) and dim % 4 == 1:
        parts = [map_numbers(tl_core.relu if relu else Tensor.clone, x, quantizer) for x in tensors]
        return made_of(tl_core.cat([integers_of(part) for part in parts], dim), quantizer)
    numbers = tl_core.cat([x.dequantize() for x in tensors], dim)
    integers = quantizer.integers(numbers)
    return made_of(integers.clamp_min(quantizer.zero_point) if relu else integers, quantizer)


def _is_image_of_channels(x: Any) -> bool:
    return x.dim() == 4 and x.is_contiguous(memory_format=tl_core.channels_last) and not x.is_contiguous()


@implements("sigmoid", "hardsigmoid")
def sigmoid(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Results are between 0 and 1: 256 steps from 0."""
    quantizer = _one_scale(func, args)
    result = _unit_range(quantizer, 256, -128)
    return map_numbers(func, args[0], result, is_fused=func.__name__ != "sigmoid")


@implements("tanh")
def tanh(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Results are between -1 and 1: 256 steps around 0."""
    quantizer = _one_scale(func, args)
    return map_numbers(func, args[0], _unit_range(quantizer, 128, 0))


def _unit_range(quantizer: PerTensor, steps: int, zero: int) -> PerTensor:
    """The scale and the zero point of results up to 1: so many steps, or 2**24 times as many of 32 bits."""
    if quantizer.dtype is qint32:
        return replace(quantizer, scale=1 / (steps << 24), zero_point=0)
    return replace(quantizer, scale=1 / steps, zero_point=zero + 128 * (quantizer.dtype is quint8))


@implements("equal")
def equal(func: Callable[..., Any], args: Any, kwargs: Any) -> bool:
    """Compares quantizers and integers."""
    one, two = args
    if not (is_quantized_tensor(one) and is_quantized_tensor(two)):
        return False
    same = one.qscheme() == two.qscheme() and one.dtype is two.dtype and one.shape == two.shape
    return (
        same and _same_scales(quantizer_of(one), quantizer_of(two)) and bool(on_integers(func, args, kwargs))
    )


def _same_scales(one: Any, two: Any) -> bool:
    if isinstance(one, PerTensor):
        return one == two
    pairs = ((one.scales, two.scales), (one.zero_points, two.zero_points))
    return one.axis == two.axis and all(tl_core.equal(a, b) for a, b in pairs)
