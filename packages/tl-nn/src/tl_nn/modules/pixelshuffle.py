"""Channels turned into pixels, and back."""

from __future__ import annotations

from tl_core import Tensor

from .. import functional as F
from .module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    r"""Rearranges channels to pixels: an image with `r` times the height and width.

    Formula:
        .. math::

            y_{c, \; h r + i, \; w r + j} = x_{c r^{2} + i r + j, \; h, \; w}, \qquad 0 \le i, j < r

        `r` is `upscale_factor`.

    Args:
        upscale_factor (int): The factor `r`.

    Shape:
        - Input: `(*, C * r * r, H, W)`.
        - Output: `(*, C, H * r, W * r)`.

    Notes:
        - With a convolution before it the layer is a learned upsampling without the overlap of a transposed
          convolution.
        - Source: Shi et al., Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel
          Convolutional Neural Network, 2016.

    Raises:
        RuntimeError: If `r * r` doesn't divide the number of channels, or the input has fewer than three
            dimensions.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.PixelShuffle(3)(tl_core.zeros(1, 9, 4, 4)).shape
        torch.Size([1, 1, 12, 12])
    """

    __constants__ = ["upscale_factor"]

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The input with channels turned into pixels."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    r"""Rearranges pixels to channels, the inverse of `PixelShuffle`.

    Formula:
        .. math::

            y_{c r^{2} + i r + j, \; h, \; w} = x_{c, \; h r + i, \; w r + j}, \qquad 0 \le i, j < r

        `r` is `downscale_factor`.

    Args:
        downscale_factor (int): The factor `r`.

    Shape:
        - Input: `(*, C, H * r, W * r)`.
        - Output: `(*, C * r * r, H, W)`.

    Notes:
        - Other than pooling, the layer reduces the resolution without a loss of information.
        - Source: Shi et al., Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel
          Convolutional Neural Network, 2016.

    Raises:
        RuntimeError: If `r` doesn't divide height and width, or the input has fewer than three dimensions.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.PixelUnshuffle(3)(tl_core.zeros(1, 1, 12, 12)).shape
        torch.Size([1, 9, 4, 4])
    """

    __constants__ = ["downscale_factor"]

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The input with pixels turned into channels."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
