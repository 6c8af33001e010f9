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
    """Pads inputs of shape (N, C, W) or (C, W) with one value.

    Args:
        padding (int or tuple): For both sides of all spatial dimensions, or for each side: the last dimension
            first, as in `(left, right, top, bottom)`. Negative numbers remove elements.
        value (float): The value.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ConstantPad1d(1, 3.5)(tl_core.tensor([[1.0, 2.0, 3.0]]))
        tensor([[3.5000, 1.0000, 2.0000, 3.0000, 3.5000]])
    """

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads inputs of shape (N, C, H, W) or (C, H, W) with one value. See `ConstantPad1d`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ConstantPad2d((1, 0, 0, 1), 9)(tl_core.tensor([[1, 2], [3, 4]]))
        tensor([[9, 1, 2],
                [9, 3, 4],
                [9, 9, 9]])
    """

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads inputs of shape (N, C, D, H, W) or (C, D, H, W) with one value. See `ConstantPad1d`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ConstantPad3d((1, 1, 2, 2, 0, 1), 3.5)(tl_core.zeros(1, 2, 2, 3, 4)).shape
        torch.Size([1, 2, 3, 7, 6])
    """

    _dims = 3


class ZeroPad1d(_ZeroPadNd):
    """Pads inputs of shape (N, C, W) or (C, W) with zeros. See `ConstantPad1d`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ZeroPad1d((2, 0))(tl_core.tensor([[1.0, 2.0, 3.0]]))
        tensor([[0., 0., 1., 2., 3.]])
    """

    _dims = 1


class ZeroPad2d(_ZeroPadNd):
    """Pads inputs of shape (N, C, H, W) or (C, H, W) with zeros. See `ConstantPad1d`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ZeroPad2d((1, 1, 0, 0))(tl_core.tensor([[1, 2], [3, 4]]))
        tensor([[0, 1, 2, 0],
                [0, 3, 4, 0]])
    """

    _dims = 2


class ZeroPad3d(_ZeroPadNd):
    """Pads inputs of shape (N, C, D, H, W) or (C, D, H, W) with zeros. See `ConstantPad1d`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ZeroPad3d(1)(tl_core.zeros(1, 2, 2, 3, 4)).shape
        torch.Size([1, 2, 4, 5, 6])
    """

    _dims = 3


class ReflectionPad1d(_ReflectionPadNd):
    """Pads inputs of shape (N, C, W) or (C, W) with a reflection at the edge. See `ConstantPad1d`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ReflectionPad1d(2)(tl_core.tensor([[1.0, 2.0, 3.0]]))
        tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pads inputs of shape (N, C, H, W) or (C, H, W) with a reflection at the edge. See `ConstantPad1d`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ReflectionPad2d((1, 1, 0, 1))(tl_core.tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]))
        tensor([[[2., 1., 2., 3., 2.],
                 [5., 4., 5., 6., 5.],
                 [2., 1., 2., 3., 2.]]])
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pads inputs of shape (N, C, D, H, W) or (C, D, H, W) with a reflection at the edge. See `ConstantPad1d`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ReflectionPad3d(1)(tl_core.zeros(1, 2, 2, 3, 4)).shape
        torch.Size([1, 2, 4, 5, 6])
    """

    _dims = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Pads inputs of shape (N, C, W) or (C, W) with the value at the edge. See `ConstantPad1d`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ReplicationPad1d((1, 2))(tl_core.tensor([[1.0, 2.0, 3.0]]))
        tensor([[1., 1., 2., 3., 3., 3.]])
    """

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pads inputs of shape (N, C, H, W) or (C, H, W) with the value at the edge. See `ConstantPad1d`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ReplicationPad2d((2, 0, 0, 1))(tl_core.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
        tensor([[[1., 1., 1., 2.],
                 [3., 3., 3., 4.],
                 [3., 3., 3., 4.]]])
    """

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pads inputs of shape (N, C, D, H, W) or (C, D, H, W) with the value at the edge. See `ConstantPad1d`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ReplicationPad3d(1)(tl_core.zeros(1, 2, 2, 3, 4)).shape
        torch.Size([1, 2, 4, 5, 6])
    """

    _dims = 3


class CircularPad1d(_CircularPadNd):
    """Pads inputs of shape (N, C, W) or (C, W) with the values of the other end. See `ConstantPad1d`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.CircularPad1d(1)(tl_core.tensor([[1.0, 2.0, 3.0]]))
        tensor([[3., 1., 2., 3., 1.]])
    """

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Pads inputs of shape (N, C, H, W) or (C, H, W) with the values of the other end. See `ConstantPad1d`.

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
    """Pads inputs of shape (N, C, D, H, W) or (C, D, H, W) with the values of the other end. See `ConstantPad1d`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.CircularPad3d((1, 1, 2, 2, 0, 1))(tl_core.zeros(1, 2, 2, 3, 4)).shape
        torch.Size([1, 2, 3, 7, 6])
    """

    _dims = 3
