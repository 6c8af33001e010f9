"""Pooling to an output of a chosen size."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from .base_pooling import _Pool

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
]


class _AdaptivePoolNd(_Pool):
    """Pooling whose windows divide the input into a given number of parts."""

    __constants__ = ["output_size"]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveAvgPoolNd(_AdaptivePoolNd):
    """The mean of each part."""

    def forward(self, input: Tensor) -> Tensor:
        """The means, of the spatial size `output_size`."""
        return self._pool(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    r"""The means of as many windows of sequences as the output has elements.

    Formula:
        .. math::

            y_{n, c, i} = \mathrm{mean}_{\, a_i \le j < b_i} \; x_{n, c, j}, \qquad
            a_i = \left\lfloor \frac{i S}{S_{\mathrm{out}}} \right\rfloor, \qquad
            b_i = \left\lceil \frac{(i + 1) S}{S_{\mathrm{out}}} \right\rceil

        `S` is a spatial size of the input, `S_out` of the output and `i` a position of the output.

    Args:
        output_size (int or tuple of one int): The spatial size of the output.

    Shape:
        - Input: `(N, C, L)` or `(C, L)`.
        - Output: `(N, C, L_out)` or `(C, L_out)`, with the sizes of `output_size`.

    Notes:
        - Windows overlap by at most one element where the sizes don't divide. An output larger than the input
          repeats elements.
        - `output_size=1` is the mean of a channel. A size of 0 gives an empty output.
        - float16 and bfloat16 are summed in float32 and rounded once. Integer types aren't accepted.

    Raises:
        RuntimeError: If the input has another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.AdaptiveAvgPool1d(2)(tl_core.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[2., 1.]])
    """

    _function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    r"""The means of as many windows of images as the output has elements.

    Formula:
        .. math::

            y_{n, c, i} = \mathrm{mean}_{\, a_i \le j < b_i} \; x_{n, c, j}, \qquad
            a_i = \left\lfloor \frac{i S}{S_{\mathrm{out}}} \right\rfloor, \qquad
            b_i = \left\lceil \frac{(i + 1) S}{S_{\mathrm{out}}} \right\rceil

        `S` is a spatial size of the input, `S_out` of the output and `i` a position of the output. Each spatial
        dimension is divided by this rule.

    Args:
        output_size (int, None or tuple of two): The spatial size of the output. None stands for the input's size.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`, with the sizes of `output_size`.

    Notes:
        - Windows overlap by at most one element where the sizes don't divide. An output larger than the input
          repeats elements.
        - `output_size=1` is the mean of a channel. A size of 0 gives an empty output.
        - float16 and bfloat16 are summed in float32 and rounded once. Integer types aren't accepted.

    Raises:
        RuntimeError: If the input has another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.AdaptiveAvgPool2d(1)(tl_core.arange(8.0).view(1, 2, 2, 2)).flatten()
        tensor([1.5000, 5.5000])
    """

    _function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    r"""The means of as many windows of volumes as the output has elements.

    Formula:
        .. math::

            y_{n, c, i} = \mathrm{mean}_{\, a_i \le j < b_i} \; x_{n, c, j}, \qquad
            a_i = \left\lfloor \frac{i S}{S_{\mathrm{out}}} \right\rfloor, \qquad
            b_i = \left\lceil \frac{(i + 1) S}{S_{\mathrm{out}}} \right\rceil

        `S` is a spatial size of the input, `S_out` of the output and `i` a position of the output. Each spatial
        dimension is divided by this rule.

    Args:
        output_size (int, None or tuple of three): The spatial size of the output. None stands for the input's size.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: `(N, C, D_out, H_out, W_out)` or `(C, D_out, H_out, W_out)`, with the sizes of `output_size`.

    Notes:
        - Windows overlap by at most one element where the sizes don't divide. An output larger than the input
          repeats elements.
        - `output_size=1` is the mean of a channel. A size of 0 gives an empty output.
        - float16 and bfloat16 are summed in float32 and rounded once. Integer types aren't accepted.

    Raises:
        RuntimeError: If the input has another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.AdaptiveAvgPool3d((2, None, 3))(tl_core.zeros(1, 4, 8, 7, 6)).shape
        torch.Size([1, 4, 2, 7, 3])
    """

    _function = "adaptive_avg_pool3d"


class _AdaptiveMaxPoolNd(_AdaptivePoolNd):
    """The largest element of each part."""

    __constants__ = ["output_size", "return_indices"]
    return_indices: bool

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        """The largest elements, and with `return_indices` their indices in each plane."""
        return self._pool(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    r"""The largest elements of as many windows of sequences as the output has elements.

    Formula:
        .. math::

            y_{n, c, i} = \mathrm{max}_{\, a_i \le j < b_i} \; x_{n, c, j}, \qquad
            a_i = \left\lfloor \frac{i S}{S_{\mathrm{out}}} \right\rfloor, \qquad
            b_i = \left\lceil \frac{(i + 1) S}{S_{\mathrm{out}}} \right\rceil

        `S` is a spatial size of the input, `S_out` of the output and `i` a position of the output.

    Args:
        output_size (int or tuple of one int): The spatial size of the output.
        return_indices (bool): Whether the indices of the maxima are returned too. The default is False.

    Shape:
        - Input: `(N, C, L)` or `(C, L)`.
        - Output: `(N, C, L_out)` or `(C, L_out)`, with the sizes of `output_size`.
        - Indices, with `return_indices`: the shape of the output, as second element of a pair.

    Notes:
        - Windows overlap by at most one element where the sizes don't divide. An output larger than the input
          repeats elements.
        - Of equal elements the first in memory is the maximum, and the gradient goes to it alone. NaN exceeds every
          number: a window with NaN gives the last one.
        - An index is a position in the flattened spatial dimensions of a channel, of type int64.
        - Integer types aren't accepted.

    Raises:
        RuntimeError: If the input has another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.AdaptiveMaxPool1d(2)(tl_core.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[3., 2.]])
    """

    _function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    r"""The largest elements of as many windows of images as the output has elements.

    Formula:
        .. math::

            y_{n, c, i} = \mathrm{max}_{\, a_i \le j < b_i} \; x_{n, c, j}, \qquad
            a_i = \left\lfloor \frac{i S}{S_{\mathrm{out}}} \right\rfloor, \qquad
            b_i = \left\lceil \frac{(i + 1) S}{S_{\mathrm{out}}} \right\rceil

        `S` is a spatial size of the input, `S_out` of the output and `i` a position of the output. Each spatial
        dimension is divided by this rule.

    Args:
        output_size (int, None or tuple of two): The spatial size of the output. None stands for the input's size.
        return_indices (bool): Whether the indices of the maxima are returned too. The default is False.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`, with the sizes of `output_size`.
        - Indices, with `return_indices`: the shape of the output, as second element of a pair.

    Notes:
        - Windows overlap by at most one element where the sizes don't divide. An output larger than the input
          repeats elements.
        - Of equal elements the first in memory is the maximum, and the gradient goes to it alone. NaN exceeds every
          number: a window with NaN gives the last one.
        - An index is a position in the flattened spatial dimensions of a channel, of type int64.
        - Integer types aren't accepted.

    Raises:
        RuntimeError: If the input has another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.AdaptiveMaxPool2d((1, 2))(tl_core.arange(8.0).view(1, 2, 4))
        tensor([[[5., 7.]]])
    """

    _function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    r"""The largest elements of as many windows of volumes as the output has elements.

    Formula:
        .. math::

            y_{n, c, i} = \mathrm{max}_{\, a_i \le j < b_i} \; x_{n, c, j}, \qquad
            a_i = \left\lfloor \frac{i S}{S_{\mathrm{out}}} \right\rfloor, \qquad
            b_i = \left\lceil \frac{(i + 1) S}{S_{\mathrm{out}}} \right\rceil

        `S` is a spatial size of the input, `S_out` of the output and `i` a position of the output. Each spatial
        dimension is divided by this rule.

    Args:
        output_size (int, None or tuple of three): The spatial size of the output. None stands for the input's size.
        return_indices (bool): Whether the indices of the maxima are returned too. The default is False.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: `(N, C, D_out, H_out, W_out)` or `(C, D_out, H_out, W_out)`, with the sizes of `output_size`.
        - Indices, with `return_indices`: the shape of the output, as second element of a pair.

    Notes:
        - Windows overlap by at most one element where the sizes don't divide. An output larger than the input
          repeats elements.
        - Of equal elements the first in memory is the maximum, and the gradient goes to it alone. NaN exceeds every
          number: a window with NaN gives the last one.
        - An index is a position in the flattened spatial dimensions of a channel, of type int64.
        - Integer types aren't accepted.

    Raises:
        RuntimeError: If the input has another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.AdaptiveMaxPool3d(2)(tl_core.zeros(1, 4, 8, 7, 6)).shape
        torch.Size([1, 4, 2, 2, 2])
    """

    _function = "adaptive_max_pool3d"
