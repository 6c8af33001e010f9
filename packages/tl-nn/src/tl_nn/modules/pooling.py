"""Pooling layers: maxima and their inverse, and the names of all."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

# Their documented path is here.
from .adaptive_pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
)
from .average_pooling import AvgPool1d, AvgPool2d, AvgPool3d, LPPool1d, LPPool2d, LPPool3d
from .base_pooling import _Pool
from .fractional_pooling import FractionalMaxPool2d, FractionalMaxPool3d
from .utils import _ntuple

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class _MaxPoolNd(_Pool):
    """The largest element of each window."""

    __constants__ = [
        "kernel_size",
        "stride",
        "padding",
        "dilation",
        "return_indices",
        "ceil_mode",
    ]
    return_indices: bool
    ceil_mode: bool

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        """The largest elements, and with `return_indices` their indices in each plane."""
        return self._pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    r"""The largest element of each window of sequences, channel by channel.

    Formula:
        .. math::

            y_{n, c, p} =
            \max_{k} \; x_{n, c, \, p \cdot \mathrm{stride} - \mathrm{padding} + k \cdot \mathrm{dilation}}

        `p` is a position of the output and `k` an offset in the window, counted from 0. Elements outside of the
        input are never the maximum.

    Args:
        kernel_size (int or tuple of one int): The extent of a window.
        stride (int or tuple of one int, optional): The distance of the windows. None selects the window's size.
        padding (int or tuple of one int): The number of elements added at both ends of each spatial dimension, at
            most half of the window's extent. They are never the maximum. The default is 0.
        dilation (int or tuple of one int): The distance of the elements of a window. The default is 1.
        return_indices (bool): Whether the indices of the maxima are returned too. The default is False.
        ceil_mode (bool): Whether the last window may reach over the end of the input. The default is False.

    Shape:
        - Input: `(N, C, L)` or `(C, L)`.
        - Output: `(N, C, L_out)` or `(C, L_out)`, with

        .. math::

            L_{\mathrm{out}} =
            \left\lfloor \frac{L +
            2 \cdot \mathrm{padding} - \mathrm{dilation} \cdot (\mathrm{kernel\_size} - 1) - 1}{\mathrm{stride}}
            \right\rfloor + 1

        With `ceil_mode` the quotient is rounded up, and a last window that would begin behind the input is left
        out.

        - Indices, with `return_indices`: the shape of the output, as second element of a pair.

    Notes:
        - Of equal elements the first in memory is the maximum, and the gradient goes to it alone. NaN exceeds every
          number: a window with NaN gives the last one.
        - An index is a position in the flattened spatial dimensions of a channel, of type int64.
        - Input of integer types is accepted, bool and complex input isn't. The batch may have size 0.
        - `MaxUnpool1d` reverses the layer by the indices.

    Raises:
        RuntimeError: If the padding is more than half of the window, the output would be empty, or the input has
            another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.MaxPool1d(2)(tl_core.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[3., 2.]])
    """

    _function = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    r"""The largest element of each window of images, channel by channel.

    Formula:
        .. math::

            y_{n, c, p} =
            \max_{k} \; x_{n, c, \, p \cdot \mathrm{stride} - \mathrm{padding} + k \cdot \mathrm{dilation}}

        `p` is a position of the output and `k` an offset in the window: vectors of two numbers counted from 0.
        Elements outside of the input are never the maximum.

    Args:
        kernel_size (int or tuple of two): The extent of a window.
        stride (int or tuple of two, optional): The distance of the windows. None selects the window's size.
        padding (int or tuple of two): The number of elements added at both ends of each spatial dimension, at most
            half of the window's extent. They are never the maximum. The default is 0.
        dilation (int or tuple of two): The distance of the elements of a window. The default is 1.
        return_indices (bool): Whether the indices of the maxima are returned too. The default is False.
        ceil_mode (bool): Whether the last window may reach over the end of the input. The default is False.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`, with

        .. math::

            S_{\mathrm{out}} =
            \left\lfloor \frac{S +
            2 \cdot \mathrm{padding} - \mathrm{dilation} \cdot (\mathrm{kernel\_size} - 1) - 1}{\mathrm{stride}}
            \right\rfloor + 1

        The formula holds for each spatial size, here `S`, with the number of that dimension of each argument. With
        `ceil_mode` the quotient is rounded up, and a last window that would begin behind the input is left out.

        - Indices, with `return_indices`: the shape of the output, as second element of a pair.

    Notes:
        - Of equal elements the first in memory is the maximum, and the gradient goes to it alone. NaN exceeds every
          number: a window with NaN gives the last one.
        - An index is a position in the flattened spatial dimensions of a channel, of type int64.
        - Input of integer types is accepted, bool and complex input isn't. The batch may have size 0.
        - `MaxUnpool2d` reverses the layer by the indices.

    Raises:
        RuntimeError: If the padding is more than half of the window, the output would be empty, or the input has
            another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.MaxPool2d(2)(tl_core.arange(8.0).view(1, 2, 4))
        tensor([[[5., 7.]]])
    """

    _function = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    r"""The largest element of each window of volumes, channel by channel.

    Formula:
        .. math::

            y_{n, c, p} =
            \max_{k} \; x_{n, c, \, p \cdot \mathrm{stride} - \mathrm{padding} + k \cdot \mathrm{dilation}}

        `p` is a position of the output and `k` an offset in the window: vectors of three numbers counted from 0.
        Elements outside of the input are never the maximum.

    Args:
        kernel_size (int or tuple of three): The extent of a window.
        stride (int or tuple of three, optional): The distance of the windows. None selects the window's size.
        padding (int or tuple of three): The number of elements added at both ends of each spatial dimension, at
            most half of the window's extent. They are never the maximum. The default is 0.
        dilation (int or tuple of three): The distance of the elements of a window. The default is 1.
        return_indices (bool): Whether the indices of the maxima are returned too. The default is False.
        ceil_mode (bool): Whether the last window may reach over the end of the input. The default is False.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: `(N, C, D_out, H_out, W_out)` or `(C, D_out, H_out, W_out)`, with

        .. math::

            S_{\mathrm{out}} =
            \left\lfloor \frac{S +
            2 \cdot \mathrm{padding} - \mathrm{dilation} \cdot (\mathrm{kernel\_size} - 1) - 1}{\mathrm{stride}}
            \right\rfloor + 1

        The formula holds for each spatial size, here `S`, with the number of that dimension of each argument. With
        `ceil_mode` the quotient is rounded up, and a last window that would begin behind the input is left out.

        - Indices, with `return_indices`: the shape of the output, as second element of a pair.

    Notes:
        - Of equal elements the first in memory is the maximum, and the gradient goes to it alone. NaN exceeds every
          number: a window with NaN gives the last one.
        - An index is a position in the flattened spatial dimensions of a channel, of type int64.
        - Input of integer types is accepted, bool and complex input isn't. The batch may have size 0.
        - `MaxUnpool3d` reverses the layer by the indices.

    Raises:
        RuntimeError: If the padding is more than half of the window, the output would be empty, or the input has
            another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.MaxPool3d(3, stride=2, padding=1)(tl_core.zeros(1, 4, 8, 7, 6)).shape
        torch.Size([1, 4, 4, 4, 3])
    """

    _function = "max_pool3d"


class _MaxUnpoolNd(_Pool):
    """Puts the largest elements back to their indices."""

    _dims: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        each = _ntuple(self._dims)
        self.kernel_size = each(kernel_size)
        self.stride = each(kernel_size if stride is None else stride)
        self.padding = each(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        """The elements of `input` at `indices`, which `MaxPool` gave, and zeros elsewhere."""
        return self._pool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    r"""Puts the maxima of `MaxPool1d` back to their positions, among zeros.

    Formula:
        .. math::

            y_{n, c, i} = \begin{cases} x_{n, c, p} & i =
            \mathrm{index}_{n, c, p} \\ 0 & \text{otherwise} \end{cases}

        `i` is a position in the flattened spatial dimensions of the output, `p` a position of the input.

    Args:
        kernel_size (int or tuple of one int): The extent of a window of the pooling.
        stride (int or tuple of one int, optional): The distance of the windows. None selects the window's size.
        padding (int or tuple of one int): The padding of the pooling. The default is 0.

    Shape:
        - Input and indices: `(N, C, L)` or `(C, L)`. The indices are int64.
        - Output: `(N, C, L_out)` or `(C, L_out)`, with

        .. math::

            L_{\mathrm{out}} = (L - 1) \cdot \mathrm{stride} - 2 \cdot \mathrm{padding} + \mathrm{kernel\_size}

        The argument `output_size` of the call selects another size, which differs from this one by less than the
        stride.

    Notes:
        - Several inputs of the pooling may have the same output size, so pass the input's size as `output_size`
          where the stride doesn't divide it.
        - Where an index repeats, as by overlapping windows, the last value in memory remains. The gradient of an
          input element is that of its index.

    Raises:
        ValueError: If `output_size` differs from the usual size by the stride or more, when the layer is called.
        RuntimeError: If an index is outside of the output or not int64, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> pool = tl_nn.MaxPool1d(2, return_indices=True)
        >>> tl_nn.MaxUnpool1d(2)(*pool(tl_core.tensor([[1.0, 3.0, 2.0, 0.0]])))
        tensor([[0., 3., 2., 0.]])
    """

    _dims = 1
    _function = "max_unpool1d"


class MaxUnpool2d(_MaxUnpoolNd):
    r"""Puts the maxima of `MaxPool2d` back to their positions, among zeros.

    Formula:
        .. math::

            y_{n, c, i} = \begin{cases} x_{n, c, p} & i =
            \mathrm{index}_{n, c, p} \\ 0 & \text{otherwise} \end{cases}

        `i` is a position in the flattened spatial dimensions of the output, `p` a position of the input.

    Args:
        kernel_size (int or tuple of two): The extent of a window of the pooling.
        stride (int or tuple of two, optional): The distance of the windows. None selects the window's size.
        padding (int or tuple of two): The padding of the pooling. The default is 0.

    Shape:
        - Input and indices: `(N, C, H, W)` or `(C, H, W)`. The indices are int64.
        - Output: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`, with

        .. math::

            S_{\mathrm{out}} = (S - 1) \cdot \mathrm{stride} - 2 \cdot \mathrm{padding} + \mathrm{kernel\_size}

        The formula holds for each spatial size, here `S`, with the number of that dimension of each argument. The
        argument `output_size` of the call selects another size, which differs from this one by less than the
        stride.

    Notes:
        - Several inputs of the pooling may have the same output size, so pass the input's size as `output_size`
          where the stride doesn't divide it.
        - Where an index repeats, as by overlapping windows, the last value in memory remains. The gradient of an
          input element is that of its index.

    Raises:
        ValueError: If `output_size` differs from the usual size by the stride or more, when the layer is called.
        RuntimeError: If an index is outside of the output or not int64, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> pool, unpool = tl_nn.MaxPool2d(2, return_indices=True), tl_nn.MaxUnpool2d(2)
        >>> unpool(*pool(tl_core.tensor([[[1.0, 9.0], [2.0, 3.0]]])))
        tensor([[[0., 9.],
                 [0., 0.]]])
    """

    _dims = 2
    _function = "max_unpool2d"


class MaxUnpool3d(_MaxUnpoolNd):
    r"""Puts the maxima of `MaxPool3d` back to their positions, among zeros.

    Formula:
        .. math::

            y_{n, c, i} = \begin{cases} x_{n, c, p} & i =
            \mathrm{index}_{n, c, p} \\ 0 & \text{otherwise} \end{cases}

        `i` is a position in the flattened spatial dimensions of the output, `p` a position of the input.

    Args:
        kernel_size (int or tuple of three): The extent of a window of the pooling.
        stride (int or tuple of three, optional): The distance of the windows. None selects the window's size.
        padding (int or tuple of three): The padding of the pooling. The default is 0.

    Shape:
        - Input and indices: `(N, C, D, H, W)` or `(C, D, H, W)`. The indices are int64.
        - Output: `(N, C, D_out, H_out, W_out)` or `(C, D_out, H_out, W_out)`, with

        .. math::

            S_{\mathrm{out}} = (S - 1) \cdot \mathrm{stride} - 2 \cdot \mathrm{padding} + \mathrm{kernel\_size}

        The formula holds for each spatial size, here `S`, with the number of that dimension of each argument. The
        argument `output_size` of the call selects another size, which differs from this one by less than the
        stride.

    Notes:
        - Several inputs of the pooling may have the same output size, so pass the input's size as `output_size`
          where the stride doesn't divide it.
        - Where an index repeats, as by overlapping windows, the last value in memory remains. The gradient of an
          input element is that of its index.

    Raises:
        ValueError: If `output_size` differs from the usual size by the stride or more, when the layer is called.
        RuntimeError: If an index is outside of the output or not int64, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> pool, unpool = tl_nn.MaxPool3d(2, return_indices=True), tl_nn.MaxUnpool3d(2)
        >>> unpool(*pool(tl_core.zeros(1, 2, 4, 4, 4))).shape
        torch.Size([1, 2, 4, 4, 4])
    """

    _dims = 3
    _function = "max_unpool3d"
