"""Pooling by means and norms of windows."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from .. import functional as F
from .base_pooling import _Pool
from .utils import _ntuple

__all__ = [
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
]


class _AvgPoolNd(_Pool):
    """The mean of each window."""

    __constants__ = [
        "kernel_size",
        "stride",
        "padding",
        "ceil_mode",
        "count_include_pad",
    ]

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    r"""The mean of each window of sequences, channel by channel.

    Formula:
        .. math::

            y_{n, c, p} = \frac{1}{m} \sum_{k} x_{n, c, \, p \cdot \mathrm{stride} - \mathrm{padding} + k}

        `p` is a position of the output and `k` an offset in the window, counted from 0. Elements outside of the
        input are 0. `m` is the number of elements of the window, without the added elements if `count_include_pad`
        is False.

    Args:
        kernel_size (int or tuple of one int): The extent of a window.
        stride (int or tuple of one int, optional): The distance of the windows. None selects the window's size.
        padding (int or tuple of one int): The number of elements added at both ends of each spatial dimension, at
            most half of the window's extent. They are 0. The default is 0.
        ceil_mode (bool): Whether the last window may reach over the end of the input. The default is False.
        count_include_pad (bool): Whether the added elements count in `m`. The default is True.

    Shape:
        - Input: `(N, C, L)` or `(C, L)`.
        - Output: `(N, C, L_out)` or `(C, L_out)`, with

        .. math::

            L_{\mathrm{out}} =
            \left\lfloor \frac{L +
            2 \cdot \mathrm{padding} - \mathrm{kernel\_size}}{\mathrm{stride}} \right\rfloor + 1

        With `ceil_mode` the quotient is rounded up, and a last window that would begin behind the input is left
        out.

    Notes:
        - Where `ceil_mode` lets a window reach over the padded input, the elements behind the padding never count
          in `m`.
        - float16 and bfloat16 are summed in float32 and rounded once. int64 is accepted: the quotient is rounded
          towards 0.

    Raises:
        RuntimeError: If the padding is more than half of the window, the output would be empty, or the input has
            another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.AvgPool1d(2)(tl_core.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[2., 1.]])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        single = _ntuple(1)
        self.kernel_size = single(kernel_size)
        self.stride = single(kernel_size if stride is None else stride)
        self.padding = single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """The means."""
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )


class _DividedAvgPoolNd(_AvgPoolNd):
    """The mean of each window, or its sum divided by another number."""

    __constants__ = [*_AvgPoolNd.__constants__, "divisor_override"]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """The means."""
        return self._pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool2d(_DividedAvgPoolNd):
    r"""The mean of each window of images, channel by channel.

    Formula:
        .. math::

            y_{n, c, p} = \frac{1}{m} \sum_{k} x_{n, c, \, p \cdot \mathrm{stride} - \mathrm{padding} + k}

        `p` is a position of the output and `k` an offset in the window: vectors of two numbers counted from 0.
        Elements outside of the input are 0. `m` is the number of elements of the window or `divisor_override`,
        without the added elements if `count_include_pad` is False.

    Args:
        kernel_size (int or tuple of two): The extent of a window.
        stride (int or tuple of two, optional): The distance of the windows. None selects the window's size.
        padding (int or tuple of two): The number of elements added at both ends of each spatial dimension, at most
            half of the window's extent. They are 0. The default is 0.
        ceil_mode (bool): Whether the last window may reach over the end of the input. The default is False.
        count_include_pad (bool): Whether the added elements count in `m`. The default is True.
        divisor_override (int, optional): A divisor of each window's sum instead of the number of its elements, not
            0.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`, with

        .. math::

            S_{\mathrm{out}} =
            \left\lfloor \frac{S +
            2 \cdot \mathrm{padding} - \mathrm{kernel\_size}}{\mathrm{stride}} \right\rfloor + 1

        The formula holds for each spatial size, here `S`, with the number of that dimension of each argument. With
        `ceil_mode` the quotient is rounded up, and a last window that would begin behind the input is left out.

    Notes:
        - Where `ceil_mode` lets a window reach over the padded input, the elements behind the padding never count
          in `m`.
        - float16 and bfloat16 are summed in float32 and rounded once. int64 is accepted: the quotient is rounded
          towards 0.

    Raises:
        RuntimeError: If the padding is more than half of the window, the output would be empty, `divisor_override`
            is 0, or the input has another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.AvgPool2d(2)(tl_core.arange(8.0).view(1, 2, 4))
        tensor([[[2.5000, 4.5000]]])
    """

    _function = "avg_pool2d"


