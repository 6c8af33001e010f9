"""Max pooling with windows at random positions."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from .base_pooling import _Pool
from .utils import _ntuple

__all__ = [
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
]


class _FractionalMaxPoolNd(_Pool):
    """The largest element of windows at random positions."""

    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    _dims: int

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        each, name = _ntuple(self._dims), type(self).__name__
        self.kernel_size = each(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else each(output_size)
        self.output_ratio = None if output_ratio is None else each(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        """The largest elements, and with `return_indices` their indices in each plane."""
        return self._pool(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    r"""The largest element of windows of images at random positions, for an output of any smaller size.

    Formula:
        .. math::

            y_{n, c, i} = \max_{0 \le k < \mathrm{kernel\_size}} x_{n, c, \, a_i + k}, \qquad
            a_i = \lfloor (i + u) \, \alpha \rfloor - \lfloor u \, \alpha \rfloor, \qquad
            \alpha = \frac{S - \mathrm{kernel\_size}}{S_{\mathrm{out}} - 1}

        `S` is a spatial size of the input, `S_out` of the output, and `u` a random number, uniform on [0, 1), for
        each sample, channel and spatial dimension. The last window ends with the input.

    Args:
        kernel_size (int or tuple of two): The extent of a window.
        output_size (int or tuple of two, optional): The spatial size of the output.
        output_ratio (float or tuple of two, optional): The size of the output as a share of the input's, between 0
            and 1, instead of `output_size`.
        return_indices (bool): Whether the indices of the maxima are returned too. The default is False.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`, with the sizes of `output_size`, or
          `int(output_ratio * S)`.
        - Indices, with `return_indices`: the shape of the output, as second element of a pair.

    Notes:
        - Positions are random in training and in evaluation. `manual_seed` reproduces them.
        - An output of size `S_out` needs an input of at least `S_out + kernel_size - 1`.
        - Of equal elements the first in memory is the maximum, and the gradient goes to it alone. NaN exceeds every
          number: a window with NaN gives the last one.
        - An index is a position in the flattened spatial dimensions of a channel, of type int64.
        - Source: Graham, Fractional Max-Pooling, 2014.

    Raises:
        ValueError: If both or none of `output_size` and `output_ratio` is an argument, or the ratio isn't between 0
            and 1.
        RuntimeError: If the input is too small for the windows, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.FractionalMaxPool2d(3, output_size=(13, 12))(tl_core.zeros(2, 4, 50, 32)).shape
        torch.Size([2, 4, 13, 12])
    """

    _dims = 2
    _function = "fractional_max_pool2d"


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    r"""The largest element of windows of volumes at random positions, for an output of any smaller size.

    Formula:
        .. math::

            y_{n, c, i} = \max_{0 \le k < \mathrm{kernel\_size}} x_{n, c, \, a_i + k}, \qquad
            a_i = \lfloor (i + u) \, \alpha \rfloor - \lfloor u \, \alpha \rfloor, \qquad
            \alpha = \frac{S - \mathrm{kernel\_size}}{S_{\mathrm{out}} - 1}

        `S` is a spatial size of the input, `S_out` of the output, and `u` a random number, uniform on [0, 1), for
        each sample, channel and spatial dimension. The last window ends with the input.

    Args:
        kernel_size (int or tuple of three): The extent of a window.
        output_size (int or tuple of three, optional): The spatial size of the output.
        output_ratio (float or tuple of three, optional): The size of the output as a share of the input's, between
            0 and 1, instead of `output_size`.
        return_indices (bool): Whether the indices of the maxima are returned too. The default is False.

    Shape:
        - Input: `(N, C, T, H, W)` or `(C, T, H, W)`.
        - Output: `(N, C, T_out, H_out, W_out)` or `(C, T_out, H_out, W_out)`, with the sizes of `output_size`, or
          `int(output_ratio * S)`.
        - Indices, with `return_indices`: the shape of the output, as second element of a pair.

    Notes:
        - Positions are random in training and in evaluation. `manual_seed` reproduces them.
        - An output of size `S_out` needs an input of at least `S_out + kernel_size - 1`.
        - Of equal elements the first in memory is the maximum, and the gradient goes to it alone. NaN exceeds every
          number: a window with NaN gives the last one.
        - An index is a position in the flattened spatial dimensions of a channel, of type int64.
        - Source: Graham, Fractional Max-Pooling, 2014.

    Raises:
        ValueError: If both or none of `output_size` and `output_ratio` is an argument, or the ratio isn't between 0
            and 1.
        RuntimeError: If the input is too small for the windows, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.FractionalMaxPool3d(2, output_ratio=0.5)(tl_core.zeros(1, 4, 8, 8, 8)).shape
        torch.Size([1, 4, 4, 4, 4])
    """

    _dims = 3
    _function = "fractional_max_pool3d"
