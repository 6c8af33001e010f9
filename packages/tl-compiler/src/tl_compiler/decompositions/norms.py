"""Normalization and pooling, by the core operators that compute them."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_core.operators.packets

from ..tracer.whole_calls import recorded_whole
from .registry import decomposes

aten = tl_core.operators.packets.aten


@decomposes("layer_norm.default")
def layer_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    """Normalized over the last dimensions."""
    return aten.native_layer_norm.default(input, normalized_shape, weight, bias, eps)[0]


@decomposes("group_norm.default")
def group_norm(
    input: Any,
    num_groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    """Normalized within groups of channels."""
    inside: Any = 1
    for n in input.shape[2:]:
        inside = inside * n
    count, channels = input.shape[0], input.shape[1]
    return aten.native_group_norm.default(input, weight, bias, count, channels, inside, num_groups, eps)[0]


@decomposes("batch_norm.default")
def batch_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """By the statistics that are kept, or of the batch."""
    if not training:
        args = input, weight, bias, running_mean, running_var, momentum, eps
        return _record(aten._native_batch_norm_legit_no_training.default, *args)[0]
    if running_mean is None and running_var is None:
        return _record(aten._native_batch_norm_legit.no_stats, input, weight, bias, True, momentum, eps)[0]
    return NotImplemented  # it writes; where writes are taken out, it is another operator


def _record(op: Any, *args: Any) -> Any:
    return recorded_whole(op, args, op.overloadpacket.__name__.removeprefix("_"))


@decomposes("rms_norm.default")
def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """Divided by the root of the mean of squares over the last dimensions."""
    wide = input.to(tl_core.float32) if input.dtype in (tl_core.float16, tl_core.bfloat16) else input
    least = tl_core.finfo(wide.dtype).eps if eps is None else eps
    dims = list(range(input.ndim - len(normalized_shape), input.ndim))
    out = wide * aten.rsqrt.default(aten.mean.dim(wide * wide, dims, True) + least)
    out = out if weight is None else out * weight
    return out if out.dtype == input.dtype else aten._to_copy.default(out, dtype=input.dtype)


@decomposes("max_pool2d.default")
def max_pool2d(
    self: Any,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:
    """The largest element of each window."""
    return aten.max_pool2d_with_indices.default(self, kernel_size, stride, padding, dilation, ceil_mode)[0]


@decomposes("max_pool3d.default")
def max_pool3d(
    self: Any,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:
    """The same in three dimensions."""
    return aten.max_pool3d_with_indices.default(self, kernel_size, stride, padding, dilation, ceil_mode)[0]
