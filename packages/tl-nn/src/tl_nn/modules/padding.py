"""Padding layers."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from .. import functional as F
from .module import Module
from .utils import _ntuple

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    """Base class of all padding layers: the padding of each side of the spatial dimensions.

    Args:
        padding (int or tuple): For all sides, or for each: the last dimension first, `(left, right, top, bottom,
            front, back)`. Negative numbers remove elements.
    """

    __constants__ = ["padding"]
    _dims: int
    _mode: str
    padding: tuple[int, ...]

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        """The padded input, shape (N, C, ...) or (C, ...)."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    """Pads with one value."""

    __constants__ = ["padding", "value"]
    _mode = "constant"
    value: float

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """The padded input, shape (N, C, ...) or (C, ...)."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPadNd(_ConstantPadNd):
    """Pads with zeros."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ReflectionPadNd(_Pad):
    """Pads with the reflection at the edge, without the edge."""

    _mode = "reflect"


class _ReplicationPadNd(_Pad):
    """Pads with the value at the edge."""

    _mode = "replicate"


class _CircularPadNd(_Pad):
    """Pads with the values of the other end."""

    _mode = "circular"


class ConstantPad1d(_ConstantPadNd):
    r"""Pads sequences with one value.

    Formula:
        .. math::

            y_i = \begin{cases} x_{i - l} & 0 \le i - l < S \\ \mathrm{value} & \text{otherwise} \end{cases}

        `i` is a position of the output, `l` the padding at the beginning of the dimension and `S` the size of the
        input.

    Args:
        padding (int or tuple of two): The number of elements added at all ends, or at each end: `(left, right)`.
            Negative numbers remove elements.
        value (float): The value.

    Shape:
        - Input: `(*, W)`, with at least the spatial dimension.
        - Output: `(*, W_out)`, with

        .. math::

            W_{\mathrm{out}} = W + \mathrm{left} + \mathrm{right}

    Notes:
        - Every element type is accepted. The value is converted to it, for integers by dropping its fraction.
        - The gradient of an element is that of its copy. Elements that negative padding removes have gradient 0.

    Raises:
        RuntimeError: If negative padding leaves a negative size, or the input has too few dimensions, when the
            layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ConstantPad1d(1, 3.5)(tl_core.tensor([[1.0, 2.0, 3.0]]))
        tensor([[3.5000, 1.0000, 2.0000, 3.0000, 3.5000]])
    """

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    r"""Pads images with one value.

    Formula:
        .. math::

            y_i = \begin{cases} x_{i - l} & 0 \le i - l < S \\ \mathrm{value} & \text{otherwise} \end{cases}

        `i` is a position of the output, `l` the padding at the beginning of the dimension and `S` the size of the
        input. Each spatial dimension follows this rule.

    Args:
        padding (int or tuple of four): The number of elements added at all ends, or at each end:
            `(left, right, top, bottom)`. Negative numbers remove elements.
        value (float): The value.

    Shape:
        - Input: `(*, H, W)`, with at least the spatial dimensions.
        - Output: `(*, H_out, W_out)`, with

        .. math::

            H_{\mathrm{out}} = H + \mathrm{top} + \mathrm{bottom} \qquad
            W_{\mathrm{out}} = W + \mathrm{left} + \mathrm{right}

    Notes:
        - Every element type is accepted. The value is converted to it, for integers by dropping its fraction.
        - The gradient of an element is that of its copy. Elements that negative padding removes have gradient 0.

    Raises:
        RuntimeError: If negative padding leaves a negative size, or the input has too few dimensions, when the
            layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ConstantPad2d((1, 0, 0, 1), 9)(tl_core.tensor([[1, 2], [3, 4]]))
        tensor([[9, 1, 2],
                [9, 3, 4],
                [9, 9, 9]])
    """

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    r"""Pads volumes with one value.

    Formula:
        .. math::

            y_i = \begin{cases} x_{i - l} & 0 \le i - l < S \\ \mathrm{value} & \text{otherwise} \end{cases}

        `i` is a position of the output, `l` the padding at the beginning of the dimension and `S` the size of the
        input. Each spatial dimension follows this rule.

    Args:
        padding (int or tuple of six): The number of elements added at all ends, or at each end:
            `(left, right, top, bottom, front, back)`. Negative numbers remove elements.
        value (float): The value.

    Shape:
        - Input: `(*, D, H, W)`, with at least the spatial dimensions.
        - Output: `(*, D_out, H_out, W_out)`, with

        .. math::

            D_{\mathrm{out}} = D + \mathrm{front} + \mathrm{back} \qquad
            H_{\mathrm{out}} = H + \mathrm{top} + \mathrm{bottom} \qquad
            W_{\mathrm{out}} = W + \mathrm{left} + \mathrm{right}

    Notes:
        - Every element type is accepted. The value is converted to it, for integers by dropping its fraction.
        - The gradient of an element is that of its copy. Elements that negative padding removes have gradient 0.

    Raises:
        RuntimeError: If negative padding leaves a negative size, or the input has too few dimensions, when the
            layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ConstantPad3d((1, 1, 2, 2, 0, 1), 3.5)(tl_core.zeros(1, 2, 2, 3, 4)).shape
        torch.Size([1, 2, 3, 7, 6])
    """

    _dims = 3


class ZeroPad1d(_ZeroPadNd):
    r"""Pads sequences with zeros.

    Formula:
        .. math::

            y_i = \begin{cases} x_{i - l} & 0 \le i - l < S \\ 0 & \text{otherwise} \end{cases}

        `i` is a position of the output, `l` the padding at the beginning of the dimension and `S` the size of the
        input.

    Args:
        padding (int or tuple of two): The number of elements added at all ends, or at each end: `(left, right)`.
            Negative numbers remove elements.

    Shape:
        - Input: `(*, W)`, with at least the spatial dimension.
        - Output: `(*, W_out)`, with

        .. math::

            W_{\mathrm{out}} = W + \mathrm{left} + \mathrm{right}

    Notes:
        - Every element type is accepted.
        - A convolution pads with zeros itself, with equal numbers at both ends and without this copy: see `Conv1d`.

    Raises:
        RuntimeError: If negative padding leaves a negative size, or the input has too few dimensions, when the
            layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ZeroPad1d((2, 0))(tl_core.tensor([[1.0, 2.0, 3.0]]))
        tensor([[0., 0., 1., 2., 3.]])
    """

    _dims = 1


class ZeroPad2d(_ZeroPadNd):
    r"""Pads images with zeros.

    Formula:
        .. math::

            y_i = \begin{cases} x_{i - l} & 0 \le i - l < S \\ 0 & \text{otherwise} \end{cases}

        `i` is a position of the output, `l` the padding at the beginning of the dimension and `S` the size of the
        input. Each spatial dimension follows this rule.

    Args:
        padding (int or tuple of four): The number of elements added at all ends, or at each end:
            `(left, right, top, bottom)`. Negative numbers remove elements.

    Shape:
        - Input: `(*, H, W)`, with at least the spatial dimensions.
        - Output: `(*, H_out, W_out)`, with

        .. math::

            H_{\mathrm{out}} = H + \mathrm{top} + \mathrm{bottom} \qquad
            W_{\mathrm{out}} = W + \mathrm{left} + \mathrm{right}

    Notes:
        - Every element type is accepted.
        - A convolution pads with zeros itself, with equal numbers at both ends and without this copy: see `Conv2d`.

    Raises:
        RuntimeError: If negative padding leaves a negative size, or the input has too few dimensions, when the
            layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ZeroPad2d((1, 1, 0, 0))(tl_core.tensor([[1, 2], [3, 4]]))
        tensor([[0, 1, 2, 0],
                [0, 3, 4, 0]])
    """

    _dims = 2


class ZeroPad3d(_ZeroPadNd):
    r"""Pads volumes with zeros.

    Formula:
        .. math::

            y_i = \begin{cases} x_{i - l} & 0 \le i - l < S \\ 0 & \text{otherwise} \end{cases}

        `i` is a position of the output, `l` the padding at the beginning of the dimension and `S` the size of the
        input. Each spatial dimension follows this rule.

    Args:
        padding (int or tuple of six): The number of elements added at all ends, or at each end:
            `(left, right, top, bottom, front, back)`. Negative numbers remove elements.

    Shape:
        - Input: `(*, D, H, W)`, with at least the spatial dimensions.
        - Output: `(*, D_out, H_out, W_out)`, with

        .. math::

            D_{\mathrm{out}} = D + \mathrm{front} + \mathrm{back} \qquad
            H_{\mathrm{out}} = H + \mathrm{top} + \mathrm{bottom} \qquad
            W_{\mathrm{out}} = W + \mathrm{left} + \mathrm{right}

    Notes:
        - Every element type is accepted.
        - A convolution pads with zeros itself, with equal numbers at both ends and without this copy: see `Conv3d`.

    Raises:
        RuntimeError: If negative padding leaves a negative size, or the input has too few dimensions, when the
            layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ZeroPad3d(1)(tl_core.zeros(1, 2, 2, 3, 4)).shape
        torch.Size([1, 2, 4, 5, 6])
    """

    _dims = 3


class ReflectionPad1d(_ReflectionPadNd):
    r"""Pads sequences with their mirror image, without a second copy of the edge.

    Formula:
        .. math::

            y_i = x_{r(i - l)}, \qquad r(j) =
            \begin{cases} -j & j < 0 \\ j & 0 \le j < S \\ 2 (S - 1) - j & j \ge S \end{cases}

        `i` is a position of the output, `l` the padding at the beginning of the dimension and `S` the size of the
        input.

    Args:
        padding (int or tuple of two): The number of elements added at all ends, or at each end: `(left, right)`.
            Negative numbers remove elements.

    Shape:
        - Input: `(N, C, W)` or `(C, W)`.
        - Output: `(N, C, W_out)` or `(C, W_out)`, with

        .. math::

            W_{\mathrm{out}} = W + \mathrm{left} + \mathrm{right}

    Notes:
        - The padding is less than the size of its dimension, because one mirror image has no more elements.
        - The gradient of an element is the sum of the gradients of its copies.
        - All types but bool are accepted. The batch may have size 0.

    Raises:
        RuntimeError: If a padding is as large as its dimension or larger, or negative padding leaves a negative
            size, when the layer is called.
        NotImplementedError: If the input has another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ReflectionPad1d(2)(tl_core.tensor([[1.0, 2.0, 3.0]]))
        tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    r"""Pads images with their mirror image, without a second copy of the edge.

    Formula:
        .. math::

            y_i = x_{r(i - l)}, \qquad r(j) =
            \begin{cases} -j & j < 0 \\ j & 0 \le j < S \\ 2 (S - 1) - j & j \ge S \end{cases}

        `i` is a position of the output, `l` the padding at the beginning of the dimension and `S` the size of the
        input. Each spatial dimension follows this rule.

    Args:
        padding (int or tuple of four): The number of elements added at all ends, or at each end:
            `(left, right, top, bottom)`. Negative numbers remove elements.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`, with

        .. math::

            H_{\mathrm{out}} = H + \mathrm{top} + \mathrm{bottom} \qquad
            W_{\mathrm{out}} = W + \mathrm{left} + \mathrm{right}

    Notes:
        - The padding is less than the size of its dimension, because one mirror image has no more elements.
        - The gradient of an element is the sum of the gradients of its copies.
        - All types but bool are accepted. The batch may have size 0.

    Raises:
        RuntimeError: If a padding is as large as its dimension or larger, or negative padding leaves a negative
            size, when the layer is called.
        NotImplementedError: If the input has another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ReflectionPad2d((1, 1, 0, 1))(tl_core.tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]))
        tensor([[[2., 1., 2., 3., 2.],
                 [5., 4., 5., 6., 5.],
                 [2., 1., 2., 3., 2.]]])
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    r"""Pads volumes with their mirror image, without a second copy of the edge.

    Formula:
        .. math::

            y_i = x_{r(i - l)}, \qquad r(j) =
            \begin{cases} -j & j < 0 \\ j & 0 \le j < S \\ 2 (S - 1) - j & j \ge S \end{cases}

        `i` is a position of the output, `l` the padding at the beginning of the dimension and `S` the size of the
        input. Each spatial dimension follows this rule.

    Args:
        padding (int or tuple of six): The number of elements added at all ends, or at each end:
            `(left, right, top, bottom, front, back)`. Negative numbers remove elements.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: `(N, C, D_out, H_out, W_out)` or `(C, D_out, H_out, W_out)`, with

        .. math::

            D_{\mathrm{out}} = D + \mathrm{front} + \mathrm{back} \qquad
            H_{\mathrm{out}} = H + \mathrm{top} + \mathrm{bottom} \qquad
            W_{\mathrm{out}} = W + \mathrm{left} + \mathrm{right}

    Notes:
        - The padding is less than the size of its dimension, because one mirror image has no more elements.
        - The gradient of an element is the sum of the gradients of its copies.
        - All types but bool are accepted. The batch may have size 0.

    Raises:
        RuntimeError: If a padding is as large as its dimension or larger, or negative padding leaves a negative
            size, when the layer is called.
        NotImplementedError: If the input has another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ReflectionPad3d(1)(tl_core.zeros(1, 2, 2, 3, 4)).shape
        torch.Size([1, 2, 4, 5, 6])
    """

    _dims = 3


class ReplicationPad1d(_ReplicationPadNd):
    r"""Pads sequences with copies of the element at the edge.

    Formula:
        .. math::

            y_i = x_{\min(\max(i - l, \, 0), \, S - 1)}

        `i` is a position of the output, `l` the padding at the beginning of the dimension and `S` the size of the
        input.

    Args:
        padding (int or tuple of two): The number of elements added at all ends, or at each end: `(left, right)`.
            Negative numbers remove elements.

    Shape:
        - Input: `(N, C, W)` or `(C, W)`.
        - Output: `(N, C, W_out)` or `(C, W_out)`, with

        .. math::

            W_{\mathrm{out}} = W + \mathrm{left} + \mathrm{right}

    Notes:
        - The padding has no upper limit.
        - The gradient of an element at the edge is the sum of the gradients of its copies.
        - All types but bool are accepted. The batch may have size 0.

    Raises:
        RuntimeError: If negative padding leaves a negative size, when the layer is called.
        NotImplementedError: If the input has another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ReplicationPad1d((1, 2))(tl_core.tensor([[1.0, 2.0, 3.0]]))
        tensor([[1., 1., 2., 3., 3., 3.]])
    """

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    r"""Pads images with copies of the element at the edge.

    Formula:
        .. math::

            y_i = x_{\min(\max(i - l, \, 0), \, S - 1)}

        `i` is a position of the output, `l` the padding at the beginning of the dimension and `S` the size of the
        input. Each spatial dimension follows this rule.

    Args:
        padding (int or tuple of four): The number of elements added at all ends, or at each end:
            `(left, right, top, bottom)`. Negative numbers remove elements.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`, with

        .. math::

            H_{\mathrm{out}} = H + \mathrm{top} + \mathrm{bottom} \qquad
            W_{\mathrm{out}} = W + \mathrm{left} + \mathrm{right}

    Notes:
        - The padding has no upper limit.
        - The gradient of an element at the edge is the sum of the gradients of its copies.
        - All types but bool are accepted. The batch may have size 0.

    Raises:
        RuntimeError: If negative padding leaves a negative size, when the layer is called.
        NotImplementedError: If the input has another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ReplicationPad2d((2, 0, 0, 1))(tl_core.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
        tensor([[[1., 1., 1., 2.],
                 [3., 3., 3., 4.],
                 [3., 3., 3., 4.]]])
    """

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    r"""Pads volumes with copies of the element at the edge.

    Formula:
        .. math::

            y_i = x_{\min(\max(i - l, \, 0), \, S - 1)}

        `i` is a position of the output, `l` the padding at the beginning of the dimension and `S` the size of the
        input. Each spatial dimension follows this rule.

    Args:
        padding (int or tuple of six): The number of elements added at all ends, or at each end:
            `(left, right, top, bottom, front, back)`. Negative numbers remove elements.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: `(N, C, D_out, H_out, W_out)` or `(C, D_out, H_out, W_out)`, with

        .. math::

            D_{\mathrm{out}} = D + \mathrm{front} + \mathrm{back} \qquad
            H_{\mathrm{out}} = H + \mathrm{top} + \mathrm{bottom} \qquad
            W_{\mathrm{out}} = W + \mathrm{left} + \mathrm{right}

    Notes:
        - The padding has no upper limit.
        - The gradient of an element at the edge is the sum of the gradients of its copies.
        - All types but bool are accepted. The batch may have size 0.

    Raises:
        RuntimeError: If negative padding leaves a negative size, when the layer is called.
        NotImplementedError: If the input has another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ReplicationPad3d(1)(tl_core.zeros(1, 2, 2, 3, 4)).shape
        torch.Size([1, 2, 4, 5, 6])
    """

    _dims = 3


class CircularPad1d(_CircularPadNd):
    r"""Pads sequences with the elements of the other end, as on a ring.

    Formula:
        .. math::

            y_i = x_{(i - l) \bmod S}

        `i` is a position of the output, `l` the padding at the beginning of the dimension and `S` the size of the
        input.

    Args:
        padding (int or tuple of two): The number of elements added at all ends, or at each end: `(left, right)`.
            Negative numbers remove elements.

    Shape:
        - Input: `(N, C, W)` or `(C, W)`.
        - Output: `(N, C, W_out)` or `(C, W_out)`, with

        .. math::

            W_{\mathrm{out}} = W + \mathrm{left} + \mathrm{right}

    Notes:
        - The padding is at most the size of its dimension: the ring is passed once.
        - The gradient of an element is the sum of the gradients of its copies.
        - Every element type is accepted. The batch may have size 0.

    Raises:
        RuntimeError: If a padding exceeds the size of its dimension, or negative padding leaves a negative size,
            when the layer is called.
        NotImplementedError: If the input has another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.CircularPad1d(1)(tl_core.tensor([[1.0, 2.0, 3.0]]))
        tensor([[3., 1., 2., 3., 1.]])
    """

    _dims = 1


class CircularPad2d(_CircularPadNd):
    r"""Pads images with the elements of the other end, as on a ring.

    Formula:
        .. math::

            y_i = x_{(i - l) \bmod S}

        `i` is a position of the output, `l` the padding at the beginning of the dimension and `S` the size of the
        input. Each spatial dimension follows this rule.

    Args:
        padding (int or tuple of four): The number of elements added at all ends, or at each end:
            `(left, right, top, bottom)`. Negative numbers remove elements.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`, with

        .. math::

            H_{\mathrm{out}} = H + \mathrm{top} + \mathrm{bottom} \qquad
            W_{\mathrm{out}} = W + \mathrm{left} + \mathrm{right}

    Notes:
        - The padding is at most the size of its dimension: the ring is passed once.
        - The gradient of an element is the sum of the gradients of its copies.
        - Every element type is accepted. The batch may have size 0.

    Raises:
        RuntimeError: If a padding exceeds the size of its dimension, or negative padding leaves a negative size,
            when the layer is called.
        NotImplementedError: If the input has another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.CircularPad2d(1)(tl_core.tensor([[[1, 2], [3, 4]]]))
        tensor([[[4, 3, 4, 3],
                 [2, 1, 2, 1],
                 [4, 3, 4, 3],
                 [2, 1, 2, 1]]])
    """

    _dims = 2


class CircularPad3d(_CircularPadNd):
    r"""Pads volumes with the elements of the other end, as on a ring.

    Formula:
        .. math::

            y_i = x_{(i - l) \bmod S}

        `i` is a position of the output, `l` the padding at the beginning of the dimension and `S` the size of the
        input. Each spatial dimension follows this rule.

    Args:
        padding (int or tuple of six): The number of elements added at all ends, or at each end:
            `(left, right, top, bottom, front, back)`. Negative numbers remove elements.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: `(N, C, D_out, H_out, W_out)` or `(C, D_out, H_out, W_out)`, with

        .. math::

            D_{\mathrm{out}} = D + \mathrm{front} + \mathrm{back} \qquad
            H_{\mathrm{out}} = H + \mathrm{top} + \mathrm{bottom} \qquad
            W_{\mathrm{out}} = W + \mathrm{left} + \mathrm{right}

    Notes:
        - The padding is at most the size of its dimension: the ring is passed once.
        - The gradient of an element is the sum of the gradients of its copies.
        - Every element type is accepted. The batch may have size 0.

    Raises:
        RuntimeError: If a padding exceeds the size of its dimension, or negative padding leaves a negative size,
            when the layer is called.
        NotImplementedError: If the input has another number of dimensions, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.CircularPad3d((1, 1, 2, 2, 0, 1))(tl_core.zeros(1, 2, 2, 3, 4)).shape
        torch.Size([1, 2, 3, 7, 6])
    """

    _dims = 3
