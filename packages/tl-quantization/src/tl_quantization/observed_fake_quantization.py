"""Fake quantization by a moving average of observed ranges, and ranges of the least error."""

from __future__ import annotations

import tl_core
from tl_core import Tensor
from tl_core.overrides import overridable

from .fake_quantization import fake_quantize_per_channel_affine, fake_quantize_per_tensor_affine
from .qparams import range_qparams

__all__: list[str] = []


@tl_core.no_grad()
def _follow(x: Tensor, low: Tensor, high: Tensor, constant: float, per_row: bool) -> None:
    """Moves the averages of the smallest and of the largest number towards the extremes of `x`, in place."""
    rows = x.detach().flatten(1) if per_row else x.detach().reshape(1, -1)
    least, most = rows.amin(1), rows.amax(1)
    for average, extremes, initial in ((low, least, float("inf")), (high, most, float("-inf"))):
        if per_row and average.numel() == 0:
            average.resize_(len(extremes)).fill_(initial)
        extremes = extremes.reshape(average.shape).to(average.dtype)
        average.copy_(tl_core.where(average.isinf(), extremes, average + constant * (extremes - average)))


@tl_core.no_grad()
def _choose(
    low: Tensor, high: Tensor, scale: Tensor, zero: Tensor, limits: tuple[int, int], symmetric: bool
) -> None:
    """Writes scales and zero points for the averages."""
    ranges = zip(low.reshape(-1).tolist(), high.reshape(-1).tolist(), strict=True)
    qparams = [range_qparams(*each, *limits, symmetric) for each in ranges]
    for target, values in zip((scale, zero), zip(*qparams, strict=True), strict=True):
        if target.numel() != len(values):
            target.resize_(len(values))
        target.copy_(target.new_tensor(values).reshape(target.shape))


@overridable
def fused_moving_avg_obs_fake_quant(
    input: Tensor,
    observer_on: Tensor,
    fake_quant_on: Tensor,
    running_min: Tensor,
    running_max: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> Tensor:
    """Follows the range of the numbers and rounds them as the integers of a quantized type would be.

    Args:
        input: floating numbers.
        observer_on: whether the averages, scales and zero points change: one number, 0 or 1.
        fake_quant_on: whether the result is rounded.
        running_min: the average of the smallest number, infinite at the beginning, updated in place.
        running_max: the average of the largest number, updated in place.
        scale: the scales, updated in place.
        zero_point: the zero points, updated in place.
        averaging_const: the weight of a new batch in the averages.
        quant_min: the least integer.
        quant_max: the largest integer.
        ch_axis: the axis of the slices.
        per_row_fake_quant: whether each slice has a scale of its own.
        symmetric_quant: whether 0 is in the middle of the integers.

    Raises:
        RuntimeError: If there is no such axis.
    """
    if per_row_fake_quant and not 0 <= ch_axis < input.dim():
        raise RuntimeError(
            f"fused_moving_avg_obs_fake_quant: ch_axis must be from 0 to {input.dim() - 1}, but got {ch_axis}"
        )
    if observer_on.item() and input.numel():
        slices = input.transpose(0, ch_axis) if per_row_fake_quant else input
        _follow(slices, running_min, running_max, averaging_const, per_row_fake_quant)
        _choose(running_min, running_max, scale, zero_point, (quant_min, quant_max), symmetric_quant)
    if not fake_quant_on.item():
        return input.clone()
    if per_row_fake_quant:
        return fake_quantize_per_channel_affine(input, scale, zero_point, ch_axis, quant_min, quant_max)
    return fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max)


@overridable
@tl_core.no_grad()
def choose_qparams_optimized(
    input: Tensor, numel: int, n_bins: int, ratio: float, bit_width: int
) -> tuple[Tensor, Tensor]:
    """The range with the least error of rounding to few bits, by steps from the whole range inwards.

    Args:
        input: the numbers, of float32.
        numel: the number of elements to consider.
        n_bins: the number of steps in the whole range.
        ratio: the share of the steps that the result may exclude.
        bit_width: the bits of an integer.

    Returns:
        The largest and the smallest number of the range.

    Raises:
        RuntimeError: If the input has fewer elements.
    """
    if numel > input.numel():
        raise RuntimeError(
            f"choose_qparams_optimized: numel is {numel}, but input has {input.numel()} numbers"
        )
    x = input.reshape(-1)[:numel].to(tl_core.float32)
    low, high = x.amin(), x.amax()
    best, least = (low, high), _loss(x, low, high, bit_width)
    step, loss = (high - low) / n_bins, least
    least_width = int(n_bins * (1.0 - ratio)) * step
    while low + least_width < high:
        raised, lowered = _loss(x, low + step, high, bit_width), _loss(x, low, high - step, bit_width)
        if loss < raised and loss < lowered and loss < least:  # the best of several local minima
            best, least = (low, high), loss
        if raised < lowered:
            low, loss = low + step, raised
        else:
            high, loss = high - step, lowered
    return best[1].reshape(1), best[0].reshape(1)


def _loss(x: Tensor, low: Tensor, high: Tensor, bits: int) -> Tensor:
    """The distance of numbers from their rounded values in this range. Float16 holds its beginning and the step."""
    most = 2**bits - 1
    low = low.half().float()
    scale = ((high - low) / most if high != low else tl_core.ones_like(low)).half().float()
    steps = ((x - low) * (1.0 / scale if scale != 0 else 1.0)).round().clamp(0, most)
    return (x - (steps * scale + low)).square().sum().sqrt()
