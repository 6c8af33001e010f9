"""Convolutions that quantize their input at each call."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from ...modules import conv as static
from .linear import round_dynamically

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


class _Dynamic:
    """The base of the convolutions, before the static class in the order of bases."""

    _result: Any

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"

    def forward(self, input: Tensor, reduce_range: bool = True) -> Tensor:
        """The convolution's result, of floating numbers."""
        return self._result(round_dynamically(input, reduce_range))


class Conv1d(_Dynamic, static.Conv1d):
    """`quantized.Conv1d` for floating numbers, which are rounded to integers at each call.

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
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import dynamic
        >>> dynamic.Conv1d(3, 8, 3)(tl_core.ones(1, 3, 5)).shape
        torch.Size([1, 8, 3])
    """


class Conv2d(_Dynamic, static.Conv2d):
    """`quantized.Conv2d` for floating numbers, which are rounded to integers at each call.

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
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import dynamic
        >>> dynamic.Conv2d(3, 8, 3)(tl_core.ones(1, 3, 5, 5)).shape
        torch.Size([1, 8, 3, 3])
    """


class Conv3d(_Dynamic, static.Conv3d):
    """`quantized.Conv3d` for floating numbers, which are rounded to integers at each call.

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
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import dynamic
        >>> dynamic.Conv3d(3, 8, 3)(tl_core.ones(1, 3, 5, 5, 5)).shape
        torch.Size([1, 8, 3, 3, 3])
    """


class ConvTranspose1d(_Dynamic, static.ConvTranspose1d):
    """`quantized.ConvTranspose1d` for floating numbers, which are rounded to integers at each call.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        output_padding: the number added to one side of the output's size.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        dilation: the distance of the elements under the kernel.
        padding_mode: "zeros", or "reflect" where the layer has it.
        device: the device of the weight.
        dtype: the type of the quantized weight.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import dynamic
        >>> dynamic.ConvTranspose1d(3, 8, 3)(tl_core.ones(1, 3, 5)).shape
        torch.Size([1, 8, 7])
    """


class ConvTranspose2d(_Dynamic, static.ConvTranspose2d):
    """`quantized.ConvTranspose2d` for floating numbers, which are rounded to integers at each call.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        output_padding: the number added to one side of the output's size.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        dilation: the distance of the elements under the kernel.
        padding_mode: "zeros", or "reflect" where the layer has it.
        device: the device of the weight.
        dtype: the type of the quantized weight.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import dynamic
        >>> dynamic.ConvTranspose2d(3, 8, 3)(tl_core.ones(1, 3, 5, 5)).shape
        torch.Size([1, 8, 7, 7])
    """


class ConvTranspose3d(_Dynamic, static.ConvTranspose3d):
    """`quantized.ConvTranspose3d` for floating numbers, which are rounded to integers at each call.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        output_padding: the number added to one side of the output's size.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        dilation: the distance of the elements under the kernel.
        padding_mode: "zeros", or "reflect" where the layer has it.
        device: the device of the weight.
        dtype: the type of the quantized weight.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import dynamic
        >>> dynamic.ConvTranspose3d(3, 8, 3)(tl_core.ones(1, 3, 5, 5, 5)).shape
        torch.Size([1, 8, 7, 7, 7])
    """
