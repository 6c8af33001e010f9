"""Views of quantized tensors with a scale for each channel."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from .tensor import QuantizedTensor, integers_of, made_of
from .tensor_quantizer import PerChannel, PerTensor

__all__: list[str] = []

_OTHERS = (type(None), type(Ellipsis))


def view_channels(name: str, args: Any, kwargs: Any) -> Any:
    """A view of a tensor with a scale a channel: an index, squeeze or unsqueeze. NotImplemented for others.

    Args:
        name: the name of the operator.
        args: the arguments, with the tensor first.
        kwargs: the arguments by name.
    """
    x = args[0]
    if name == "__getitem__":
        return _index(x, args[1])
    if name not in ("squeeze", "unsqueeze"):
        return NotImplemented
    dims = kwargs.get("dim", args[1] if len(args) > 1 else None)
    axis = x.quantizer.axis
    integers = integers_of(x)
    if name == "unsqueeze":
        dim = dims + x.dim() + 1 if dims < 0 else dims
        return _with_axis(integers.unsqueeze(dim), x.quantizer, axis + (dim <= axis))
    candidates = range(x.dim()) if dims is None else dims if isinstance(dims, (tuple, list)) else (dims,)
    single = {dim % x.dim() for dim in candidates if x.shape[dim] == 1}
    if axis in single:
        raise RuntimeError(
            "Squeeze is only possible on non-axis dimension for Per-Channel Quantized Tensors."
        )
    return _with_axis(integers.squeeze(tuple(single)), x.quantizer, axis - sum(dim < axis for dim in single))


def _with_axis(integers: Tensor, quantizer: Any, axis: int) -> QuantizedTensor:
    return made_of(integers, PerChannel(quantizer.scales, quantizer.zero_points, axis, quantizer.dtype))


def _index(x: Any, index: Any) -> Any:
    """Elements by numbers and slices. A number on the axis of the channels leaves the scale of one."""
    parts = list(index if isinstance(index, tuple) else (index,))
    if any(isinstance(part, bool) or not isinstance(part, (int, slice, *_OTHERS)) for part in parts):
        return NotImplemented
    count = sum(isinstance(part, (int, slice)) for part in parts)
    rest = [slice(None)] * (x.dim() - count)
    at = parts.index(Ellipsis) if Ellipsis in parts else len(parts)
    parts[at : at + 1] = rest
    quantizer, dim, axis = x.quantizer, 0, 0
    for part in parts:  # the part of the channels, and the axis of the view
        if part is not None and dim == quantizer.axis:
            break
        dim += part is not None
        axis += not isinstance(part, int)
    scales, zeros = quantizer.scales[part], quantizer.zero_points[part]
    view = integers_of(x)[tuple(parts)]
    if not isinstance(part, int):
        return made_of(view, PerChannel(scales, zeros, axis, quantizer.dtype))
    if zeros.is_floating_point():
        return NotImplemented
    return made_of(view, PerTensor(float(scales), int(zeros), quantizer.dtype))