class AvgPool3d(_DividedAvgPoolNd):
    r"""The mean of each window of volumes, channel by channel.

    Formula:
        .. math::

            y_{n, c, p} = \frac{1}{m} \sum_{k} x_{n, c, \, p \cdot \mathrm{stride} - \mathrm{padding} + k}

        `p` is a position of the output and `k` an offset in the window: vectors of three numbers counted from 0.
        Elements outside of the input are 0. `m` is the number of elements of the window or `divisor_override`,
        without the added elements if `count_include_pad` is False.

    Args:
        kernel_size (int or tuple of three): The extent of a window.
        stride (int or tuple of three, optional): The distance of the windows. None selects the window's size.
        padding (int or tuple of three): The number of elements added at both ends of each spatial dimension, at
            most half of the window's extent. They are 0. The default is 0.
        ceil_mode (bool): Whether the last window may reach over the end of the input. The default is False.
        count_include_pad (bool): Whether the added elements count in `m`. The default is True.
        divisor_override (int, optional): A divisor of each window's sum instead of the number of its elements, not
            0.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: `(N, C, D_out, H_out, W_out)` or `(C, D_out, H_out, W_out)`, with

        .. math::

            S_{\mathrm{out}} =
            \left\lfloor \frac{S +
            2 \cdot \mathrm{padding} - \mathrm{kernel\_size}}{\mathrm{stride}} \right\rfloor + 1

        The formula holds for each spatial size, here `S`, with the number of that dimension of each argument. With
        `ceil_mode` the quotient is rounded up, and a last window that would begin behind the input is left out.

    Notes:
        - Where `ceil_mode` lets a window reach over the padded input, the elements behind the padding never count
          in `m`.
        - float16 and bfloat16 are summed in float32 and rounded once. int64 is accepted: the quotient is rounded
          towards 0.

    Raises:
        RuntimeError: If the padding is more than half of the window, the output would be empty, `divisor_override`
            is 0, or the input has another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.AvgPool3d(2, stride=1)(tl_core.zeros(1, 4, 8, 7, 6)).shape
        torch.Size([1, 4, 7, 6, 5])
    """

    _function = "avg_pool3d"

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"padding": 0, "ceil_mode": False, "count_include_pad": True, **state})


