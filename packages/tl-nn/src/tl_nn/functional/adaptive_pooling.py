"""Means and maxima of as many windows of a grid as the result has elements."""

from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.functions import nn as nn_functions
from tl_core.overrides import overridable

from .window_sizes import Ints

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
]


def _result_size(name: str, input: Tensor, output_size: Any) -> list[int]:
    """The size of the result: None stands for the input's."""
    n = int(name[-2])
    sizes = (output_size,) * n if output_size is None or isinstance(output_size, int) else output_size
    if len(sizes) != n:
        raise RuntimeError(f"{name}: output_size must be {n} numbers or one, got {tuple(sizes)}")
    if input.dim() <= len(sizes):
        raise ValueError(
            f"Input dimension should be at least {len(sizes) + 1}, got {input.dim()} for output_size={output_size}"
        )
    own = list(input.shape[input.dim() - len(sizes) :])
    return [own_size if size is None else size for size, own_size in zip(sizes, own)]


@overridable
def adaptive_avg_pool1d(input: Tensor, output_size: Ints) -> Tensor:
    """The means of `output_size` windows that together cover the last dimension.

    Window i reaches from `floor(i * width / output_size)` to `ceil((i + 1) * width / output_size)`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.adaptive_avg_pool1d(tl_core.tensor([[1.0, 2.0, 3.0]]), 2)
        tensor([[1.5000, 2.5000]])
    """
    return tl_core.adaptive_avg_pool1d(input, output_size)


@overridable
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The means of the rectangles of a grid of `output_size`, (height, width). None keeps a size.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.adaptive_avg_pool2d(tl_core.arange(8.0).view(1, 2, 4), (1, 2))
        tensor([[[2.5000, 4.5000]]])
    """
    return nn_functions.adaptive_avg_pool2d(input, _result_size("adaptive_avg_pool2d", input, output_size))


@overridable
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The means of the boxes of a grid of `output_size`, (depth, height, width). None keeps a size.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.adaptive_avg_pool3d(tl_core.zeros(1, 4, 8, 7, 6), (2, None, 3)).shape
        torch.Size([1, 4, 2, 7, 3])
    """
    return nn_functions.adaptive_avg_pool3d(input, _result_size("adaptive_avg_pool3d", input, output_size))


@overridable
def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Ints, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool1d` with the positions of the maxima.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        output_size: the spatial size of the output, one number or one each. None keeps the input's.
        return_indices: whether the indices of the maxima are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.adaptive_max_pool1d_with_indices(tl_core.tensor([[1.0, 5.0, 2.0, 4.0]]), 2)
        (tensor([[5., 4.]]), tensor([[1, 3]]))
    """
    return tl_core.adaptive_max_pool1d(input, output_size)


@overridable
def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool2d` with the positions of the maxima.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        output_size: the spatial size of the output, one number or one each. None keeps the input's.
        return_indices: whether the indices of the maxima are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.adaptive_max_pool2d_with_indices(tl_core.arange(8.0).view(1, 2, 4), (1, 2))
        (tensor([[[5., 7.]]]), tensor([[[5, 7]]]))
    """
    return nn_functions.adaptive_max_pool2d(input, _result_size("adaptive_max_pool2d", input, output_size))


@overridable
def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool3d` with the positions of the maxima.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        output_size: the spatial size of the output, one number or one each. None keeps the input's.
        return_indices: whether the indices of the maxima are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.adaptive_max_pool3d_with_indices(tl_core.arange(8.0).view(1, 2, 2, 2), 1)[1].flatten()
        tensor([7])
    """
    return nn_functions.adaptive_max_pool3d(input, _result_size("adaptive_max_pool3d", input, output_size))


@overridable
def adaptive_max_pool1d(input: Tensor, output_size: Ints, return_indices: bool = False) -> Any:
    """The maxima of `output_size` windows that together cover the last dimension: see `adaptive_avg_pool1d`.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        output_size: the spatial size of the output, one number or one each. None keeps the input's.
        return_indices: whether the indices of the maxima are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.adaptive_max_pool1d(tl_core.tensor([[1.0, 5.0, 2.0, 4.0]]), 2)
        tensor([[5., 4.]])
    """
    both = adaptive_max_pool1d_with_indices(input, output_size)
    return both if return_indices else both[0]


@overridable
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima of the rectangles of a grid of `output_size`, and optionally their positions.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        output_size: the spatial size of the output, one number or one each. None keeps the input's.
        return_indices: whether the indices of the maxima are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.adaptive_max_pool2d(tl_core.arange(8.0).view(1, 2, 4), (1, 2))
        tensor([[[5., 7.]]])
    """
    both = adaptive_max_pool2d_with_indices(input, output_size)
    return both if return_indices else both[0]


@overridable
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima of the boxes of a grid of `output_size`, and optionally their positions.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        output_size: the spatial size of the output, one number or one each. None keeps the input's.
        return_indices: whether the indices of the maxima are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.adaptive_max_pool3d(tl_core.zeros(1, 4, 8, 7, 6), 2).shape
        torch.Size([1, 4, 2, 2, 2])
    """
    both = adaptive_max_pool3d_with_indices(input, output_size)
    return both if return_indices else both[0]
