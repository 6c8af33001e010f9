"""The operators of tl_core for quantized tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.overrides import DisableTorchFunctionSubclass
from tl_core.pytree import tree_map

from .channel_views import view_channels
from .dtypes import bounds, quint8, storage_dtype
from .tensor import QuantizedTensor, implements, integers_of, made_of
from .tensor_quantizer import PerChannel, PerTensor, Quantizer

__all__: list[str] = []

# Elements keep their order as integers, so these choose among the integers themselves.
_METADATA = [
    "__get__",
    "__len__",
    "size",
    "stride",
    "dim",
    "ndimension",
    "numel",
    "nelement",
    "is_contiguous",
    "storage_offset",
    "data_ptr",
    "element_size",
    "get_device",
    "untyped_storage",
    "is_floating_point",
    "is_complex",
    "is_signed",
    "is_same_size",
    "is_conj",
    "is_inference",
    "is_neg",
    "is_pinned",
    "is_shared",
    "__hash__",
    "requires_grad_",
]
_COPIES = ["clone", "contiguous", "detach"]
_CHOOSERS = [
    "__getitem__",
    "view",
    "reshape",
    "flatten",
    "ravel",
    "unflatten",
    "permute",
    "transpose",
    "t",
    "swapaxes",
    "movedim",
    "squeeze",
    "unsqueeze",
    "expand",
    "expand_as",
    "select",
    "narrow",
    "split",
    "chunk",
    "unbind",
    "index_select",
    "flip",
    "roll",
    "repeat",
    "repeat_interleave",
    "view_as",
    "reshape_as",
    "broadcast_to",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "amax",
    "amin",
    "sort",
    "topk",
    "max",
    "min",
    "channel_shuffle",
    "pixel_shuffle",
    "pixel_unshuffle",
    "upsample_nearest1d",
    "upsample_nearest2d",
    "upsample_nearest3d",
    "resize",
]
# Computed with floating numbers, with the scale and the zero point of the input.
_REQUANTIZED = [
    "mean",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "leaky_relu",
    "upsample_linear1d",
    "upsample_trilinear3d",
    "upsample_bicubic2d",
    "hardtanh",
    "clamp",
    "threshold",
    "pad",
]


def quantizer_of(args: Any) -> Quantizer:
    """The quantizer of the first quantized tensor among the arguments."""
    flat = (a for x in args for a in (x if isinstance(x, (list, tuple)) else [x]))
    return next(a.quantizer for a in flat if isinstance(a, QuantizedTensor))


def on_integers(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The operator, called with the integers."""
    plain = [tree_map(_integers, x) for x in (args, kwargs)]
    with DisableTorchFunctionSubclass():
        return func(*plain[0], **plain[1])


