"""Batch normalizations with a ReLU."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor
from tl_nn import functional as F

from ....quantized.modules import batchnorm

__all__ = ["BNReLU2d", "BNReLU3d"]


class BNReLU2d(batchnorm.BatchNorm2d):
    """`quantized.BatchNorm2d` and a ReLU.

    Args:
        num_features: the number of channels.
        eps: added to the variance.
        momentum: accepted: nothing is learned here.
        device: where the buffers are made.
        dtype: the type of the buffers.
    """

    def _numbers(self, input: Any) -> Tensor:
        return F.relu(super()._numbers(input))


class BNReLU3d(batchnorm.BatchNorm3d):
    """`quantized.BatchNorm3d` and a ReLU.

    Args:
        num_features: the number of channels.
        eps: added to the variance.
        momentum: accepted: nothing is learned here.
        device: where the buffers are made.
        dtype: the type of the buffers.
    """

    def _numbers(self, input: Any) -> Tensor:
        return F.relu(super()._numbers(input))
