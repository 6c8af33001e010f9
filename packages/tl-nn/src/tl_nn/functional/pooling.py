"""Maxima, means and norms of windows of a grid."""

from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.functions import nn as nn_functions
from tl_core.overrides import overridable

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]

Ints = int | Sequence[int]


def _each(value: Ints, n: int) -> list[int]:
    """One number for each of `n` axes."""
    items = [value] if isinstance(value, int) else list(value)
    return items * n if len(items) == 1 else items


# Maxima


_MAXIMA = (tl_core.max_pool1d, tl_core.max_pool2d, tl_core.max_pool3d)
_MAXIMA_WITH_INDICES = (
    tl_core.max_pool1d_with_indices,
    nn_functions.max_pool2d_with_indices,
    nn_functions.max_pool3d_with_indices,
)


def _max_pool(
    n: int, input: Tensor, kernel_size: Ints, stride: Ints | None, *rest: Any, return_indices: bool
) -> Any:
    pool: Any = (_MAXIMA_WITH_INDICES if return_indices else _MAXIMA)[n - 1]
    return pool(input, kernel_size, [] if stride is None else stride, *rest)


@overridable
def max_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window.

    Args:
        input (Tensor, shape (batch, channels, width) or (channels, width)): Of floating numbers or integers; NaN
            counts as the largest.
        kernel_size (int): Elements of a window.
        stride (int, optional): The distance of the windows, by default `kernel_size`.
        padding (int): Elements smaller than all others on both sides, at most half of the window.
        dilation (int): From one element of a window to the next.
        ceil_mode (bool): Whether a last window may reach over the edge.
        return_indices (bool): Whether to return also the position of each maximum, or of the first of equal ones.

    Raises:
        RuntimeError: If the window doesn't fit, or a number is out of its range.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.max_pool1d(tl_core.tensor([[1.0, 4.0, 2.0, 3.0]]), 2)
        tensor([[4., 3.]])
    """
    return _max_pool(
        1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=return_indices
    )


@overridable
def max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each rectangle of (batch, channels, height, width): see `max_pool1d`.

    An index counts positions of the channel, row after row. The memory format channels_last is kept.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        stride: the distance of the windows. None selects the window's size.
        padding: the number of elements added on both sides, at most half of the window.
        dilation: the distance of the elements that a window sees.
        ceil_mode: whether windows may reach over the end of the input.
        return_indices: whether the indices of the largest elements in their planes are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.max_pool2d(tl_core.arange(8.0).view(1, 2, 4), 2)
        tensor([[[5., 7.]]])
    """
    return _max_pool(
        2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=return_indices
    )


@overridable
def max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each box of (batch, channels, depth, height, width): see `max_pool2d`.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        stride: the distance of the windows. None selects the window's size.
        padding: the number of elements added on both sides, at most half of the window.
        dilation: the distance of the elements that a window sees.
        ceil_mode: whether windows may reach over the end of the input.
        return_indices: whether the indices of the largest elements in their planes are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.max_pool3d(tl_core.arange(8.0).view(1, 2, 2, 2), 2)
        tensor([[[[7.]]]])
    """
    return _max_pool(
        3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=return_indices
    )


@overridable
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool1d` with the positions of the maxima.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        stride: the distance of the windows. None selects the window's size.
        padding: the number of elements added on both sides, at most half of the window.
        dilation: the distance of the elements that a window sees.
        ceil_mode: whether windows may reach over the end of the input.
        return_indices: whether the indices of the largest elements in their planes are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.max_pool1d_with_indices(tl_core.tensor([[1.0, 5.0, 2.0, 4.0]]), 2)
        (tensor([[5., 4.]]), tensor([[1, 3]]))
    """
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)


