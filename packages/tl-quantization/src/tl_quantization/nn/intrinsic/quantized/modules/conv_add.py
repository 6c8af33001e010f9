"""Convolutions to whose results a second input is added."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor
from tl_nn import functional as F

from ....quantized.modules.conv import Conv2d
from ....quantized.modules.utils import numbers_of, requantize

__all__ = ["ConvAdd2d", "ConvAddReLU2d"]


class ConvAdd2d(Conv2d):
    """`quantized.Conv2d` plus a second quantized input."""

    def forward(self, input: Any, extra_input: Any) -> Any:  # type: ignore[override]
        """The sum, with the layer's scale and zero point."""
        total = self._result(numbers_of(input).dequantize()) + numbers_of(extra_input).dequantize()
        return requantize(self._activated(total), input, self.scale, self.zero_point)

    def _activated(self, total: Tensor) -> Tensor:
        return total


class ConvAddReLU2d(ConvAdd2d):
    """`quantized.Conv2d` plus a second quantized input, and a ReLU."""

    def _activated(self, total: Tensor) -> Tensor:
        return F.relu(total)
