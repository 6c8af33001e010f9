"""Sliding blocks as columns, and back."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from .. import functional as F
from .module import Module

__all__ = ["Fold", "Unfold"]


class Unfold(Module):
    r"""Takes sliding blocks out of images, one column for each block.

    Formula:
        .. math::

            y_{n, \, (c, k), \, p} =
            x_{n, c, \, p \cdot \mathrm{stride} - \mathrm{padding} + k \cdot \mathrm{dilation}}

        `p` is the position of a block and `k` an offset in it, vectors of two numbers counted from 0. Rows are
        ordered by channel and then by offset, columns by position, both row by row. Elements outside of the input
        are 0.

    Args:
        kernel_size (int or tuple of two): The extent of a block.
        dilation (int or tuple of two): The distance of the elements of a block. The default is 1.
        padding (int or tuple of two): The number of zeros added at both ends of each spatial dimension. The default
            is 0.
        stride (int or tuple of two): The distance of the blocks. The default is 1.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C * prod(kernel_size), L)` or `(C * prod(kernel_size), L)`, with the number of blocks

        .. math::

            L = \prod_{d} \left( \left\lfloor \frac{S_d + 2 \cdot \mathrm{padding}_d - \mathrm{dilation}_d \cdot
            (\mathrm{kernel\_size}_d - 1) - 1}{\mathrm{stride}_d} \right\rfloor + 1 \right)

        Here `S` is `(H, W)` and `d` one of the two dimensions.

    Notes:
        - A convolution is the product of its weight, as a matrix, with the columns:
          `weight.flatten(1) @ unfold(x)`. `Conv2d` computes it without the copies.
        - Integer types are not accepted.
        - Elements that several blocks contain are copied, and their gradient is the sum over the copies. `Fold` is
          this sum.

    Raises:
        RuntimeError: If no block fits, or the input has another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Unfold(kernel_size=(2, 3))(tl_core.zeros(2, 5, 3, 4)).shape
        torch.Size([2, 30, 4])
    """

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """The blocks, shape (N, C * prod(kernel_size), number of blocks)."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class Fold(Unfold):
    r"""Adds sliding blocks up to images: the transpose of `Unfold`.

    Formula:
        .. math::

            y_{n, c, q} =
            \sum_{(p, k) \, : \; p \cdot \mathrm{stride} - \mathrm{padding} + k \cdot \mathrm{dilation} = q}
            x_{n, \, (c, k), \, p}

        `p` is the position of a block, `k` an offset in it and `q` a position of the output.

    Args:
        output_size (int or tuple of two): The height and width of the output.
        kernel_size (int or tuple of two): The extent of a block.
        dilation (int or tuple of two): The distance of the elements of a block. The default is 1.
        padding (int or tuple of two): The number of zeros added at both ends of each spatial dimension. The default
            is 0.
        stride (int or tuple of two): The distance of the blocks. The default is 1.

    Shape:
        - Input: `(N, C * prod(kernel_size), L)` or `(C * prod(kernel_size), L)`, with the number of blocks

        .. math::

            L = \prod_{d} \left( \left\lfloor \frac{S_d + 2 \cdot \mathrm{padding}_d - \mathrm{dilation}_d \cdot
            (\mathrm{kernel\_size}_d - 1) - 1}{\mathrm{stride}_d} \right\rfloor + 1 \right)

        Here `S` is `output_size` and `d` one of the two dimensions.

        - Output: `(N, C, *output_size)` or `(C, *output_size)`.

    Notes:
        - Overlapping blocks are added, so `Fold(Unfold(x))` is `x` times the number of blocks that contain each
          element. Divide by the fold of the unfolded ones to invert `Unfold`.

    Raises:
        RuntimeError: If the input has another number of rows or columns, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Fold(output_size=(4, 5), kernel_size=(2, 2))(tl_core.zeros(1, 12, 12)).shape
        torch.Size([1, 3, 4, 5])
    """

    __constants__ = ["output_size", *Unfold.__constants__]

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """The sum of the blocks, which have shape (N, C * prod(kernel_size), number of blocks)."""
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}, {super().extra_repr()}"