@overridable
def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool2d` with the positions of the maxima.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        stride: the distance of the windows. None selects the window's size.
        padding: the number of elements added on both sides, at most half of the window.
        dilation: the distance of the elements that a window sees.
        ceil_mode: whether windows may reach over the end of the input.
        return_indices: whether the indices of the largest elements in their planes are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.max_pool2d_with_indices(tl_core.arange(8.0).view(1, 2, 4), 2)
        (tensor([[[5., 7.]]]), tensor([[[5, 7]]]))
    """
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)


@overridable
def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool3d` with the positions of the maxima.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        stride: the distance of the windows. None selects the window's size.
        padding: the number of elements added on both sides, at most half of the window.
        dilation: the distance of the elements that a window sees.
        ceil_mode: whether windows may reach over the end of the input.
        return_indices: whether the indices of the largest elements in their planes are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.max_pool3d_with_indices(tl_core.arange(8.0).view(1, 2, 2, 2), 2)[1].flatten()
        tensor([7])
    """
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)


# Means


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


# As many windows as the result has elements


def _result_size(input: Tensor, output_size: Any, n: int) -> list[int]:
    """The size of the result: None stands for the input's."""
    sizes = (output_size,) * n if output_size is None or isinstance(output_size, int) else output_size
    if input.dim() <= len(sizes):
        raise ValueError(
            f"Input dimension should be at least {len(sizes) + 1}, got {input.dim()} for output_size={output_size}"
        )
    own = list(input.shape[input.dim() - len(sizes) :])
    return [own_size if size is None else size for size, own_size in zip(sizes, own)]


@overridable
def adaptive_avg_pool1d(input: Tensor, output_size: Ints) -> Tensor:
    """The means of `output_size` windows that together cover the last dimension.

    Window i reaches from `floor(i * width / output_size)` to `ceil((i + 1) * width / output_size)`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.adaptive_avg_pool1d(tl_core.tensor([[1.0, 2.0, 3.0]]), 2)
        tensor([[1.5000, 2.5000]])
    """
    return tl_core.adaptive_avg_pool1d(input, output_size)


@overridable
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The means of the rectangles of a grid of `output_size`, (height, width). None keeps a size.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.adaptive_avg_pool2d(tl_core.arange(8.0).view(1, 2, 4), (1, 2))
        tensor([[[2.5000, 4.5000]]])
    """
    return nn_functions.adaptive_avg_pool2d(input, _result_size(input, output_size, 2))


@overridable
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The means of the boxes of a grid of `output_size`, (depth, height, width). None keeps a size.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.adaptive_avg_pool3d(tl_core.zeros(1, 4, 8, 7, 6), (2, None, 3)).shape
        torch.Size([1, 4, 2, 7, 3])
    """
    return nn_functions.adaptive_avg_pool3d(input, _result_size(input, output_size, 3))


@overridable
def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Ints, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool1d` with the positions of the maxima.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        output_size: the spatial size of the output, one number or one each. None keeps the input's.
        return_indices: whether the indices of the maxima are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.adaptive_max_pool1d_with_indices(tl_core.tensor([[1.0, 5.0, 2.0, 4.0]]), 2)
        (tensor([[5., 4.]]), tensor([[1, 3]]))
    """
    return tl_core.adaptive_max_pool1d(input, output_size)


@overridable
def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool2d` with the positions of the maxima.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        output_size: the spatial size of the output, one number or one each. None keeps the input's.
        return_indices: whether the indices of the maxima are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.adaptive_max_pool2d_with_indices(tl_core.arange(8.0).view(1, 2, 4), (1, 2))
        (tensor([[[5., 7.]]]), tensor([[[5, 7]]]))
    """
    return nn_functions.adaptive_max_pool2d(input, _result_size(input, output_size, 2))


@overridable
def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool3d` with the positions of the maxima.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        output_size: the spatial size of the output, one number or one each. None keeps the input's.
        return_indices: whether the indices of the maxima are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.adaptive_max_pool3d_with_indices(tl_core.arange(8.0).view(1, 2, 2, 2), 1)[1].flatten()
        tensor([7])
    """
    return nn_functions.adaptive_max_pool3d(input, _result_size(input, output_size, 3))


@overridable
def adaptive_max_pool1d(input: Tensor, output_size: Ints, return_indices: bool = False) -> Any:
    """The maxima of `output_size` windows that together cover the last dimension: see `adaptive_avg_pool1d`.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        output_size: the spatial size of the output, one number or one each. None keeps the input's.
        return_indices: whether the indices of the maxima are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.adaptive_max_pool1d(tl_core.tensor([[1.0, 5.0, 2.0, 4.0]]), 2)
        tensor([[5., 4.]])
    """
    both = adaptive_max_pool1d_with_indices(input, output_size)
    return both if return_indices else both[0]


