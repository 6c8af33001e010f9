"""Convolutions that quantize their input at each call."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from ...modules import conv as static
from .linear import rounded

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


class _Dynamic:
    """What the convolutions share; stands before the static class among their bases."""

    _result: Any

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"

    def forward(self, input: Tensor, reduce_range: bool = True) -> Tensor:
        """The convolution's result, of floating numbers."""
        return self._result(rounded(input, reduce_range))


class Conv1d(_Dynamic, static.Conv1d):
    """`quantized.Conv1d` for floating numbers, which are rounded to integers at each call."""


class Conv2d(_Dynamic, static.Conv2d):
    """`quantized.Conv2d` for floating numbers, which are rounded to integers at each call."""


class Conv3d(_Dynamic, static.Conv3d):
    """`quantized.Conv3d` for floating numbers, which are rounded to integers at each call."""


class ConvTranspose1d(_Dynamic, static.ConvTranspose1d):
    """`quantized.ConvTranspose1d` for floating numbers, which are rounded to integers at each call."""


class ConvTranspose2d(_Dynamic, static.ConvTranspose2d):
    """`quantized.ConvTranspose2d` for floating numbers, which are rounded to integers at each call."""


class ConvTranspose3d(_Dynamic, static.ConvTranspose3d):
    """`quantized.ConvTranspose3d` for floating numbers, which are rounded to integers at each call."""