class _LPPoolNd(_Pool):
    """The norm of each window."""

    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """The norms."""
        return self._pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    r"""The p-norm of each window of sequences, channel by channel.

    Formula:
        .. math::

            y_{n, c, q} = \left( \sum_{k} x_{n, c, \, q \cdot \mathrm{stride} + k}^{\; p} \right)^{1 / p}

        `q` is a position of the output, `k` an offset in the window, and `p` is `norm_type`.

    Args:
        norm_type (float): The exponent `p`, not 0.
        kernel_size (int or tuple of one int): The extent of a window.
        stride (int or tuple of one int, optional): The distance of the windows. None selects the window's size.
        ceil_mode (bool): Whether the last window may reach over the end of the input. The default is False.

    Shape:
        - Input: `(N, C, L)` or `(C, L)`.
        - Output: `(N, C, L_out)` or `(C, L_out)`, with

        .. math::

            L_{\mathrm{out}} = \left\lfloor \frac{L - \mathrm{kernel\_size}}{\mathrm{stride}} \right\rfloor + 1

        With `ceil_mode` the quotient is rounded up, and a last window that would begin behind the input is left
        out.

    Notes:
        - `p = 1` is the sum of the window. Powers have no absolute value: an odd or fractional `p` fits input
          without negative numbers, otherwise a negative sum gives NaN.
        - Infinity isn't a supported exponent: the maximum is `MaxPool1d`.
        - The gradient of a window whose sum is 0 is 0 for `p = 2`.
        - With `ceil_mode` a window that reaches over the end counts as full: its sum is scaled by the share that is
          missing.

    Raises:
        ZeroDivisionError: If `norm_type` is 0, when the layer is called.
        RuntimeError: If the output would be empty, or the input has another number of dimensions, when the layer is
            called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LPPool1d(2, 2)(tl_core.tensor([[3.0, 4.0]]))
        tensor([[5.]])
    """

    _function = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    r"""The p-norm of each window of images, channel by channel.

    Formula:
        .. math::

            y_{n, c, q} = \left( \sum_{k} x_{n, c, \, q \cdot \mathrm{stride} + k}^{\; p} \right)^{1 / p}

        `q` is a position of the output, `k` an offset in the window, and `p` is `norm_type`.

    Args:
        norm_type (float): The exponent `p`, not 0.
        kernel_size (int or tuple of two): The extent of a window.
        stride (int or tuple of two, optional): The distance of the windows. None selects the window's size.
        ceil_mode (bool): Whether the last window may reach over the end of the input. The default is False.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`, with

        .. math::

            S_{\mathrm{out}} = \left\lfloor \frac{S - \mathrm{kernel\_size}}{\mathrm{stride}} \right\rfloor + 1

        The formula holds for each spatial size, here `S`, with the number of that dimension of each argument. With
        `ceil_mode` the quotient is rounded up, and a last window that would begin behind the input is left out.

    Notes:
        - `p = 1` is the sum of the window. Powers have no absolute value: an odd or fractional `p` fits input
          without negative numbers, otherwise a negative sum gives NaN.
        - Infinity isn't a supported exponent: the maximum is `MaxPool2d`.
        - The gradient of a window whose sum is 0 is 0 for `p = 2`.
        - With `ceil_mode` a window that reaches over the end counts as full: its sum is scaled by the share that is
          missing.

    Raises:
        ZeroDivisionError: If `norm_type` is 0, when the layer is called.
        RuntimeError: If the output would be empty, or the input has another number of dimensions, when the layer is
            called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LPPool2d(2, 2)(tl_core.tensor([[[3.0, 0.0], [0.0, 4.0]]]))
        tensor([[[5.]]])
    """

    _function = "lp_pool2d"


class LPPool3d(_LPPoolNd):
    r"""The p-norm of each window of volumes, channel by channel.

    Formula:
        .. math::

            y_{n, c, q} = \left( \sum_{k} x_{n, c, \, q \cdot \mathrm{stride} + k}^{\; p} \right)^{1 / p}

        `q` is a position of the output, `k` an offset in the window, and `p` is `norm_type`.

    Args:
        norm_type (float): The exponent `p`, not 0.
        kernel_size (int or tuple of three): The extent of a window.
        stride (int or tuple of three, optional): The distance of the windows. None selects the window's size.
        ceil_mode (bool): Whether the last window may reach over the end of the input. The default is False.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: `(N, C, D_out, H_out, W_out)` or `(C, D_out, H_out, W_out)`, with

        .. math::

            S_{\mathrm{out}} = \left\lfloor \frac{S - \mathrm{kernel\_size}}{\mathrm{stride}} \right\rfloor + 1

        The formula holds for each spatial size, here `S`, with the number of that dimension of each argument. With
        `ceil_mode` the quotient is rounded up, and a last window that would begin behind the input is left out.

    Notes:
        - `p = 1` is the sum of the window. Powers have no absolute value: an odd or fractional `p` fits input
          without negative numbers, otherwise a negative sum gives NaN.
        - Infinity isn't a supported exponent: the maximum is `MaxPool3d`.
        - The gradient of a window whose sum is 0 is 0 for `p = 2`.
        - With `ceil_mode` a window that reaches over the end counts as full: its sum is scaled by the share that is
          missing.

    Raises:
        ZeroDivisionError: If `norm_type` is 0, when the layer is called.
        RuntimeError: If the output would be empty, or the input has another number of dimensions, when the layer is
            called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LPPool3d(1, 2)(tl_core.ones(1, 2, 2, 2))
        tensor([[[[8.]]]])
    """

    _function = "lp_pool3d"
