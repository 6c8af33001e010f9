"""Convolutions and sliding blocks."""

import tl_core
from tl_core import Tensor
from tl_core.functions import nn as nn_functions
from tl_core.overrides import overridable

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "fold",
    "unfold",
]  # fmt: skip

conv1d = tl_core.conv1d
conv2d = tl_core.conv2d
conv3d = tl_core.conv3d
conv_tbc = tl_core.conv_tbc
conv_transpose1d = tl_core.conv_transpose1d
conv_transpose2d = tl_core.conv_transpose2d
conv_transpose3d = tl_core.conv_transpose3d

Pair = int | tuple[int, ...]


def _pair(value: Pair) -> tuple[int, ...]:
    return (value, value) if isinstance(value, int) else tuple(value)


@overridable
def unfold(
    input: Tensor, kernel_size: Pair, dilation: Pair = 1, padding: Pair = 0, stride: Pair = 1
) -> Tensor:
    """The sliding blocks of images as columns.

    Args:
        input (Tensor, shape (N, C, H, W) or (C, H, W)): Floating-point, complex or bool.
        kernel_size (int or (int, int)): A block's height and width.
        dilation (int or (int, int)): The distance between a block's elements.
        padding (int or (int, int)): Zeros around the image.
        stride (int or (int, int)): The distance between blocks.

    Returns:
        Tensor, shape (N, C * block, L): A column for each of the L blocks. N is as in the input.

    Raises:
        RuntimeError: If not one block fits, or a size is out of its range.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.unfold(tl_core.ones(1, 3, 4, 5), (2, 3)).shape
        torch.Size([1, 18, 9])
    """
    return nn_functions.im2col(input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


@overridable
def fold(
    input: Tensor,
    output_size: Pair,
    kernel_size: Pair,
    dilation: Pair = 1,
    padding: Pair = 0,
    stride: Pair = 1,
) -> Tensor:
    """The sum of overlapping blocks, which are the input's columns, as images: the adjoint of `unfold`.

    Args:
        input (Tensor, shape (N, C * block, L) or (C * block, L)): A column for each block.
        output_size (int or (int, int)): The images' height and width.
        kernel_size, dilation, padding, stride (int or (int, int)): As for `unfold`.

    Returns:
        Tensor, shape (N, C, H, W) or (C, H, W)

    Raises:
        RuntimeError: If the columns don't fit the blocks of such an image.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.fold(tl_core.ones(1, 4, 4), 3, 2)[0, 0]
        tensor([[1., 2., 1.],
                [2., 4., 2.],
                [1., 2., 1.]])
    """
    how = _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride)
    return nn_functions.col2im(input, _pair(output_size), *how)
