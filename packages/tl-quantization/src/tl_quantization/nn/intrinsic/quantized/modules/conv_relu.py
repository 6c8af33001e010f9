"""Convolutions with a ReLU."""

from __future__ import annotations

from ....quantized.modules import conv

__all__ = ["ConvReLU1d", "ConvReLU2d", "ConvReLU3d"]


class ConvReLU1d(conv.Conv1d):
    """`quantized.Conv1d` and a ReLU.

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
        >>> x = tq.quantize_per_tensor(tl_core.ones(1, 3, 5), 0.5, 10, tq.quint8)
        >>> quantized.ConvReLU1d(3, 8, 3)(x).shape
        torch.Size([1, 8, 3])
    """

    _RELU = True
    _SCRIPT_SOURCE = conv.script_of("conv1d_relu")


class ConvReLU2d(conv.Conv2d):
    """`quantized.Conv2d` and a ReLU.

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
        >>> x = tq.quantize_per_tensor(tl_core.ones(1, 3, 5, 5), 0.5, 10, tq.quint8)
        >>> quantized.ConvReLU2d(3, 8, 3)(x).shape
        torch.Size([1, 8, 3, 3])
    """

    _RELU = True
    _SCRIPT_SOURCE = conv.script_of("conv2d_relu")


class ConvReLU3d(conv.Conv3d):
    """`quantized.Conv3d` and a ReLU.

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
        >>> x = tq.quantize_per_tensor(tl_core.ones(1, 3, 5, 5, 5), 0.5, 10, tq.quint8)
        >>> quantized.ConvReLU3d(3, 8, 3)(x).shape
        torch.Size([1, 8, 3, 3, 3])
    """

    _RELU = True
    _SCRIPT_SOURCE = conv.script_of("conv3d_relu")
