"""Bilinear interpolation of integers, rounded as PyTorch's kernels round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tl_core
from tl_core import Tensor

__all__ = ["interpolate_integers"]

VECTOR = 8  # the channels that PyTorch's kernel for images of channels computes at once, with AVX2


def interpolate_integers(
    integers: Tensor,
    zero_point: int,
    size: Sequence[int] | None,
    align_corners: bool,
    factors: Sequence[float | None],
) -> Tensor:
    """Means of neighbours less the zero point, as float32.

    Where the channels are the last in memory, products and sums are rounded once, as by fma. The larger coordinate's
    product is the exact one in whole vectors of channels, the smaller one's in the channels behind them.

    Args:
        integers: images, of four dimensions.
        zero_point: the integer of the number 0.
        size: the height and the width of the result; None, if the factors decide.
        align_corners: whether the outer elements of both images have the same positions.
        factors: the factors of the height and the width, where the caller chose them.

    Example:
        >>> import tl_core
        >>> interpolate_integers(tl_core.tensor([[[[10, 20]]]]), 5, [1, 3], True, [None, None])
        tensor([[[[ 5., 10., 15.]]]])
    """
    is_fused = integers.is_contiguous(memory_format=tl_core.channels_last)
    inputs = integers.shape[2:]
    outputs = size or [int(n * factor) for n, factor in zip(inputs, factors, strict=True) if factor]
    axes = [
        _Axis.of(before, after, align_corners, factor, is_fused, integers.device)
        for before, after, factor in zip(inputs, outputs, factors, strict=True)
    ]
    if not is_fused:
        return _mean(_mean(integers, 3, axes[1]), 2, axes[0]).sub_(zero_point)
    images, end = integers.permute(0, 2, 3, 1), integers.size(1) // VECTOR * VECTOR
    parts = [
        _mean(_mean(part, 2, axes[1], exact), 1, axes[0], exact)
        for part, exact in ((images[..., :end], "high"), (images[..., end:], "low"))
        if part.size(3)
    ]
    joined = tl_core.cat(parts, 3) if len(parts) > 1 else parts[0]
    return joined.sub_(zero_point).permute(0, 3, 1, 2)


@dataclass(frozen=True)
class _Axis:
    """The two neighbours of each element of a result along a dimension, and their weights."""

    low: Tensor
    high: Tensor
    low_weight: Tensor
    high_weight: Tensor

    @classmethod
    def of(
        cls,
        inputs: int,
        outputs: int,
        align: bool,
        factor: float | None,
        is_fused: bool,
        device: tl_core.device,
    ) -> _Axis:
        """The neighbours, whose positions are computed in float32."""

        def number(value: float) -> Tensor:
            return tl_core.tensor(value, dtype=tl_core.float32, device=device)

        position = tl_core.arange(outputs, dtype=tl_core.float32, device=device)
        if align:
            position *= number(inputs - 1) / number(outputs - 1) if outputs > 1 else 0
        else:
            step = number(1 / factor) if factor and factor > 0 else number(inputs) / number(outputs)
            wide = tl_core.float64 if is_fused else tl_core.float32
            position = ((position + 0.5).to(wide) * step.to(wide) - 0.5).to(tl_core.float32).clamp_min_(0)
        low = position.to(tl_core.int64).clamp_max_(inputs - 1)
        part = position - low
        return cls(low, (low + 1).clamp_max_(inputs - 1), 1 - part, part)


def _mean(x: Tensor, dim: int, axis: _Axis, exact: str = "") -> Tensor:
    """The weighted neighbours along a dimension.

    Args:
        x: the images.
        dim: the dimension.
        axis: its neighbours.
        exact: "low" or "high", the product that is not rounded before the sum is; each is, by default.
    """
    shape = [-1] + [1] * (3 - dim)
    x = x.to(tl_core.float32)
    low, high = x.index_select(dim, axis.low), x.index_select(dim, axis.high)
    low_weight, high_weight = axis.low_weight.reshape(shape), axis.high_weight.reshape(shape)
    if not exact:
        return low.mul_(low_weight).add_(high.mul_(high_weight))
    if exact == "high":
        low, high, low_weight, high_weight = high, low, high_weight, low_weight
    # Exact: float64 holds products of float32.
    product = low.to(tl_core.float64).mul_(low_weight.to(tl_core.float64))
    return product.add_(high.mul_(high_weight).to(tl_core.float64)).to(tl_core.float32)
