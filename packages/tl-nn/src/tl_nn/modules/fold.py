"""Sliding blocks as columns, and back."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from .. import functional as F
from .module import Module

__all__ = ["Fold", "Unfold"]


class Unfold(Module):
    """Takes sliding blocks out of inputs of shape (N, C, H, W): one column for each block.

    Args:
        kernel_size, dilation, padding, stride (int or tuple): The size of a block, the distance of its elements,
            the zeros added on both sides, the distance of blocks. One number for both dimensions or one for each.

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
    """Adds sliding blocks up to a tensor of shape (N, C, *output_size): the transpose of `Unfold`.

    Args:
        output_size (int or tuple): The spatial size of the result.
        kernel_size, dilation, padding, stride (int or tuple): See `Unfold`.

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
