"""Convolution layers."""

from __future__ import annotations

import warnings
from math import sqrt
from typing import Any

import tl_core
from tl_core import Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _ntuple, _reverse_repeat_tuple

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

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """Base class of all convolutions: sizes, parameters, their initialisation."""

    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...] | str
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[int, ...]
    groups: int
    padding_mode: str
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...] | str,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = _padding_of_pad(padding, dilation, kernel_size)
        ends = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(tl_core.empty((*ends, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(tl_core.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        init.kaiming_uniform_(self.weight, a=sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        none = (0,) * len(self.kernel_size)
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        ]
        if self.padding != none:
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * len(self.dilation):
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != none:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "padding_mode" not in self.__dict__:
            self.padding_mode = "zeros"


def _check(
    in_channels: int, out_channels: int, stride: Any, padding: Any, groups: int, padding_mode: str
) -> None:
    if groups <= 0:
        raise ValueError(f"groups must be a positive integer, but got {groups}")
    if in_channels % groups != 0:
        raise ValueError(f"in_channels must be divisible by groups, but got {in_channels} and {groups}")
    if out_channels % groups != 0:
        raise ValueError(f"out_channels must be divisible by groups, but got {out_channels} and {groups}")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same' and 'valid'")
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError(
                f"padding='same' is not supported for strided convolutions, but got stride={stride}"
            )
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            f"padding_mode must be one of {', '.join(_PADDING_MODES)}, but got padding_mode={padding_mode!r}"
        )


def _padding_of_pad(padding: Any, dilation: Any, kernel_size: Any) -> list[int]:
    """The padding as `pad` takes it: the last dimension first, two numbers for each."""
    if not isinstance(padding, str):
        return list(_reverse_repeat_tuple(padding, 2))
    sides = [0] * (2 * len(kernel_size))
    if padding == "same":
        for axis, (step, size) in enumerate(zip(reversed(dilation), reversed(kernel_size), strict=True)):
            total = step * (size - 1)
            sides[2 * axis : 2 * axis + 2] = [total // 2, total - total // 2]
    return sides


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
    """A convolution over one dimension.

    Args:
        in_channels, out_channels (int): The sizes of the channel dimension of input and output.
        kernel_size, stride, padding, dilation (int or tuple): Extent of the kernel, distance of its positions,
            zeros added on both sides of the input (or "same", "valid"), and distance of the elements it sees; one
            number for all spatial dimensions or one for each.
        groups (int): Into how many groups, which don't see each other, the channels are divided.
        bias (bool): Whether a bias is learned.
        padding_mode (str): The source of the padding: "zeros", "reflect", "replicate" or "circular".
        device, dtype (optional): Of the parameters.

    Attributes:
        weight (Parameter, shape (out_channels, in_channels / groups, *kernel_size)): Drawn from the uniform
            distribution on `±1 / sqrt(in_channels / groups * prod(kernel_size))`; where transposed, the first two
            sizes are `in_channels, out_channels / groups`.
        bias (Parameter, shape (out_channels,), or None): Drawn from the same distribution.

    Raises:
        ValueError: If `groups` isn't positive or doesn't divide both numbers of channels, `padding` is another
            text, padding is "same" with a stride, or `padding_mode` has another name.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Conv1d(16, 33, 3, stride=2)(tl_core.zeros(20, 16, 50)).shape
        torch.Size([20, 33, 24])
    """

    _dims = 1
    _function = "conv1d"


class Conv2d(_Convolution):
    """A convolution over two dimensions. See `Conv1d` for arguments, attributes and errors.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of the kernel's positions, by default 1.
        padding: the zeros added on both sides of each spatial dimension, or "same" or "valid".
        dilation: the distance of the elements that the kernel sees, by default 1.
        groups: into how many groups, which don't see each other, the channels are divided.
        bias: whether a bias is learned.
        padding_mode: the source of the padding: "zeros", "reflect", "replicate" or "circular".
        device: the device of the parameters. None selects the default device.
        dtype: the type of the parameters. None selects the default type.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Conv2d(16, 33, 3, stride=2)(tl_core.zeros(20, 16, 50, 100)).shape
        torch.Size([20, 33, 24, 49])
    """

    _dims = 2
    _function = "conv2d"


class Conv3d(_Convolution):
    """A convolution over three dimensions. See `Conv1d` for arguments, attributes and errors.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of the kernel's positions, by default 1.
        padding: the zeros added on both sides of each spatial dimension, or "same" or "valid".
        dilation: the distance of the elements that the kernel sees, by default 1.
        groups: into how many groups, which don't see each other, the channels are divided.
        bias: whether a bias is learned.
        padding_mode: the source of the padding: "zeros", "reflect", "replicate" or "circular".
        device: the device of the parameters. None selects the default device.
        dtype: the type of the parameters. None selects the default type.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Conv3d(2, 3, 3, padding="same")(tl_core.zeros(2, 5, 6, 7)).shape
        torch.Size([3, 5, 6, 7])
    """

    _dims = 3
    _function = "conv3d"


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
        least = [
            (input.size(leading + d) - 1) * self.stride[d]
            - 2 * self.padding[d]
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
    """A transposed convolution over one dimension.

    Args:
        in_channels, out_channels (int): The sizes of the channel dimension of input and output.
        kernel_size, stride, padding, dilation (int or tuple): The options of the convolution whose gradient this is:
            the stride spreads the input, the padding is taken off the output.
        output_padding (int or tuple): Added to one side of the output's size, which a stride leaves open.
        groups (int): Into how many groups, which don't see each other, the channels are divided.
        bias (bool): Whether a bias is learned.
        padding_mode (str): "zeros".
        device, dtype (optional): Of the parameters.

    Attributes:
        weight (Parameter, shape (out_channels, in_channels / groups, *kernel_size)): Drawn from the uniform
            distribution on `±1 / sqrt(in_channels / groups * prod(kernel_size))`; where transposed, the first two
            sizes are `in_channels, out_channels / groups`.
        bias (Parameter, shape (out_channels,), or None): Drawn from the same distribution.

    Raises:
        ValueError: If `groups` isn't positive or doesn't divide both numbers of channels, `padding` is another
            text, padding is "same" with a stride, or `padding_mode` has another name.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ConvTranspose1d(4, 2, 3, stride=2)(tl_core.zeros(1, 4, 5)).shape
        torch.Size([1, 2, 11])
    """

    _dims = 1
    _function = "conv_transpose1d"


class ConvTranspose2d(_ConvTransposeNd):
    """A transposed convolution over two dimensions. See `ConvTranspose1d` for arguments and errors.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the factor by which the input is spread, by default 1.
        padding: the number of elements removed from both sides of the output.
        output_padding: the addition to the output's size, which a stride leaves open. It is less than the
            stride.
        groups: into how many groups, which don't see each other, the channels are divided.
        bias: whether a bias is learned.
        dilation: the distance of the elements that the kernel sees, by default 1.
        padding_mode: "zeros".
        device: the device of the parameters. None selects the default device.
        dtype: the type of the parameters. None selects the default type.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1)
        >>> layer(tl_core.zeros(1, 4, 6, 6), output_size=(12, 12)).shape
        torch.Size([1, 2, 12, 12])
    """

    _dims = 2
    _function = "conv_transpose2d"


class ConvTranspose3d(_ConvTransposeNd):
    """A transposed convolution over three dimensions. See `ConvTranspose1d` for arguments and errors.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the factor by which the input is spread, by default 1.
        padding: the number of elements removed from both sides of the output.
        output_padding: the addition to the output's size, which a stride leaves open. It is less than the
            stride.
        groups: into how many groups, which don't see each other, the channels are divided.
        bias: whether a bias is learned.
        dilation: the distance of the elements that the kernel sees, by default 1.
        padding_mode: "zeros".
        device: the device of the parameters. None selects the default device.
        dtype: the type of the parameters. None selects the default type.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ConvTranspose3d(2, 1, 2, stride=2)(tl_core.zeros(1, 2, 2, 3, 4)).shape
        torch.Size([1, 1, 4, 6, 8])
    """

    _dims = 3
    _function = "conv_transpose3d"


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
    """`Conv1d` without `in_channels`, which the first input determines.

    Args:
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of the kernel's positions, by default 1.
        padding: the zeros added on both sides of each spatial dimension, or "same" or "valid".
        dilation: the distance of the elements that the kernel sees, by default 1.
        groups: into how many groups, which don't see each other, the channels are divided.
        bias: whether a bias is learned.
        padding_mode: the source of the padding: "zeros", "reflect", "replicate" or "circular".
        device: the device of the parameters. None selects the default device.
        dtype: the type of the parameters. None selects the default type.

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
    """`Conv2d` without `in_channels`, which the first input determines.

    Args:
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of the kernel's positions, by default 1.
        padding: the zeros added on both sides of each spatial dimension, or "same" or "valid".
        dilation: the distance of the elements that the kernel sees, by default 1.
        groups: into how many groups, which don't see each other, the channels are divided.
        bias: whether a bias is learned.
        padding_mode: the source of the padding: "zeros", "reflect", "replicate" or "circular".
        device: the device of the parameters. None selects the default device.
        dtype: the type of the parameters. None selects the default type.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LazyConv2d(8, 3)(tl_core.zeros(2, 5, 9, 9)).shape
        torch.Size([2, 8, 7, 7])
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvolution, Conv3d):
    """`Conv3d` without `in_channels`, which the first input determines.

    Args:
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of the kernel's positions, by default 1.
        padding: the zeros added on both sides of each spatial dimension, or "same" or "valid".
        dilation: the distance of the elements that the kernel sees, by default 1.
        groups: into how many groups, which don't see each other, the channels are divided.
        bias: whether a bias is learned.
        padding_mode: the source of the padding: "zeros", "reflect", "replicate" or "circular".
        device: the device of the parameters. None selects the default device.
        dtype: the type of the parameters. None selects the default type.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LazyConv3d(8, 3)(tl_core.zeros(2, 5, 9, 9, 9)).shape
        torch.Size([2, 8, 7, 7, 7])
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """`ConvTranspose1d` without `in_channels`, which the first input determines.

    Args:
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the factor by which the input is spread, by default 1.
        padding: the number of elements removed from both sides of the output.
        output_padding: the addition to the output's size, which a stride leaves open. It is less than the
            stride.
        groups: into how many groups, which don't see each other, the channels are divided.
        bias: whether a bias is learned.
        dilation: the distance of the elements that the kernel sees, by default 1.
        padding_mode: "zeros".
        device: the device of the parameters. None selects the default device.
        dtype: the type of the parameters. None selects the default type.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LazyConvTranspose1d(8, 3, stride=2)(tl_core.zeros(2, 5, 9)).shape
        torch.Size([2, 8, 19])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """`ConvTranspose2d` without `in_channels`, which the first input determines.

    Args:
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the factor by which the input is spread, by default 1.
        padding: the number of elements removed from both sides of the output.
        output_padding: the addition to the output's size, which a stride leaves open. It is less than the
            stride.
        groups: into how many groups, which don't see each other, the channels are divided.
        bias: whether a bias is learned.
        dilation: the distance of the elements that the kernel sees, by default 1.
        padding_mode: "zeros".
        device: the device of the parameters. None selects the default device.
        dtype: the type of the parameters. None selects the default type.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LazyConvTranspose2d(8, 3)(tl_core.zeros(2, 5, 9, 9)).shape
        torch.Size([2, 8, 11, 11])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """`ConvTranspose3d` without `in_channels`, which the first input determines.

    Args:
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the factor by which the input is spread, by default 1.
        padding: the number of elements removed from both sides of the output.
        output_padding: the addition to the output's size, which a stride leaves open. It is less than the
            stride.
        groups: into how many groups, which don't see each other, the channels are divided.
        bias: whether a bias is learned.
        dilation: the distance of the elements that the kernel sees, by default 1.
        padding_mode: "zeros".
        device: the device of the parameters. None selects the default device.
        dtype: the type of the parameters. None selects the default type.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LazyConvTranspose3d(8, 3)(tl_core.zeros(2, 5, 4, 4, 4)).shape
        torch.Size([2, 8, 6, 6, 6])
    """

    cls_to_become = ConvTranspose3d
