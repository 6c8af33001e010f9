"""Layers that change the resolution."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from .. import functional as F
from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    r"""Changes the resolution of sequences, images or volumes by interpolation.

    Formula:
        .. math::

            u(i) = \frac{S}{S_{\mathrm{out}}} \left( i + \tfrac{1}{2} \right) - \tfrac{1}{2} \qquad \text{or} \qquad
            u(i) = \frac{S - 1}{S_{\mathrm{out}} - 1} \, i

        The element `i` of the output is computed from the input near the coordinate `u(i)`: the first formula holds
        for `align_corners=False`, the second for True, each for every spatial dimension. "linear", "bilinear" and
        "trilinear" interpolate between the two neighbours in each dimension, "bicubic" between four. "nearest"
        reads the element `floor(i S / S_out)`, "nearest-exact" the one nearest to the first `u(i)`. "area" is
        adaptive average pooling.

    Args:
        size (int or tuple, optional): The spatial size of the output.
        scale_factor (float or tuple, optional): The factor of the spatial size, instead of `size`.
        mode (str): "nearest", "nearest-exact", "area", "linear" (sequences), "bilinear", "bicubic" (images) or
            "trilinear" (volumes). The default is "nearest".
        align_corners (bool, optional): Whether the centers of the corner elements of input and output coincide, not
            their outer edges. Only for "linear", "bilinear", "bicubic" and "trilinear". None selects False.
        recompute_scale_factor (bool, optional): Whether `S / S_out` is computed from the integer sizes instead of
            `1 / scale_factor`. The two differ where the factor doesn't lead to an integer size. None selects False.

    Shape:
        - Input: `(N, C, L)`, `(N, C, H, W)` or `(N, C, D, H, W)`.
        - Output: the same with the spatial sizes `size`, or

        .. math::

            S_{\mathrm{out}} = \lfloor S \cdot \mathrm{scale\_factor} \rfloor

    Notes:
        - Coordinates outside of the input read its edge. "bicubic" uses Keys' kernel with a = -0.75 and may exceed
          the input's range.
        - A reduction samples the input without a filter. `functional.interpolate` has the option `antialias`.
        - The type is a floating-point type, or uint8 for "nearest", "nearest-exact", "bilinear" and "bicubic" of
          images.

    Raises:
        ValueError: If not exactly one of `size` and `scale_factor` is an argument, or `align_corners` meets a mode
            without it, when the layer is called.
        NotImplementedError: If the mode doesn't fit the number of dimensions, when the layer is called.

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
    r"""`Upsample` of images by the nearest element. An older name.

    Formula:
        .. math::

            y_{n, c, i, j} =
            x_{n, c, \, \lfloor i H / H_{\mathrm{out}} \rfloor, \, \lfloor j W / W_{\mathrm{out}} \rfloor}

    Args:
        size (int or tuple of two, optional): The spatial size of the output.
        scale_factor (float or tuple of two, optional): The factor of the spatial size, instead of `size`.

    Shape:
        - Input: `(N, C, H, W)`.
        - Output: `(N, C, H_out, W_out)`, with the sizes `size`, or

        .. math::

            S_{\mathrm{out}} = \lfloor S \cdot \mathrm{scale\_factor} \rfloor

    Notes:
        - With `scale_factor` the quotient `H / H_out` is `1 / scale_factor`.
        - The gradient of an element is the sum of the gradients of its copies.

    Raises:
        ValueError: If not exactly one of `size` and `scale_factor` is an argument, when the layer is called.
        NotImplementedError: If the mode doesn't fit the number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.UpsamplingNearest2d(scale_factor=2)(tl_core.tensor([[[[1.0, 2.0]]]]))
        tensor([[[[1., 1., 2., 2.],
                  [1., 1., 2., 2.]]]])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    r"""`Upsample` of images by bilinear interpolation with `align_corners=True`. An older name.

    Formula:
        .. math::

            u(i) = \frac{H - 1}{H_{\mathrm{out}} - 1} \, i, \qquad v(j) = \frac{W - 1}{W_{\mathrm{out}} - 1} \, j

        The element `(i, j)` of the output is the bilinear interpolation of the four elements around `(u(i), v(j))`.

    Args:
        size (int or tuple of two, optional): The spatial size of the output.
        scale_factor (float or tuple of two, optional): The factor of the spatial size, instead of `size`.

    Shape:
        - Input: `(N, C, H, W)`.
        - Output: `(N, C, H_out, W_out)`, with the sizes `size`, or

        .. math::

            S_{\mathrm{out}} = \lfloor S \cdot \mathrm{scale\_factor} \rfloor

    Notes:
        - The corners of the output are the corners of the input, so distances between elements depend on the sizes.
          `Upsample` has `align_corners=False` by default.

    Raises:
        ValueError: If not exactly one of `size` and `scale_factor` is an argument, when the layer is called.
        NotImplementedError: If the mode doesn't fit the number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.UpsamplingBilinear2d(scale_factor=2)(tl_core.tensor([[[[0.0, 3.0]]]]))
        tensor([[[[0., 1., 2., 3.],
                  [0., 1., 2., 3.]]]])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
