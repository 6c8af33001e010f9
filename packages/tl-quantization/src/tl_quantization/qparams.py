"""Scales and zero points chosen from a range, as PyTorch's kernels choose them for numbers that are in memory already.

Observers that decide later have a rule of their own, `UniformQuantizationObserverBase`: for symmetric weights, whose
largest magnitude becomes 127 here and 127.5 there, the scales differ by 0.4 %.
"""

from __future__ import annotations

import struct
from math import isfinite

import tl_core

from .dtypes import bounds

__all__ = ["choose_qparams", "range_qparams"]

LEAST_SCALE = 6.0999998822808266e-05  # 6.1e-5 as float32


def choose_qparams(
    low: float, high: float, dtype: tl_core.dtype, reduce_range: bool = False
) -> tuple[float, int]:
    """The scale and the zero point with which the type's integers cover [low, high] and 0.

    Args:
        low, high (float): The smallest and the largest number.
        dtype (quantized dtype): Of 8 bits.
        reduce_range (bool): Whether one bit is left unused.

    Raises:
        RuntimeError: If a number isn't finite.

    >>> choose_qparams(0.0, 255.0, tl_core.quint8)
    (1.0, 0)
    """
    bottom, top = bounds(dtype)
    if reduce_range:
        bottom, top = bottom // 2, top // 2
    if not (isfinite(low) and isfinite(high)):
        raise RuntimeError(f"the range of the numbers must be finite, but it is from {low} to {high}")
    return range_qparams(low, high, bottom, top)


def range_qparams(
    low: float, high: float, bottom: int, top: int, symmetric: bool = False
) -> tuple[float, int]:
    """The scale and the zero point with which the integers from bottom to top cover [low, high] and 0.

    Args:
        low, high (float): The smallest and the largest number, of float32.
        bottom, top (int): The smallest and the largest integer.
        symmetric (bool): Whether 0 is in the middle of the integers if the range has numbers on both sides of it.

    Returns:
        The scale, as far from finite as the range is, and the zero point; -2**31 where the scale isn't finite.
    """
    is_centred = symmetric and low < 0.0 < high
    if is_centred:
        low, high = _centre_range(low, high, (top - bottom) // 2)
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / (top - bottom)
    middle = round((bottom + top) / 2)
    if not isfinite(scale):
        return scale, middle if is_centred else -(2**31)
    if single(scale) == 0.0 or 1.0 / single(scale) > tl_core.finfo(tl_core.float32).max:
        scale = 0.1
    if scale < LEAST_SCALE:
        low, high, scale = *_grown(low, high, scale, top - bottom), LEAST_SCALE
    if is_centred:
        return scale, middle
    of_low, of_high = low / scale, high / scale
    zero = bottom - of_low if abs(bottom) - abs(of_low) < abs(top) - abs(of_high) else top - of_high
    return scale, round(min(max(zero, bottom), top))


def _centre_range(low: float, high: float, most: int) -> tuple[float, float]:
    """The least range that has 0 in its middle and holds another one, computed in float32."""
    scale = max(abs(single(low / (most + 1))), abs(single(high / most)))
    return single(scale * -(most + 1)), single(scale * most)


def _grown(low: float, high: float, scale: float, steps: int) -> tuple[float, float]:
    """The range for the least scale in the place of a smaller one, computed in float32."""
    if low == 0.0 or high == 0.0:
        width = single(LEAST_SCALE * steps)
        return (low and -width), (high and width)
    growth = single(LEAST_SCALE / single(scale))
    return single(low * growth), single(high * growth)


def single(x: float) -> float:
    """A number rounded to float32."""
    return float(struct.unpack("f", struct.pack("f", x))[0])
