"""Convolution layers: those that infer the input channels, and the names of all."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from ..parameter import UninitializedParameter

# Their documented path is here.
from .base_conv import _ConvNd as _ConvNd
from .conv_transpose import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, _ConvTransposeNd
from .conv_transpose import _ConvTransposeMixin as _ConvTransposeMixin
from .convolution import Conv1d, Conv2d, Conv3d, _Convolution
from .lazy import LazyModuleMixin

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]


class _LazyConvXdMixin(LazyModuleMixin):
    """Takes the number of input channels from the first input."""

    def _become_lazy(self: Any, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self: Any) -> None:
        """Draw weight and bias anew, once they have a shape."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes, for inputs like this one."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups != 0:
            raise ValueError(
                f"in_channels must be divisible by groups, but got {self.in_channels} and {self.groups}"
            )
        inner, outer = self.in_channels, self.out_channels
        ends = (inner, outer // self.groups) if self.transposed else (outer, inner // self.groups)
        self.weight.materialize((*ends, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((outer,))
        self.reset_parameters()

    def _get_in_channels(self: Any, input: Tensor) -> int:
        dims = self._dims
        if input.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return int(input.shape[1] if input.dim() == dims + 2 else input.shape[0])


class _LazyConvolution(_LazyConvXdMixin, _Convolution):
    """A convolution that takes the number of input channels from the first input."""

    def __init__(
        self,
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
        sizes = (kernel_size, stride, padding, dilation)
        super().__init__(0, 0, *sizes, groups, False, padding_mode, device, dtype)
        self._become_lazy(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvXdMixin, _ConvTransposeNd):
    """A transposed convolution that takes the number of input channels from the first input."""

    def __init__(
        self,
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
        sizes = (kernel_size, stride, padding, output_padding)
        super().__init__(0, 0, *sizes, groups, False, dilation, padding_mode, device, dtype)
        self._become_lazy(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConvolution, Conv1d):
    r"""`Conv1d` without `in_channels`, which the first input determines.

    Formula:
        .. math::

            y_{n, o, p} = b_o + \sum_{c=1}^{C_{\mathrm{in}} / \mathrm{groups}} \sum_{k} W_{o, c, k} \,
            x_{n, \, c(o), \, p \cdot \mathrm{stride} - \mathrm{padding} + k \cdot \mathrm{dilation}}

        `n` is a sample, `o` an output channel, `c(o)` channel `c` of its group, `p` a position of the output and
        `k` an offset in the kernel, both counted from 0. `W` is `weight` and `b` is `bias`. Elements outside of the
        input come from `padding_mode`.

    Args:
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
        weight, bias (UninitializedParameter): Without a shape before the first call. Then as of `Conv1d`.

    Notes:
        - The first call reads `in_channels` from the input, creates and initializes the parameters, and changes the
          class of the layer to `Conv1d`. Formula and numerics are those of that layer.
        - Call the layer once before the parameters are counted, copied to other processes or passed to an optimizer
          that reads their sizes. `load_state_dict` also gives them their shapes.

    Raises:
        ValueError: If `groups` isn't positive or doesn't divide both numbers of channels, `padding` is another
            text, "same" meets a stride, or `padding_mode` has another name.
        RuntimeError: If the kernel exceeds the padded input, or the input has other dimensions, channels or another
            type, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.LazyConv1d(8, 3)
        >>> layer(tl_core.zeros(2, 5, 9)).shape
        torch.Size([2, 8, 7])
        >>> layer
        Conv1d(5, 8, kernel_size=(3,), stride=(1,))
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvolution, Conv2d):
    r"""`Conv2d` without `in_channels`, which the first input determines.

    Formula:
        .. math::

            y_{n, o, p} = b_o + \sum_{c=1}^{C_{\mathrm{in}} / \mathrm{groups}} \sum_{k} W_{o, c, k} \,
            x_{n, \, c(o), \, p \cdot \mathrm{stride} - \mathrm{padding} + k \cdot \mathrm{dilation}}

        `n` is a sample, `o` an output channel, `c(o)` channel `c` of its group, `p` a position of the output and
        `k` an offset in the kernel, vectors of two numbers counted from 0. `W` is `weight` and `b` is `bias`.
        Elements outside of the input come from `padding_mode`.

    Args:
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
        weight, bias (UninitializedParameter): Without a shape before the first call. Then as of `Conv2d`.

    Notes:
        - The first call reads `in_channels` from the input, creates and initializes the parameters, and changes the
          class of the layer to `Conv2d`. Formula and numerics are those of that layer.
        - Call the layer once before the parameters are counted, copied to other processes or passed to an optimizer
          that reads their sizes. `load_state_dict` also gives them their shapes.

    Raises:
        ValueError: If `groups` isn't positive or doesn't divide both numbers of channels, `padding` is another
            text, "same" meets a stride, or `padding_mode` has another name.
        RuntimeError: If the kernel exceeds the padded input, or the input has other dimensions, channels or another
            type, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LazyConv2d(8, 3)(tl_core.zeros(2, 5, 9, 9)).shape
        torch.Size([2, 8, 7, 7])
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvolution, Conv3d):
    r"""`Conv3d` without `in_channels`, which the first input determines.

    Formula:
        .. math::

            y_{n, o, p} = b_o + \sum_{c=1}^{C_{\mathrm{in}} / \mathrm{groups}} \sum_{k} W_{o, c, k} \,
            x_{n, \, c(o), \, p \cdot \mathrm{stride} - \mathrm{padding} + k \cdot \mathrm{dilation}}

        `n` is a sample, `o` an output channel, `c(o)` channel `c` of its group, `p` a position of the output and
        `k` an offset in the kernel, vectors of three numbers counted from 0. `W` is `weight` and `b` is `bias`.
        Elements outside of the input come from `padding_mode`.

    Args:
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
        weight, bias (UninitializedParameter): Without a shape before the first call. Then as of `Conv3d`.

    Notes:
        - The first call reads `in_channels` from the input, creates and initializes the parameters, and changes the
          class of the layer to `Conv3d`. Formula and numerics are those of that layer.
        - Call the layer once before the parameters are counted, copied to other processes or passed to an optimizer
          that reads their sizes. `load_state_dict` also gives them their shapes.

    Raises:
        ValueError: If `groups` isn't positive or doesn't divide both numbers of channels, `padding` is another
            text, "same" meets a stride, or `padding_mode` has another name.
        RuntimeError: If the kernel exceeds the padded input, or the input has other dimensions, channels or another
            type, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LazyConv3d(8, 3)(tl_core.zeros(2, 5, 9, 9, 9)).shape
        torch.Size([2, 8, 7, 7, 7])
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    r"""`ConvTranspose1d` without `in_channels`, which the first input determines.

    Formula:
        .. math::

            y_{n, o, q} = b_o + \sum_{c} \; \sum_{(p, k) \, : \; p \cdot \mathrm{stride} + k \cdot \mathrm{dilation}
            - \mathrm{padding} = q} W_{c, o, k} \, x_{n, c, p}

        `n` is a sample, `o` an output channel, `c` an input channel of its group, `q` a position of the output, `p`
        one of the input and `k` an offset in the kernel, counted from 0. `W` is `weight` and `b` is `bias`. The map
        is the transpose of the convolution with the same options, the gradient of `Conv1d` by its input.

    Args:
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
        weight, bias (UninitializedParameter): Without a shape before the first call. Then as of `ConvTranspose1d`.

    Notes:
        - The first call reads `in_channels` from the input, creates and initializes the parameters, and changes the
          class of the layer to `ConvTranspose1d`. Formula and numerics are those of that layer.
        - Call the layer once before the parameters are counted, copied to other processes or passed to an optimizer
          that reads their sizes. `load_state_dict` also gives them their shapes.

    Raises:
        ValueError: If `groups` isn't positive or doesn't divide both numbers of channels, `padding_mode` has
            another name, or `output_size` is no possible size, when the layer is called.
        RuntimeError: If `output_padding` is neither less than the stride nor less than the dilation, or the input
            has other dimensions, channels or another type, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LazyConvTranspose1d(8, 3, stride=2)(tl_core.zeros(2, 5, 9)).shape
        torch.Size([2, 8, 19])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    r"""`ConvTranspose2d` without `in_channels`, which the first input determines.

    Formula:
        .. math::

            y_{n, o, q} = b_o + \sum_{c} \; \sum_{(p, k) \, : \; p \cdot \mathrm{stride} + k \cdot \mathrm{dilation}
            - \mathrm{padding} = q} W_{c, o, k} \, x_{n, c, p}

        `n` is a sample, `o` an output channel, `c` an input channel of its group, `q` a position of the output, `p`
        one of the input and `k` an offset in the kernel: vectors of two numbers counted from 0. `W` is `weight` and
        `b` is `bias`. The map is the transpose of the convolution with the same options, the gradient of `Conv2d`
        by its input.

    Args:
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
        weight, bias (UninitializedParameter): Without a shape before the first call. Then as of `ConvTranspose2d`.

    Notes:
        - The first call reads `in_channels` from the input, creates and initializes the parameters, and changes the
          class of the layer to `ConvTranspose2d`. Formula and numerics are those of that layer.
        - Call the layer once before the parameters are counted, copied to other processes or passed to an optimizer
          that reads their sizes. `load_state_dict` also gives them their shapes.

    Raises:
        ValueError: If `groups` isn't positive or doesn't divide both numbers of channels, `padding_mode` has
            another name, or `output_size` is no possible size, when the layer is called.
        RuntimeError: If `output_padding` is neither less than the stride nor less than the dilation, or the input
            has other dimensions, channels or another type, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LazyConvTranspose2d(8, 3)(tl_core.zeros(2, 5, 9, 9)).shape
        torch.Size([2, 8, 11, 11])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    r"""`ConvTranspose3d` without `in_channels`, which the first input determines.

    Formula:
        .. math::

            y_{n, o, q} = b_o + \sum_{c} \; \sum_{(p, k) \, : \; p \cdot \mathrm{stride} + k \cdot \mathrm{dilation}
            - \mathrm{padding} = q} W_{c, o, k} \, x_{n, c, p}

        `n` is a sample, `o` an output channel, `c` an input channel of its group, `q` a position of the output, `p`
        one of the input and `k` an offset in the kernel: vectors of three numbers counted from 0. `W` is `weight`
        and `b` is `bias`. The map is the transpose of the convolution with the same options, the gradient of
        `Conv3d` by its input.

    Args:
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
        weight, bias (UninitializedParameter): Without a shape before the first call. Then as of `ConvTranspose3d`.

    Notes:
        - The first call reads `in_channels` from the input, creates and initializes the parameters, and changes the
          class of the layer to `ConvTranspose3d`. Formula and numerics are those of that layer.
        - Call the layer once before the parameters are counted, copied to other processes or passed to an optimizer
          that reads their sizes. `load_state_dict` also gives them their shapes.

    Raises:
        ValueError: If `groups` isn't positive or doesn't divide both numbers of channels, `padding_mode` has
            another name, or `output_size` is no possible size, when the layer is called.
        RuntimeError: If `output_padding` is neither less than the stride nor less than the dilation, or the input
            has other dimensions, channels or another type, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LazyConvTranspose3d(8, 3)(tl_core.zeros(2, 5, 4, 4, 4)).shape
        torch.Size([2, 8, 6, 6, 6])
    """

    cls_to_become = ConvTranspose3d
