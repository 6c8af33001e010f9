"""Channels turned into pixels, and back."""

from __future__ import annotations

from tl_core import Tensor

from .. import functional as F
from .module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """Turns channels into pixels: shape (*, C * r * r, H, W) into (*, C, H * r, W * r) (Shi et al., 2016).

    Args:
        upscale_factor (int): The factor r.

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
    """Turns pixels into channels: shape (*, C, H * r, W * r) into (*, C * r * r, H, W).

    Args:
        downscale_factor (int): The factor r.

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
