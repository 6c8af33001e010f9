"""Convolutions, pools and the batch norm."""

from __future__ import annotations

from typing import Any

from .registry import translates

__all__: list[str] = []  # the functions enter the table of translations by the names of operators


@translates(*(f"aten::conv{n}d.padding" for n in (1, 2, 3)))
def convolve(
    op: Any,
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: str = "valid",
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """A convolution whose padding is a word. Padding of odd width has its larger part at the end."""
    kernel = list(weight.shape)[2:]
    dims = len(kernel)
    stride = list(stride) if isinstance(stride, list) else [stride] * dims
    dilation = list(dilation) if isinstance(dilation, list) else [dilation] * dims
    widths = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, kernel, strict=True)]
    batched = len(input.shape) == dims + 2
    value = input if batched else op.Unsqueeze(input, [0])
    inputs = [value, weight] if bias is None else [value, weight, bias]
    result = op.Conv(
        *inputs,
        strides=stride * (dims // len(stride)),
        dilations=dilation * (dims // len(dilation)),
        pads=[*(w // 2 for w in widths), *(w - w // 2 for w in widths)],
        group=groups,
        kernel_shape=kernel,
    )
    return result if batched else op.Squeeze(result, [0])


def _bounds(size: int, out: int) -> list[tuple[int, int]]:
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]


@translates(
    *(f"aten::{prefix}adaptive_avg_pool{n}d" for prefix in ("", "_") for n in (1, 2, 3)),
)
def adaptive_avg_pool(op: Any, self: Any, output_size: Any) -> Any:
    """Means over windows that divide the input."""
    sizes = _output_sizes(self, output_size)
    dims = len(sizes)
    if all(n == 1 for n in sizes):
        return op.ReduceMean(self, list(range(-dims, 0)), keepdims=1)
    inputs = _static(self, dims)
    if all(n % out == 0 for n, out in zip(inputs, sizes, strict=True)) and len(self.shape) == dims + 2:
        window = [n // out for n, out in zip(inputs, sizes, strict=True)]
        return op.AveragePool(self, kernel_shape=window, strides=window)
    result = self
    for axis, (n, out) in enumerate(zip(inputs, sizes, strict=True)):
        weights = [[0.0] * out for _ in range(n)]
        for column, (start, end) in enumerate(_bounds(n, out)):
            for row in range(start, end):
                weights[row][column] = 1 / (end - start)
        result = _along(op, result, axis - dims, lambda v, w=weights: op.MatMul(v, op.constant(w, self)))
    return result


def _along(op: Any, value: Any, axis: int, apply: Any) -> Any:
    """A function of the last axis, applied to another axis."""
    rank = (
        len(op.node.meta["val"].shape)
        if not hasattr(value, "shape") or value.shape is None
        else len(value.shape)
    )
    if axis == -1:
        return apply(value)
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return op.Transpose(apply(op.Transpose(value, perm=order)), perm=order)


def _output_sizes(value: Any, output_size: Any) -> list[int]:
    sizes = list(output_size) if isinstance(output_size, (list, tuple)) else [output_size]
    inputs = list(value.shape)[-len(sizes) :]
    return [n if out is None or out == -1 else out for out, n in zip(sizes, inputs, strict=True)]


def _static(value: Any, dims: int) -> list[int]:
    sizes = list(value.shape)[-dims:]
    if not all(isinstance(n, int) for n in sizes):
        raise ValueError(
            f"an adaptive pool with several results needs constant sizes of its input, got {sizes}"
        )
    return [int(n) for n in sizes]


@translates(*(f"aten::adaptive_max_pool{n}d" for n in (1, 2, 3)))
def adaptive_max_pool(op: Any, self: Any, output_size: Any) -> Any:
    """Greatest elements of windows that divide the input. Their positions are exported only for equal windows."""
    sizes = _output_sizes(self, output_size)
    dims = len(sizes)
    inputs = _static(self, dims)
    if all(n % out == 0 for n, out in zip(inputs, sizes, strict=True)):
        window = [n // out for n, out in zip(inputs, sizes, strict=True)]
        return op.library(
            f"aten::max_pool{dims}d_with_indices", self=self, kernel_size=window, stride=window, padding=[0] * dims,
            dilation=[1] * dims, ceil_mode=False,
        )  # fmt: skip
    if any(str(u.target) == "<built-in function getitem>" and u.args[1] == 1 for u in op.node.users):
        raise ValueError(
            f"the positions of an adaptive max pool from {inputs} to {sizes} have no translation"
        )
    result = self
    for axis, (n, out) in enumerate(zip(inputs, sizes, strict=True)):
        windows = _bounds(n, out)
        longest = max(end - start for start, end in windows)
        positions = [[min(start + i, end - 1) for i in range(longest)] for start, end in windows]
        at = len(self.shape) - dims + axis
        result = op.ReduceMax(op.Gather(result, op.constant(positions), axis=at), [at + 1], keepdims=0)
    return [result, None]


@translates("aten::batch_norm")
def batch_norm(
    op: Any,
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Any:
    """A batch norm. With statistics of the batch, it is a formula over means."""
    channels = op.size(input, 1) if not isinstance(input.shape[1], int) else [input.shape[1]]
    ones = op.Expand(op.constant(1.0, input), channels) if weight is None else weight
    zeros = op.Expand(op.constant(0.0, input), channels) if bias is None else bias
    if not training and running_mean is not None:
        return op.BatchNormalization(input, ones, zeros, running_mean, running_var, epsilon=eps)
    axes = [i for i in range(len(input.shape)) if i != 1]
    mean = op.ReduceMean(input, axes, keepdims=1)
    centered = op.Sub(input, mean)
    variance = op.ReduceMean(op.Mul(centered, centered), axes, keepdims=1)
    normal = op.Div(centered, op.Sqrt(op.Add(variance, op.constant(eps, input))))
    shape = [1, -1, *[1] * (len(input.shape) - 2)]
    return op.Add(op.Mul(normal, op.Reshape(ones, shape)), op.Reshape(zeros, shape))


@translates("aten::gelu")
def gelu(op: Any, self: Any, approximate: str = "none") -> Any:
    """The activation GELU, a node of its own from operator set 20 on."""
    if op.lowering.table.opset >= 20:
        return op.later("Gelu", 20, self, approximate=approximate)
    return op.library("aten::gelu", self=self, approximate=approximate)


@translates(*(f"aten::_upsample_nearest_exact{n}d{overload}" for n in (1, 2, 3) for overload in ("", ".vec")))
def upsample_nearest_exact(op: Any, self: Any, output_size: Any = None, *scales: Any) -> Any:
    """The nearest element, by the centers of elements."""
    dims = len(op.meta.shape) - 2
    if output_size is None:
        factors = list(scales[0]) if scales and isinstance(scales[0], list) else list(scales)
        sizes = [int(n * f) for n, f in zip(_static(self, dims), factors, strict=True)]
    else:
        sizes = list(output_size)
    target = op.Concat(op.Shape(self, start=0, end=2), op.builder.vector(sizes), axis=0)
    return op.Resize(
        self, None, None, target,
        mode="nearest", coordinate_transformation_mode="half_pixel", nearest_mode="round_prefer_ceil",
    )  # fmt: skip
