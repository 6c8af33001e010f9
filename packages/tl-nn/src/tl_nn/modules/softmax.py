"""Normalization of scores to probabilities."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from .. import functional as F
from .module import Module

__all__ = [
    "LogSoftmax",
    "Softmax",
    "Softmax2d",
    "Softmin",
]


class _AlongDim(Module):
    """An activation along one dimension.

    Args:
        dim (int): The dimension.
    """

    __constants__ = ["dim"]
    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "dim" not in self.__dict__:
            self.dim = None

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    r"""Normalizes scores along a dimension to positive numbers that sum to 1.

    Formula:
        .. math::

            \mathrm{Softmax}(x)_i = \frac{e^{x_i}}{\sum_j e^{x_j}}

        The index `j` runs over the elements of the dimension `dim`.

    Args:
        dim (int): The dimension along which results sum to 1. None selects one by the number of dimensions and
            emits a warning: 0 for 0, 1
        and 3 dimensions, otherwise 1.

    Shape:
        - Input: `(*)`, any shape that has the dimension `dim`. A tensor without dimensions counts as one element.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The kernel subtracts the largest element first, so finite scores of any size give finite results. Sums of
          float16 and bfloat16 are accumulated in float32.
        - A score of negative infinity gives 0: masks use it. If all scores of a slice are negative infinity, or one
          is positive infinity or NaN, the slice is NaN.
        - Integer input gives a result of the default floating-point type.
        - `NLLLoss` expects logarithms: use `LogSoftmax`, or `CrossEntropyLoss` on the scores.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Softmax(dim=0)(tl_core.zeros(2))
        tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Numbers from 0 to 1 that sum to 1 along the dimension."""
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    r"""The logarithm of `Softmax`, computed without the intermediate probabilities.

    Formula:
        .. math::

            \mathrm{LogSoftmax}(x)_i = x_i - \ln \sum_j e^{x_j}

        The index `j` runs over the elements of the dimension `dim`.

    Args:
        dim (int): The dimension along which the probabilities sum to 1. None selects one by the number of
            dimensions and emits a warning: 0 for 0, 1
        and 3 dimensions, otherwise 1.

    Shape:
        - Input: `(*)`, any shape that has the dimension `dim`. A tensor without dimensions counts as one element.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The largest element is subtracted before exponentials are taken. Finite scores give finite results, where
          the logarithm of `Softmax` underflows to negative infinity.
        - A slice whose scores are all negative infinity, or that contains positive infinity or NaN, is NaN.
        - Integer input gives a result of the default floating-point type.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LogSoftmax(dim=-1)(tl_core.tensor([0.0, 0.0, 0.0, 0.0]))
        tensor([-1.3863, -1.3863, -1.3863, -1.3863])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The logarithms."""
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmin(_AlongDim):
    r"""`Softmax` of the negated input: the smallest element has the largest result.

    Formula:
        .. math::

            \mathrm{Softmin}(x)_i = \frac{e^{-x_i}}{\sum_j e^{-x_j}}

        The index `j` runs over the elements of the dimension `dim`.

    Args:
        dim (int): The dimension along which results sum to 1. None selects one by the number of dimensions and
            emits a warning: 0 for 0, 1
        and 3 dimensions, otherwise 1.

    Shape:
        - Input: `(*)`, any shape that has the dimension `dim`. A tensor without dimensions counts as one element.
        - Output: `(*)`, the shape of the input.

    Notes:
        - Numerics are those of `Softmax` of `-x`: positive infinity gives 0.
        - A bool input raises RuntimeError, because it has no negation.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Softmin(dim=0)(tl_core.tensor([0.0, 1.0]))
        tensor([0.7311, 0.2689])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Numbers from 0 to 1 that sum to 1 along the dimension."""
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    r"""`Softmax` over the channels at each pixel of an image.

    Formula:
        .. math::

            y_{n c h w} = \frac{e^{x_{n c h w}}}{\sum_{k} e^{x_{n k h w}}}

        The index `k` runs over the C channels.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: the shape of the input.

    Notes:
        - Numerics are those of `Softmax` along dimension -3.

    Raises:
        ValueError: If the input doesn't have 3 or 4 dimensions.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Softmax2d()(tl_core.zeros(1, 2, 1, 1)).flatten()
        tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Numbers from 0 to 1 that sum to 1 over the channels.

        Raises:
            ValueError: If the input doesn't have 3 or 4 dimensions.
        """
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)