def on_numbers(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The operator, called with the numbers."""
    plain = [tree_map(_numbers, x) for x in (args, kwargs)]
    return func(*plain[0], **plain[1])


def _integers(x: Any) -> Any:
    return integers_of(x) if isinstance(x, QuantizedTensor) else x


def _numbers(x: Any) -> Any:
    return x.dequantize() if isinstance(x, QuantizedTensor) else x


def quantize_numbers(x: Any, quantizer: PerTensor) -> Any:
    """Numbers as a quantized tensor."""
    return made_of(quantizer.requantized(x), quantizer)


def _one_scale(func: Callable[..., Any], args: Any) -> PerTensor:
    quantizer = quantizer_of(args)
    if not isinstance(quantizer, PerTensor):
        raise NotImplementedError(
            f"{func.__name__} doesn't compute with tensors that have a scale a channel; call dequantize() before"
        )
    return quantizer


@implements(*_METADATA)
def metadata(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Attributes and sizes. An attribute that is a view, such as `T`, keeps the quantizer."""
    result = on_integers(func, args, kwargs)
    return made_of(result, _one_scale(func, args)) if type(result) is Tensor else result


@implements(*_COPIES)
def copies(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Copies the elements, with any quantizer. A tensor in the right order is returned itself by `contiguous`."""
    if func.__name__ == "contiguous" and integers_of(args[0]).is_contiguous(**_format_of(args, kwargs)):
        return args[0]
    return made_of(on_integers(func, args, kwargs), quantizer_of(args))


def _format_of(args: Any, kwargs: Any) -> dict[str, Any]:
    return {**dict(zip(("memory_format",), args[1:], strict=False)), **kwargs}


@implements("to")
def move(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Moves the elements to another device."""
    x = args[0]
    if any(isinstance(a, (Tensor, tl_core.dtype)) for a in (*args[1:], *kwargs.values())):
        raise NotImplementedError("a quantized tensor can't be converted; call dequantize() before")
    result = on_integers(func, args, kwargs)
    return x if result.data_ptr() == x.data_ptr() else made_of(result, quantizer_of(args))


@implements(*_CHOOSERS)
def choosers(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Some of the elements, perhaps in another order. Positions are plain tensors."""
    if isinstance(args[0], QuantizedTensor) and isinstance(args[0].quantizer, PerChannel):
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


@implements("upsample_bilinear2d")
def interpolate(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Means of integers, rounded: the scale has no effect."""
    quantizer = _one_scale(func, args)
    x, *rest = args
    low, high = bounds(quantizer.dtype)
    means = func(integers_of(x).to(tl_core.float32), *rest, **kwargs)
    return made_of(means.round_().clamp_(low, high).to(storage_dtype(quantizer.dtype)), quantizer)


@implements("cat", "concat", "stack")
def concatenate(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The tensors with the scale and the zero point of the first."""
    return requantize(func, args, kwargs)


@implements("relu", "relu_")
def relu(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The integers, or the zero point where that is larger."""
    (x,) = args
    quantizer = _one_scale(func, args)
    with DisableTorchFunctionSubclass():
        integers = integers_of(x).clamp_min(max(quantizer.zero_point, bounds(quantizer.dtype)[0]))
        return x.copy_(integers) if func.__name__.endswith("_") else made_of(integers, quantizer)


@implements("sigmoid", "hardsigmoid")
def sigmoid(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Results are between 0 and 1: 256 steps from 0."""
    quantizer = _one_scale(func, args)
    zero = 0 if quantizer.dtype is quint8 else -128
    return quantize_numbers(
        on_numbers(func, args, kwargs), replace(quantizer, scale=1 / 256, zero_point=zero)
    )


@implements("tanh")
def tanh(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Results are between -1 and 1: 256 steps around 0."""
    quantizer = _one_scale(func, args)
    zero = 128 if quantizer.dtype is quint8 else 0
    return quantize_numbers(
        on_numbers(func, args, kwargs), replace(quantizer, scale=2 / 256, zero_point=zero)
    )


@implements("copy_")
def copy(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Quantizes numbers by the target's quantizer. The target takes the quantizer of a quantized source."""
    target, source = args[:2]
    if not isinstance(target, QuantizedTensor):
        raise RuntimeError(
            "copy_: a quantized tensor can't be copied to a plain one, please use dequantize: call dequantize() before"
        )
    if isinstance(source, QuantizedTensor):
        if source.dtype is not target.dtype:
            raise RuntimeError(f"copy_: expected a source of {target.dtype}, but got {source.dtype}")
        target.quantizer, new = source.quantizer, integers_of(source)
    else:
        new = target.quantizer.integers(source)
    with DisableTorchFunctionSubclass():
        integers_of(target).copy_(new)
    return target


@implements("equal")
def equal(func: Callable[..., Any], args: Any, kwargs: Any) -> bool:
    """Compares quantizers and integers."""
    one, two = args
    if not (isinstance(one, QuantizedTensor) and isinstance(two, QuantizedTensor)):
        return False
    same = one.qscheme() == two.qscheme() and one.dtype is two.dtype and one.shape == two.shape
    return same and _same_scales(one.quantizer, two.quantizer) and bool(on_integers(func, args, kwargs))


def _same_scales(one: Any, two: Any) -> bool:
    if isinstance(one, PerTensor):
        return one == two
    pairs = ((one.scales, two.scales), (one.zero_points, two.zero_points))
    return one.axis == two.axis and all(tl_core.equal(a, b) for a, b in pairs)