@overridable
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima of the rectangles of a grid of `output_size`, and optionally their positions.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        output_size: the spatial size of the output, one number or one each. None keeps the input's.
        return_indices: whether the indices of the maxima are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.adaptive_max_pool2d(tl_core.arange(8.0).view(1, 2, 4), (1, 2))
        tensor([[[5., 7.]]])
    """
    both = adaptive_max_pool2d_with_indices(input, output_size)
    return both if return_indices else both[0]


@overridable
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima of the boxes of a grid of `output_size`, and optionally their positions.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        output_size: the spatial size of the output, one number or one each. None keeps the input's.
        return_indices: whether the indices of the maxima are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.adaptive_max_pool3d(tl_core.zeros(1, 4, 8, 7, 6), 2).shape
        torch.Size([1, 4, 2, 2, 2])
    """
    both = adaptive_max_pool3d_with_indices(input, output_size)
    return both if return_indices else both[0]


# Norms


def _lp_pool(
    n: int, input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None, ceil_mode: bool
) -> Tensor:
    mean = (avg_pool1d, avg_pool2d, avg_pool3d)[n - 1]
    power = mean(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    count = 1
    for size in _each(kernel_size, n):
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


# Windows at random places


def _fractional(
    n: int,
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None,
    output_ratio: Any,
    samples: Tensor | None,
) -> tuple[Tensor, Tensor]:
    name = f"fractional_max_pool{n}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratios = [output_ratio] * n if isinstance(output_ratio, float | int) else list(output_ratio)
        if len(ratios) != n:
            raise ValueError(
                f"{name} requires output_ratio to either be a single Int or tuple of Ints: one for each of "
                f"{n} dimensions, got {output_ratio}"
            )
        output_size = [int(size * ratio) for size, ratio in zip(input.shape[-n:], ratios)]
    for argument, value in (("kernel_size", kernel_size), ("output_size", output_size)):
        if not isinstance(value, int) and len(value) != n:
            raise RuntimeError(f"{name}: {argument} must either be a single int or {n} ints, got {value}")
    if samples is None:
        batch = 1 if input.dim() == n + 1 else input.shape[0]
        samples = tl_core.rand(batch, input.shape[-n - 1], n, dtype=input.dtype, device=input.device)
    pool = nn_functions.fractional_max_pool2d if n == 2 else nn_functions.fractional_max_pool3d
    return pool(input, kernel_size, output_size, samples)


@overridable
def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool2d` with the positions of the maxima.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        output_size: the spatial size of the output, one number or one for each spatial dimension.
        output_ratio: the output's size as a share of the input's, between 0 and 1, instead of `output_size`.
        return_indices: whether the indices of the largest elements in their planes are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> values, indices = F.fractional_max_pool2d_with_indices(tl_core.zeros(1, 4, 9, 9), 2, output_ratio=0.5)
        >>> values.shape, indices.dtype
        (torch.Size([1, 4, 4, 4]), torch.int64)
    """
    return _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)


@overridable
def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool3d` with the positions of the maxima.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        output_size: the spatial size of the output, one number or one for each spatial dimension.
        output_ratio: the output's size as a share of the input's, between 0 and 1, instead of `output_size`.
        return_indices: whether the indices of the largest elements in their planes are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> values, indices = F.fractional_max_pool3d_with_indices(tl_core.zeros(1, 2, 8, 8, 8), 2, output_size=4)
        >>> values.shape, indices.dtype
        (torch.Size([1, 2, 4, 4, 4]), torch.int64)
    """
    return _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)


@overridable
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The maxima of rectangles at pseudo-random positions: Graham, Fractional Max-Pooling, 2014.

    Args:
        input (Tensor, shape (batch, channels, height, width) or (channels, height, width)): Of floating numbers.
        kernel_size (int or two ints): Size of a rectangle.
        output_size (int or two ints, optional): Size of the result.
        output_ratio (float or two floats, optional): Size of the result in parts of the input's, if `output_size`
            isn't given.
        return_indices (bool): Whether to return also the position of each maximum.

    Raises:
        ValueError: If neither size nor ratio is given.
        RuntimeError: If so many rectangles don't fit.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.fractional_max_pool2d(tl_core.zeros(1, 4, 9, 9), 2, output_size=5).shape
        torch.Size([1, 4, 5, 5])
    """
    both = _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return both if return_indices else both[0]


@overridable
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The maxima of boxes at pseudo-random positions: see `fractional_max_pool2d`.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        output_size: the spatial size of the output, one number or one for each spatial dimension.
        output_ratio: the output's size as a share of the input's, between 0 and 1, instead of `output_size`.
        return_indices: whether the indices of the largest elements in their planes are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.fractional_max_pool3d(tl_core.zeros(1, 4, 9, 9, 9), 2, output_size=5).shape
        torch.Size([1, 4, 5, 5, 5])
    """
    both = _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return both if return_indices else both[0]


# Back to where the maxima were


def _unpooled_size(
    input: Tensor, kernel: list[int], stride: list[int], padding: list[int], output_size: Any
) -> list[int]:
    n = len(kernel)
    usual = [(input.shape[d - n] - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(n)]
    if output_size is None:
        size = usual
    else:
        size = list(output_size)
        if len(size) == n + 2:
            size = size[2:]
        if len(size) != n:
            raise ValueError(
                f"output_size should be a sequence containing {n} or {n + 2} elements, "
                f"but it has a length of '{len(size)}'"
            )
        for d in range(n):
            low, high = usual[d] - stride[d], usual[d] + stride[d]
            if not low < size[d] < high:
                raise ValueError(f'invalid output_size "{size}" (dim {d} must be between {low} and {high})')
    if min(size) < 0:
        raise ValueError(f"max_unpooling: output_size must not be negative, got {size}")
    return size


def _max_unpool(
    n: int,
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None,
    padding: Ints,
    output_size: Any,
) -> Tensor:
    kernel, padded = _each(kernel_size, n), _each(padding, n)
    steps = kernel if stride is None else _each(stride, n)
    size = _unpooled_size(input, kernel, steps, padded, output_size)
    if n == 3:
        return nn_functions.max_unpool3d(input, indices, size, steps, padded)
    if n == 2:
        return nn_functions.max_unpool2d(input, indices, size)
    if input.shape != indices.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got "
            f"indices tensor with shape: {list(indices.shape)}"
        )
    return nn_functions.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*size, 1]).squeeze(-1)


@overridable
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Any = None,
) -> Tensor:
    """The maxima of `max_pool1d` back where they were, zeros elsewhere.

    Args:
        input (Tensor, shape (batch, channels, width) or (channels, width)): The maxima.
        indices (Tensor of int64, shaped as `input`): Where they were.
        kernel_size, stride, padding: See `max_pool1d`.
        output_size (sequence of ints, optional): The size of the result, which those don't determine alone.

    Raises:
        ValueError: If `output_size` doesn't go with the other sizes.
        RuntimeError: If `indices` has another shape.
        IndexError: If an index is outside of the result.

    Example:
        >>> import tl_core, tl_nn
        >>> x = tl_core.tensor([[1.0, 4.0, 2.0, 3.0]])
        >>> top, where = tl_nn.functional.max_pool1d(x, 2, return_indices=True)
        >>> tl_nn.functional.max_unpool1d(top, where, 2)
        tensor([[0., 4., 0., 3.]])
    """
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


@overridable
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Any = None,
) -> Tensor:
    """The maxima of `max_pool2d` back where they were, zeros elsewhere: see `max_unpool1d`.

    Args:
        input: the maxima.
        indices: where the maxima were, from `return_indices`.
        kernel_size: the extent of the windows of the pooling.
        stride: the distance of the windows. None selects the window's size.
        padding: the padding of the pooling.
        output_size: the size of the result, where several would fit. None selects the smallest.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> values, indices = F.max_pool2d(tl_core.tensor([[[1.0, 9.0], [2.0, 3.0]]]), 2, return_indices=True)
        >>> F.max_unpool2d(values, indices, 2)
        tensor([[[0., 9.],
                 [0., 0.]]])
    """
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


@overridable
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Any = None,
) -> Tensor:
    """The maxima of `max_pool3d` back where they were, zeros elsewhere: see `max_unpool1d`.

    Args:
        input: the maxima.
        indices: where the maxima were, from `return_indices`.
        kernel_size: the extent of the windows of the pooling.
        stride: the distance of the windows. None selects the window's size.
        padding: the padding of the pooling.
        output_size: the size of the result, where several would fit. None selects the smallest.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> values, indices = F.max_pool3d(tl_core.zeros(1, 4, 4, 4), 2, return_indices=True)
        >>> F.max_unpool3d(values, indices, 2).shape
        torch.Size([1, 4, 4, 4])
    """
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)
