"""Means and norms of the windows of a grid."""

import tl_core
from tl_core import Tensor
from tl_core.functions import nn as nn_functions
from tl_core.overrides import overridable

from .window_sizes import Ints, per_axis

__all__ = [
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
]


@overridable
def avg_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window.

    Args:
        input (Tensor, shape (batch, channels, width) or (channels, width)): Of floating numbers or int64.
        kernel_size, stride, padding, ceil_mode: As in `max_pool1d`. The elements of the padding are 0.
        count_include_pad (bool): Whether the elements of the padding count in the mean.

    Raises:
        RuntimeError: If the window doesn't fit, or a number is out of its range.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.avg_pool1d(tl_core.tensor([[1.0, 4.0, 2.0, 3.0]]), 2)
        tensor([[2.5000, 2.5000]])
    """
    step = [] if stride is None else stride
    return tl_core.avg_pool1d(input, kernel_size, step, padding, ceil_mode, count_include_pad)


@overridable
def avg_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of each rectangle of (batch, channels, height, width): see `avg_pool1d`.

    `divisor_override` takes the place of the number of elements. The memory format channels_last is kept.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        stride: the distance of the windows. None selects the window's size.
        padding: the number of elements added on both sides, at most half of the window.
        ceil_mode: whether windows may reach over the end of the input.
        count_include_pad: whether the added zeros count in the mean.
        divisor_override: the divisor of a window's sum instead of its size, not 0.
        out: a tensor that takes the result.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.avg_pool2d(tl_core.arange(8.0).view(1, 2, 4), 2)
        tensor([[[2.5000, 4.5000]]])
    """
    step = [] if stride is None else stride
    named = {} if out is None else {"out": out}
    return nn_functions.avg_pool2d(
        input, kernel_size, step, padding, ceil_mode, count_include_pad, divisor_override, **named
    )


@overridable
def avg_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of each box of (batch, channels, depth, height, width): see `avg_pool2d`.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        stride: the distance of the windows. None selects the window's size.
        padding: the number of elements added on both sides, at most half of the window.
        ceil_mode: whether windows may reach over the end of the input.
        count_include_pad: whether the added zeros count in the mean.
        divisor_override: the divisor of a window's sum instead of its size, not 0.
        out: a tensor that takes the result.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.avg_pool3d(tl_core.arange(8.0).view(1, 2, 2, 2), 2)
        tensor([[[[3.5000]]]])
    """
    step = [] if stride is None else stride
    named = {} if out is None else {"out": out}
    return nn_functions.avg_pool3d(
        input, kernel_size, step, padding, ceil_mode, count_include_pad, divisor_override, **named
    )


def _lp_pool(
    n: int, input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None, ceil_mode: bool
) -> Tensor:
    mean = (avg_pool1d, avg_pool2d, avg_pool3d)[n - 1]
    power = mean(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    count = 1
    for size in per_axis(kernel_size, n):
        count *= size
    return (tl_core.sign(power) * tl_core.relu(tl_core.abs(power))).mul(count).pow(1.0 / norm_type)


@overridable
def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """The p-norm of each window, `sum(x ** p) ** (1 / p)` with `p = norm_type`.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        norm_type: the exponent p, not 0.
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        stride: the distance of the windows. None selects the window's size.
        ceil_mode: whether windows may reach over the end of the input.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.lp_pool1d(tl_core.tensor([[3.0, 4.0]]), 2, 2)
        tensor([[5.]])
    """
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


@overridable
def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """The p-norm of each rectangle: see `lp_pool1d`.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        norm_type: the exponent p, not 0.
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        stride: the distance of the windows. None selects the window's size.
        ceil_mode: whether windows may reach over the end of the input.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.lp_pool2d(tl_core.tensor([[[3.0, 0.0], [0.0, 4.0]]]), 2, 2)
        tensor([[[5.]]])
    """
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


@overridable
def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """The p-norm of each box: see `lp_pool1d`.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        norm_type: the exponent p, not 0.
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        stride: the distance of the windows. None selects the window's size.
        ceil_mode: whether windows may reach over the end of the input.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.lp_pool3d(tl_core.ones(1, 2, 2, 2), 1, 2)
        tensor([[[[8.]]]])
    """
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)
