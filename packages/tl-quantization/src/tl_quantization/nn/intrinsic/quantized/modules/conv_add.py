"""Convolutions to whose results a second input is added."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor
from tl_nn import functional as F

from ....quantized.modules.conv import Conv2d, script_of
from ....quantized.modules.utils import numbers_of, requantize

__all__ = ["ConvAdd2d", "ConvAddReLU2d"]


class ConvAdd2d(Conv2d):
    """`quantized.Conv2d` plus a second quantized input.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        dilation: the distance of the elements under the kernel.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        padding_mode: "zeros", or "reflect" where the layer has it.
        device: the device of the weight.
        dtype: the type of the quantized weight.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import quantized
        >>> x = tq.quantize_per_tensor(tl_core.ones(1, 3, 4, 4), 0.5, 10, tq.quint8)
        >>> quantized.ConvAdd2d(3, 3, 1)(x, x).shape
        torch.Size([1, 3, 4, 4])
    """

    _SCRIPT_SOURCE = script_of("conv2d_add", "extra_input")

    def forward(self, input: Any, extra_input: Any) -> Any:  # type: ignore[override]
        """The sum, with the layer's scale and zero point."""
        total = self._result(numbers_of(input).dequantize()) + numbers_of(extra_input).dequantize()
        return requantize(self._activate(total), input, self.scale, self.zero_point)

    def _activate(self, total: Tensor) -> Tensor:
        return total


class ConvAddReLU2d(ConvAdd2d):
    """`quantized.Conv2d` plus a second quantized input, and a ReLU.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        dilation: the distance of the elements under the kernel.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        padding_mode: "zeros", or "reflect" where the layer has it.
        device: the device of the weight.
        dtype: the type of the quantized weight.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import quantized
        >>> x = tq.quantize_per_tensor(tl_core.ones(1, 3, 4, 4), 0.5, 10, tq.quint8)
        >>> quantized.ConvAddReLU2d(3, 3, 1)(x, x).shape
        torch.Size([1, 3, 4, 4])
    """

    _SCRIPT_SOURCE = script_of("conv2d_add_relu", "extra_input")

    def _activate(self, total: Tensor) -> Tensor:
        return F.relu(total)
