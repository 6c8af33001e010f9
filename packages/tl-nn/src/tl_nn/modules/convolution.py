"""Convolutions of sequences, images and volumes."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from .. import functional as F
from .base_conv import _ConvNd
from .utils import _ntuple

__all__ = ["Conv1d", "Conv2d", "Conv3d"]


class _Convolution(_ConvNd):
    """A convolution over a number of spatial dimensions, which each subclass states."""

    _dims: int
    _function: str  # of `functional`, looked up when called

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        each = _ntuple(self._dims)
        super().__init__(
            in_channels,
            out_channels,
            each(kernel_size),
            each(stride),
            padding if isinstance(padding, str) else each(padding),
            each(dilation),
            False,
            each(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        convolve = getattr(F, self._function)
        return convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        """The convolution of `input`, shape (N, in_channels, ...) or (in_channels, ...)."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Convolution):
    r"""A convolution over one dimension: a sequence with channels.

    Formula:
        .. math::

            y_{n, o, p} = b_o + \sum_{c=1}^{C_{\mathrm{in}} / \mathrm{groups}} \sum_{k} W_{o, c, k} \,
            x_{n, \, c(o), \, p \cdot \mathrm{stride} - \mathrm{padding} + k \cdot \mathrm{dilation}}

        `n` is a sample, `o` an output channel, `c(o)` channel `c` of its group, `p` a position of the output and
        `k` an offset in the kernel, both counted from 0. `W` is `weight` and `b` is `bias`. Elements outside of the
        input come from `padding_mode`.

    Args:
        in_channels (int): The number of channels of the input, C_in.
        out_channels (int): The number of channels of the output, C_out.
        kernel_size (int or tuple of one int): The extent of the kernel.
        stride (int or tuple of one int): The distance of the kernel's positions. The default is 1.
        padding (int or tuple of one int, or str): The number of elements added at both ends of each spatial
            dimension, "same" for as many as give the output the size of the input, or "valid" for 0. The default is
            0.
        dilation (int or tuple of one int): The distance of the elements under the kernel. The default is 1.
        groups (int): The number of groups into which both channel dimensions are divided. An output channel sees
            the input channels of its group. The default is 1.
        bias (bool): Whether a bias is learned. The default is True.
        padding_mode (str): The source of the added elements: "zeros", "reflect", "replicate" or "circular". The
            default is "zeros".
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Input: `(N, C_in, L)` or `(C_in, L)`.
        - Output: `(N, C_out, L_out)` or `(C_out, L_out)`, with

        .. math::

            L_{\mathrm{out}} =
            \left\lfloor \frac{L +
            2 \cdot \mathrm{padding} - \mathrm{dilation} \cdot (\mathrm{kernel\_size} - 1) - 1}
            {\mathrm{stride}} \right\rfloor + 1

    Attributes:
        weight (Parameter, shape (out_channels, in_channels / groups, *kernel_size)): Uniform on `±1 / sqrt(fan_in)`
            at first, with `fan_in = in_channels / groups * prod(kernel_size)`.
        bias (Parameter, shape (out_channels,), or None): Of the same initial distribution.

    Notes:
        - The kernel isn't flipped: the operation is a cross-correlation.
        - `padding="same"` needs stride 1. Where `dilation * (kernel_size - 1)` is odd, the end receives the
          additional element.
        - "reflect", "replicate" and "circular" pad a copy of the input first. Their limits are those of
          `ReflectionPad1d`, `ReplicationPad1d` and `CircularPad1d`.
        - float16 and bfloat16 are summed in float32 and rounded once. Results don't depend on the number of
          threads.
        - `groups=in_channels` is a depthwise convolution. A batch of size 0 gives an output of batch size 0.
        - Input and weight have the same type. The type is a floating-point or complex one.

    Raises:
        ValueError: If `groups` isn't positive or doesn't divide both numbers of channels, `padding` is another
            text, "same" meets a stride, or `padding_mode` has another name.
        RuntimeError: If the kernel exceeds the padded input, or the input has other dimensions, channels or another
            type, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Conv1d(16, 33, 3, stride=2)(tl_core.zeros(20, 16, 50)).shape
        torch.Size([20, 33, 24])
    """

    _dims = 1
    _function = "conv1d"


