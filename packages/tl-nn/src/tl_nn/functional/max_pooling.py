"""Maxima of the windows of a grid, and their way back to their positions."""

from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.functions import nn as nn_functions
from tl_core.overrides import overridable

from .window_sizes import Ints, per_axis

__all__ = [
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
    kernel, padded = per_axis(kernel_size, n), per_axis(padding, n)
    steps = kernel if stride is None else per_axis(stride, n)
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
