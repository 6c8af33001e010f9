"""Convolutions and their gradients."""

from __future__ import annotations

from typing import Any

from tl_core.operators.packets import aten

from .formula import Recording, formula


def _of_axes(numbers: Any, axes: int) -> list[Any]:
    """A number for each axis, where one may stand for all."""
    return list(numbers) * axes if len(numbers) == 1 else list(numbers)


@formula("_convolve")
def _convolve(
    r: Recording,
    x: Any,
    weight: Any,
    bias: Any,
    sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    axes = x.ndim - 2
    stride, padding, dilation = (_of_axes(numbers, axes) for numbers in (stride, padding, dilation))
    spatial = list(zip(x.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True))
    spatial_sizes = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in spatial]
    zeros = [0] * axes
    if spatial_sizes != list(sizes)[-axes:]:  # the border behind is as wide as the sizes say
        behind = [
            (m - 1) * s + d * (k - 1) + 1 - n - p
            for m, (n, k, s, p, d) in zip(list(sizes)[-axes:], spatial, strict=True)
        ]
        border = [width for pair in zip(reversed(padding), reversed(behind), strict=True) for width in pair]
        x, padding = r(aten.constant_pad_nd.default, x, border), zeros
    return r(aten.convolution.default, x, weight, bias, stride, padding, dilation, False, zeros, groups)


@formula("_convolve_input")
def _convolve_input(
    r: Recording,
    grad: Any,
    weight: Any,
    bias: Any,
    sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    if bias is not None:
        product = _convolve_input(r, grad, weight, None, sizes, stride, padding, dilation, groups)
        return r(aten.add.Tensor, product, r(aten.view.default, bias, [-1, *[1] * (len(sizes) - 2)]))
    like, zeros = r.unseen(aten.new_empty.default, grad, sizes), [0] * len(stride)
    settings = (None, stride, padding, dilation, False, zeros, groups, [True, False, False])
    return r(aten.convolution_backward.default, grad, like, weight, *settings)[0]


@formula("_convolve_weight")
def _convolve_weight(
    r: Recording, grad: Any, x: Any, sizes: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    like, zeros = r.unseen(aten.new_empty.default, grad, sizes), [0] * len(stride)
    settings = (None, stride, padding, dilation, False, zeros, groups, [False, True, False])
    return r(aten.convolution_backward.default, grad, x, like, *settings)[1]
