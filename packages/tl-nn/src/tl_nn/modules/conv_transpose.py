"""Transposed convolutions of sequences, images and volumes."""

from __future__ import annotations

import warnings
from typing import Any

from tl_core import Tensor

from .. import functional as F
from .base_conv import _ConvNd
from .utils import _ntuple

__all__ = ["ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution over a number of spatial dimensions, which each subclass states."""

    _dims: int
    _function: str  # of `functional`, looked up when called

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        each = _ntuple(self._dims)
        super().__init__(
            in_channels,
            out_channels,
            each(kernel_size),
            each(stride),
            each(padding),
            each(dilation),
            True,
            each(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """The transposed convolution of `input`, shape (N, in_channels, ...) or (in_channels, ...).

        `output_size`, of the spatial dimensions or of all, selects among the sizes that the stride allows.
        """
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for {type(self).__name__}")
        padding = self._output_padding(input, output_size)
        convolve = getattr(F, self._function)
        return convolve(
            input, self.weight, self.bias, self.stride, self.padding, padding, self.groups, self.dilation
        )

    def _output_padding(self, input: Tensor, output_size: list[int] | None) -> Any:
        """The output padding that gives a size of the output."""
        if output_size is None:
            return self.output_padding
        dims = self._dims
        with_batch = input.dim() == dims + 2
        leading = 2 if with_batch else 1
        if len(output_size) == leading + dims:
            output_size = output_size[leading:]
        if len(output_size) != dims:
            raise ValueError(
                f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must have {dims} or "
                f"{leading + dims} elements (got {len(output_size)})"
            )
        padding: Any = self.padding
        least = [
            (input.size(leading + d) - 1) * self.stride[d]
            - 2 * padding[d]
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d in range(dims)
        ]
        most = [size + self.stride[d] - 1 for d, size in enumerate(least)]
        if any(not low <= size <= high for low, size, high in zip(least, output_size, most, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {least} to {most} "
                f"(for an input of {input.size()[2:]})"
            )
        return [size - low for low, size in zip(least, output_size, strict=True)]


class _ConvTransposeMixin(_ConvTransposeNd):
    """The older name of the base class."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            "`_ConvTransposeMixin` is a deprecated internal class. Please consider using public APIs.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)


class ConvTranspose1d(_ConvTransposeNd):
    r"""A transposed convolution over one dimension, which enlarges a sequence with learned weights.

    Formula:
        .. math::

            y_{n, o, q} = b_o + \sum_{c} \; \sum_{(p, k) \, : \; p \cdot \mathrm{stride} + k \cdot \mathrm{dilation}
            - \mathrm{padding} = q} W_{c, o, k} \, x_{n, c, p}

        `n` is a sample, `o` an output channel, `c` an input channel of its group, `q` a position of the output, `p`
        one of the input and `k` an offset in the kernel, counted from 0. `W` is `weight` and `b` is `bias`. The map
        is the transpose of the convolution with the same options, the gradient of `Conv1d` by its input.

    Args:
        in_channels (int): The number of channels of the input, C_in.
        out_channels (int): The number of channels of the output, C_out.
        kernel_size (int or tuple of one int): The extent of the kernel.
        stride (int or tuple of one int): The distance in the output of neighbouring elements of the input. The
            default is 1.
        padding (int or tuple of one int): The number of elements removed from both ends of each spatial dimension
            of the output. The default is 0.
        output_padding (int or tuple of one int): The number of elements by which the output grows at its end. It is
            less than the stride or the dilation. The default is 0.
        groups (int): The number of groups into which both channel dimensions are divided. The default is 1.
        bias (bool): Whether a bias is learned. The default is True.
        dilation (int or tuple of one int): The distance in the output of neighbouring elements of the kernel. The
            default is 1.
        padding_mode (str): "zeros", the only mode.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Input: `(N, C_in, L)` or `(C_in, L)`.
        - Output: `(N, C_out, L_out)` or `(C_out, L_out)`, with

        .. math::

            L_{\mathrm{out}} = (L - 1) \cdot \mathrm{stride} - 2 \cdot \mathrm{padding} + \mathrm{dilation} \cdot
            (\mathrm{kernel\_size} - 1) + \mathrm{output\_padding} + 1

    Attributes:
        weight (Parameter, shape (in_channels, out_channels / groups, *kernel_size)): Uniform on `±1 / sqrt(fan)` at
            first, with `fan = out_channels / groups * prod(kernel_size)`.
        bias (Parameter, shape (out_channels,), or None): Of the same initial distribution.

    Notes:
        - A convolution with a stride maps several input sizes to one output size. `output_padding`, or the argument
          `output_size` of the call, selects among them. The added elements are sums as all others: they aren't
          zeros.
        - Kernels whose size is no multiple of the stride cover the output unevenly, which shows as a checkerboard.
          `Upsample` before a convolution avoids it.
        - float16 and bfloat16 are summed in float32 and rounded once. Results don't depend on the number of
          threads.
        - Source: Zeiler et al., Deconvolutional Networks, 2010. Odena et al., Deconvolution and Checkerboard
          Artifacts, 2016.

    Raises:
        ValueError: If `groups` isn't positive or doesn't divide both numbers of channels, `padding_mode` has
            another name, or `output_size` is no possible size, when the layer is called.
        RuntimeError: If `output_padding` is neither less than the stride nor less than the dilation, or the input
            has other dimensions, channels or another type, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ConvTranspose1d(4, 2, 3, stride=2)(tl_core.zeros(1, 4, 5)).shape
        torch.Size([1, 2, 11])
    """

    _dims = 1
    _function = "conv_transpose1d"


class ConvTranspose2d(_ConvTransposeNd):
    r"""A transposed convolution over two dimensions, which enlarges an image with learned weights.

    Formula:
        .. math::

            y_{n, o, q} = b_o + \sum_{c} \; \sum_{(p, k) \, : \; p \cdot \mathrm{stride} + k \cdot \mathrm{dilation}
            - \mathrm{padding} = q} W_{c, o, k} \, x_{n, c, p}

        `n` is a sample, `o` an output channel, `c` an input channel of its group, `q` a position of the output, `p`
        one of the input and `k` an offset in the kernel: vectors of two numbers counted from 0. `W` is `weight` and
        `b` is `bias`. The map is the transpose of the convolution with the same options, the gradient of `Conv2d`
        by its input.

    Args:
        in_channels (int): The number of channels of the input, C_in.
        out_channels (int): The number of channels of the output, C_out.
        kernel_size (int or tuple of two): The extent of the kernel.
        stride (int or tuple of two): The distance in the output of neighbouring elements of the input. The default
            is 1.
        padding (int or tuple of two): The number of elements removed from both ends of each spatial dimension of
            the output. The default is 0.
        output_padding (int or tuple of two): The number of elements by which the output grows at its end. It is
            less than the stride or the dilation. The default is 0.
        groups (int): The number of groups into which both channel dimensions are divided. The default is 1.
        bias (bool): Whether a bias is learned. The default is True.
        dilation (int or tuple of two): The distance in the output of neighbouring elements of the kernel. The
            default is 1.
        padding_mode (str): "zeros", the only mode.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Input: `(N, C_in, H, W)` or `(C_in, H, W)`.
        - Output: `(N, C_out, H_out, W_out)` or `(C_out, H_out, W_out)`, with

        .. math::

            S_{\mathrm{out}} = (S - 1) \cdot \mathrm{stride} - 2 \cdot \mathrm{padding} + \mathrm{dilation} \cdot
            (\mathrm{kernel\_size} - 1) + \mathrm{output\_padding} + 1

        The formula holds for each spatial size, here `S`, with the number of that dimension of each argument.

    Attributes:
        weight (Parameter, shape (in_channels, out_channels / groups, *kernel_size)): Uniform on `±1 / sqrt(fan)` at
            first, with `fan = out_channels / groups * prod(kernel_size)`.
        bias (Parameter, shape (out_channels,), or None): Of the same initial distribution.

    Notes:
        - A convolution with a stride maps several input sizes to one output size. `output_padding`, or the argument
          `output_size` of the call, selects among them. The added elements are sums as all others: they aren't
          zeros.
        - Kernels whose size is no multiple of the stride cover the output unevenly, which shows as a checkerboard.
          `Upsample` before a convolution avoids it.
        - float16 and bfloat16 are summed in float32 and rounded once. Results don't depend on the number of
          threads.
        - Source: Zeiler et al., Deconvolutional Networks, 2010. Odena et al., Deconvolution and Checkerboard
          Artifacts, 2016.

    Raises:
        ValueError: If `groups` isn't positive or doesn't divide both numbers of channels, `padding_mode` has
            another name, or `output_size` is no possible size, when the layer is called.
        RuntimeError: If `output_padding` is neither less than the stride nor less than the dilation, or the input
            has other dimensions, channels or another type, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1)
        >>> layer(tl_core.zeros(1, 4, 6, 6), output_size=(12, 12)).shape
        torch.Size([1, 2, 12, 12])
    """

    _dims = 2
    _function = "conv_transpose2d"


class ConvTranspose3d(_ConvTransposeNd):
    r"""A transposed convolution over three dimensions, which enlarges a volume with learned weights.

    Formula:
        .. math::

            y_{n, o, q} = b_o + \sum_{c} \; \sum_{(p, k) \, : \; p \cdot \mathrm{stride} + k \cdot \mathrm{dilation}
            - \mathrm{padding} = q} W_{c, o, k} \, x_{n, c, p}

        `n` is a sample, `o` an output channel, `c` an input channel of its group, `q` a position of the output, `p`
        one of the input and `k` an offset in the kernel: vectors of three numbers counted from 0. `W` is `weight`
        and `b` is `bias`. The map is the transpose of the convolution with the same options, the gradient of
        `Conv3d` by its input.

    Args:
        in_channels (int): The number of channels of the input, C_in.
        out_channels (int): The number of channels of the output, C_out.
        kernel_size (int or tuple of three): The extent of the kernel.
        stride (int or tuple of three): The distance in the output of neighbouring elements of the input. The
            default is 1.
        padding (int or tuple of three): The number of elements removed from both ends of each spatial dimension of
            the output. The default is 0.
        output_padding (int or tuple of three): The number of elements by which the output grows at its end. It is
            less than the stride or the dilation. The default is 0.
        groups (int): The number of groups into which both channel dimensions are divided. The default is 1.
        bias (bool): Whether a bias is learned. The default is True.
        dilation (int or tuple of three): The distance in the output of neighbouring elements of the kernel. The
            default is 1.
        padding_mode (str): "zeros", the only mode.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Input: `(N, C_in, D, H, W)` or `(C_in, D, H, W)`.
        - Output: `(N, C_out, D_out, H_out, W_out)` or `(C_out, D_out, H_out, W_out)`, with

        .. math::

            S_{\mathrm{out}} = (S - 1) \cdot \mathrm{stride} - 2 \cdot \mathrm{padding} + \mathrm{dilation} \cdot
            (\mathrm{kernel\_size} - 1) + \mathrm{output\_padding} + 1

        The formula holds for each spatial size, here `S`, with the number of that dimension of each argument.

    Attributes:
        weight (Parameter, shape (in_channels, out_channels / groups, *kernel_size)): Uniform on `±1 / sqrt(fan)` at
            first, with `fan = out_channels / groups * prod(kernel_size)`.
        bias (Parameter, shape (out_channels,), or None): Of the same initial distribution.

    Notes:
        - A convolution with a stride maps several input sizes to one output size. `output_padding`, or the argument
          `output_size` of the call, selects among them. The added elements are sums as all others: they aren't
          zeros.
        - Kernels whose size is no multiple of the stride cover the output unevenly, which shows as a checkerboard.
          `Upsample` before a convolution avoids it.
        - float16 and bfloat16 are summed in float32 and rounded once. Results don't depend on the number of
          threads.
        - Source: Zeiler et al., Deconvolutional Networks, 2010. Odena et al., Deconvolution and Checkerboard
          Artifacts, 2016.

    Raises:
        ValueError: If `groups` isn't positive or doesn't divide both numbers of channels, `padding_mode` has
            another name, or `output_size` is no possible size, when the layer is called.
        RuntimeError: If `output_padding` is neither less than the stride nor less than the dilation, or the input
            has other dimensions, channels or another type, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ConvTranspose3d(2, 1, 2, stride=2)(tl_core.zeros(1, 2, 2, 3, 4)).shape
        torch.Size([1, 1, 4, 6, 8])
    """

    _dims = 3
    _function = "conv_transpose3d"