class Conv2d(_Convolution):
    r"""A convolution over two dimensions: an image with channels.

    Formula:
        .. math::

            y_{n, o, p} = b_o + \sum_{c=1}^{C_{\mathrm{in}} / \mathrm{groups}} \sum_{k} W_{o, c, k} \,
            x_{n, \, c(o), \, p \cdot \mathrm{stride} - \mathrm{padding} + k \cdot \mathrm{dilation}}

        `n` is a sample, `o` an output channel, `c(o)` channel `c` of its group, `p` a position of the output and
        `k` an offset in the kernel, vectors of two numbers counted from 0. `W` is `weight` and `b` is `bias`.
        Elements outside of the input come from `padding_mode`.

    Args:
        in_channels (int): The number of channels of the input, C_in.
        out_channels (int): The number of channels of the output, C_out.
        kernel_size (int or tuple of two): The extent of the kernel.
        stride (int or tuple of two): The distance of the kernel's positions. The default is 1.
        padding (int or tuple of two, or str): The number of elements added at both ends of each spatial dimension,
            "same" for as many as give the output the size of the input, or "valid" for 0. The default is 0.
        dilation (int or tuple of two): The distance of the elements under the kernel. The default is 1.
        groups (int): The number of groups into which both channel dimensions are divided. An output channel sees
            the input channels of its group. The default is 1.
        bias (bool): Whether a bias is learned. The default is True.
        padding_mode (str): The source of the added elements: "zeros", "reflect", "replicate" or "circular". The
            default is "zeros".
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Input: `(N, C_in, H, W)` or `(C_in, H, W)`.
        - Output: `(N, C_out, H_out, W_out)` or `(C_out, H_out, W_out)`, with

        .. math::

            S_{\mathrm{out}} =
            \left\lfloor \frac{S +
            2 \cdot \mathrm{padding} - \mathrm{dilation} \cdot (\mathrm{kernel\_size} - 1) - 1}
            {\mathrm{stride}} \right\rfloor + 1

        The formula holds for each spatial size, here `S`, with the number of that dimension of each argument.

    Attributes:
        weight (Parameter, shape (out_channels, in_channels / groups, *kernel_size)): Uniform on `±1 / sqrt(fan_in)`
            at first, with `fan_in = in_channels / groups * prod(kernel_size)`.
        bias (Parameter, shape (out_channels,), or None): Of the same initial distribution.

    Notes:
        - The kernel isn't flipped: the operation is a cross-correlation.
        - `padding="same"` needs stride 1. Where `dilation * (kernel_size - 1)` is odd, the end receives the
          additional element.
        - "reflect", "replicate" and "circular" pad a copy of the input first. Their limits are those of
          `ReflectionPad2d`, `ReplicationPad2d` and `CircularPad2d`.
        - float16 and bfloat16 are summed in float32 and rounded once. Results don't depend on the number of
          threads.
        - `groups=in_channels` is a depthwise convolution. A batch of size 0 gives an output of batch size 0.
        - Input and weight have the same type. The type is a floating-point or complex one.

    Raises:
        ValueError: If `groups` isn't positive or doesn't divide both numbers of channels, `padding` is another
            text, "same" meets a stride, or `padding_mode` has another name.
        RuntimeError: If the kernel exceeds the padded input, or the input has other dimensions, channels or another
            type, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Conv2d(16, 33, 3, stride=2)(tl_core.zeros(20, 16, 50, 100)).shape
        torch.Size([20, 33, 24, 49])
    """

    _dims = 2
    _function = "conv2d"


class Conv3d(_Convolution):
    r"""A convolution over three dimensions: a volume with channels.

    Formula:
        .. math::

            y_{n, o, p} = b_o + \sum_{c=1}^{C_{\mathrm{in}} / \mathrm{groups}} \sum_{k} W_{o, c, k} \,
            x_{n, \, c(o), \, p \cdot \mathrm{stride} - \mathrm{padding} + k \cdot \mathrm{dilation}}

        `n` is a sample, `o` an output channel, `c(o)` channel `c` of its group, `p` a position of the output and
        `k` an offset in the kernel, vectors of three numbers counted from 0. `W` is `weight` and `b` is `bias`.
        Elements outside of the input come from `padding_mode`.

    Args:
        in_channels (int): The number of channels of the input, C_in.
        out_channels (int): The number of channels of the output, C_out.
        kernel_size (int or tuple of three): The extent of the kernel.
        stride (int or tuple of three): The distance of the kernel's positions. The default is 1.
        padding (int or tuple of three, or str): The number of elements added at both ends of each spatial
            dimension, "same" for as many as give the output the size of the input, or "valid" for 0. The default is
            0.
        dilation (int or tuple of three): The distance of the elements under the kernel. The default is 1.
        groups (int): The number of groups into which both channel dimensions are divided. An output channel sees
            the input channels of its group. The default is 1.
        bias (bool): Whether a bias is learned. The default is True.
        padding_mode (str): The source of the added elements: "zeros", "reflect", "replicate" or "circular". The
            default is "zeros".
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Input: `(N, C_in, D, H, W)` or `(C_in, D, H, W)`.
        - Output: `(N, C_out, D_out, H_out, W_out)` or `(C_out, D_out, H_out, W_out)`, with

        .. math::

            S_{\mathrm{out}} =
            \left\lfloor \frac{S +
            2 \cdot \mathrm{padding} - \mathrm{dilation} \cdot (\mathrm{kernel\_size} - 1) - 1}
            {\mathrm{stride}} \right\rfloor + 1

        The formula holds for each spatial size, here `S`, with the number of that dimension of each argument.

    Attributes:
        weight (Parameter, shape (out_channels, in_channels / groups, *kernel_size)): Uniform on `±1 / sqrt(fan_in)`
            at first, with `fan_in = in_channels / groups * prod(kernel_size)`.
        bias (Parameter, shape (out_channels,), or None): Of the same initial distribution.

    Notes:
        - The kernel isn't flipped: the operation is a cross-correlation.
        - `padding="same"` needs stride 1. Where `dilation * (kernel_size - 1)` is odd, the end receives the
          additional element.
        - "reflect", "replicate" and "circular" pad a copy of the input first. Their limits are those of
          `ReflectionPad3d`, `ReplicationPad3d` and `CircularPad3d`.
        - float16 and bfloat16 are summed in float32 and rounded once. Results don't depend on the number of
          threads.
        - `groups=in_channels` is a depthwise convolution. A batch of size 0 gives an output of batch size 0.
        - Input and weight have the same type. The type is a floating-point or complex one.

    Raises:
        ValueError: If `groups` isn't positive or doesn't divide both numbers of channels, `padding` is another
            text, "same" meets a stride, or `padding_mode` has another name.
        RuntimeError: If the kernel exceeds the padded input, or the input has other dimensions, channels or another
            type, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Conv3d(2, 3, 3, padding="same")(tl_core.zeros(2, 5, 6, 7)).shape
        torch.Size([3, 5, 6, 7])
    """

    _dims = 3
    _function = "conv3d"
