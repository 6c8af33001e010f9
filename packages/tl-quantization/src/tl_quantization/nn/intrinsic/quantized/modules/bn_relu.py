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
        momentum: accepted and unused, as the layer doesn't train.
        device: the device of the buffers.
        dtype: the type of the buffers.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import quantized
        >>> quantized.BNReLU2d(3)(tq.quantize_per_tensor(tl_core.ones(1, 3, 4, 4), 0.5, 10, tq.quint8)).shape
        torch.Size([1, 3, 4, 4])
    """

    _SCRIPT_SOURCE = batchnorm.script_of("batch_norm2d_relu")

    def _numbers(self, input: Any) -> Tensor:
        return F.relu(super()._numbers(input))


class BNReLU3d(batchnorm.BatchNorm3d):
    """`quantized.BatchNorm3d` and a ReLU.

    Args:
        num_features: the number of channels.
        eps: added to the variance.
        momentum: accepted and unused, as the layer doesn't train.
        device: the device of the buffers.
        dtype: the type of the buffers.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import quantized
        >>> quantized.BNReLU3d(3)(tq.quantize_per_tensor(tl_core.ones(1, 3, 4, 4, 4), 0.5, 10, tq.quint8)).shape
        torch.Size([1, 3, 4, 4, 4])
    """

    _SCRIPT_SOURCE = batchnorm.script_of("batch_norm3d_relu")

    def _numbers(self, input: Any) -> Tensor:
        return F.relu(super()._numbers(input))
