"""Layers that change the resolution."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from .. import functional as F
from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Changes the resolution of inputs of shape (N, C, L), (N, C, H, W) or (N, C, D, H, W).

    Args:
        size (int or tuple, optional): The spatial size of the output.
        scale_factor (float or tuple, optional): The factor of the spatial size, instead of `size`.
        mode (str): "nearest", "linear", "bilinear", "bicubic" or "trilinear", for the numbers of dimensions they
            fit.
        align_corners (bool, optional): Whether the corner pixels of input and output lie on one another; not for
            "nearest".
        recompute_scale_factor (bool, optional): Whether the factor is computed anew from the sizes, which are
            whole numbers.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Upsample(scale_factor=2)(tl_core.tensor([[[1.0, 2.0]]]))
        tensor([[[1., 1., 2., 2.]]])
    """

    __constants__ = ["size", "scale_factor", "mode", "align_corners", "name"]
    size: Any
    scale_factor: Any

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The input at another resolution."""
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("recompute_scale_factor", True)
        super().__setstate__(state)

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` of images by the nearest pixel.

    Args:
        size (int or (int, int), optional): The spatial size of the output.
        scale_factor (float or (float, float), optional): The factor of the spatial size.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.UpsamplingNearest2d(scale_factor=2)(tl_core.tensor([[[[1.0, 2.0]]]]))
        tensor([[[[1., 1., 2., 2.],
                  [1., 1., 2., 2.]]]])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` of images by bilinear interpolation, with the corners of input and output on one another.

    Args:
        size (int or (int, int), optional): The spatial size of the output.
        scale_factor (float or (float, float), optional): The factor of the spatial size.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.UpsamplingBilinear2d(scale_factor=2)(tl_core.tensor([[[[0.0, 3.0]]]]))
        tensor([[[[0., 1., 2., 3.],
                  [0., 1., 2., 3.]]]])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
