"""Convolutions with a ReLU."""

from __future__ import annotations

from tl_core import Tensor
from tl_nn import functional as F

from ....quantized.modules import conv

__all__ = ["ConvReLU1d", "ConvReLU2d", "ConvReLU3d"]


class ConvReLU1d(conv.Conv1d):
    """`quantized.Conv1d` and a ReLU."""

    def _result(self, x: Tensor) -> Tensor:
        return F.relu(super()._result(x))


class ConvReLU2d(conv.Conv2d):
    """`quantized.Conv2d` and a ReLU."""

    def _result(self, x: Tensor) -> Tensor:
        return F.relu(super()._result(x))


class ConvReLU3d(conv.Conv3d):
    """`quantized.Conv3d` and a ReLU."""

    def _result(self, x: Tensor) -> Tensor:
        return F.relu(super()._result(x))
