"""Views of quantized tensors with a scale for each channel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import Tensor
from tl_core.tensors import quantized_tensor

from .tensor import integers_of, made_of, quantizer_of
from .tensor_quantizer import PerChannel, PerTensor

__all__: list[str] = []


def view_channels(name: str, args: Any, kwargs: Any) -> Any:
    """A view of a tensor with a scale a channel: select, slice, squeeze or unsqueeze. NotImplemented for others.

    Args:
        name: the name of the operator.
        args: the arguments, with the tensor first.
        kwargs: the arguments by name.
    """
    rule = _RULES.get(name)
    return rule(args[0], quantizer_of(args[0]), *args[1:], **kwargs) if rule else NotImplemented


def _with_axis(integers: Tensor, quantizer: Any, axis: int) -> Tensor:
    return made_of(integers, PerChannel(quantizer.scales, quantizer.zero_points, axis, quantizer.dtype))


def _unsqueeze(x: Tensor, quantizer: Any, dim: int) -> Tensor:
    position = dim + x.dim() + 1 if dim < 0 else dim
    return _with_axis(
        integers_of(x).unsqueeze(position), quantizer, quantizer.axis + (position <= quantizer.axis)
    )


def _squeeze(x: Tensor, quantizer: Any, dim: Any = None) -> Tensor:
    candidates = range(x.dim()) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    single = {each % x.dim() for each in candidates if x.shape[each] == 1}
    if quantizer.axis in single:
        raise RuntimeError(
            "Squeeze is only possible on non-axis dimension for Per-Channel Quantized Tensors."
        )
    below = sum(each < quantizer.axis for each in single)
    return _with_axis(integers_of(x).squeeze(tuple(single)), quantizer, quantizer.axis - below)


def _select(x: Tensor, quantizer: Any, dim: int, index: int) -> Any:
    """A number on the axis of the channels leaves the scale of one."""
    position, view = dim % x.dim(), integers_of(x).select(dim, index)
    if position != quantizer.axis:
        return _with_axis(view, quantizer, quantizer.axis - (position < quantizer.axis))
    scale, zero_point = quantizer.scales[index], quantizer.zero_points[index]
    if zero_point.is_floating_point():
        return NotImplemented
    return made_of(view, PerTensor(float(scale), int(zero_point), quantizer.dtype))


def _slice(
    x: Tensor, quantizer: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Tensor:
    view = quantized_tensor.call_operator(("slice.Tensor",), integers_of(x), dim, start, end, step)
    if dim % x.dim() != quantizer.axis:
        return _with_axis(view, quantizer, quantizer.axis)
    scales, zero_points = quantizer.scales[start:end:step], quantizer.zero_points[start:end:step]
    return made_of(view, PerChannel(scales, zero_points, quantizer.axis, quantizer.dtype))


_RULES: dict[str, Callable[..., Any]] = {
    "select": _select,
    "slice": _slice,
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
}
