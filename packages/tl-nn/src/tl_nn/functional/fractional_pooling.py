"""Maxima of windows of a grid at pseudo-random positions."""

from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.functions import nn as nn_functions
from tl_core.overrides import overridable

from .window_sizes import Ints

__all__ = [
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
]


def _fractional(
    n: int,
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None,
    output_ratio: Any,
    samples: Tensor | None,
) -> tuple[Tensor, Tensor]:
    name = f"fractional_max_pool{n}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratios = [output_ratio] * n if isinstance(output_ratio, float | int) else list(output_ratio)
        if len(ratios) != n:
            raise ValueError(
                f"{name} requires output_ratio to either be a single Int or tuple of Ints: one for each of "
                f"{n} dimensions, got {output_ratio}"
            )
        output_size = [int(size * ratio) for size, ratio in zip(input.shape[-n:], ratios)]
    for argument, value in (("kernel_size", kernel_size), ("output_size", output_size)):
        if not isinstance(value, int) and len(value) != n:
            raise RuntimeError(f"{name}: {argument} must either be a single int or {n} ints, got {value}")
    if samples is None:
        batch = 1 if input.dim() == n + 1 else input.shape[0]
        samples = tl_core.rand(batch, input.shape[-n - 1], n, dtype=input.dtype, device=input.device)
    pool = nn_functions.fractional_max_pool2d if n == 2 else nn_functions.fractional_max_pool3d
    return pool(input, kernel_size, output_size, samples)


@overridable
def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool2d` with the positions of the maxima.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        output_size: the spatial size of the output, one number or one for each spatial dimension.
        output_ratio: the output's size as a share of the input's, between 0 and 1, instead of `output_size`.
        return_indices: whether the indices of the largest elements in their planes are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> values, indices = F.fractional_max_pool2d_with_indices(tl_core.zeros(1, 4, 9, 9), 2, output_ratio=0.5)
        >>> values.shape, indices.dtype
        (torch.Size([1, 4, 4, 4]), torch.int64)
    """
    return _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)


@overridable
def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool3d` with the positions of the maxima.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        output_size: the spatial size of the output, one number or one for each spatial dimension.
        output_ratio: the output's size as a share of the input's, between 0 and 1, instead of `output_size`.
        return_indices: whether the indices of the largest elements in their planes are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> values, indices = F.fractional_max_pool3d_with_indices(tl_core.zeros(1, 2, 8, 8, 8), 2, output_size=4)
        >>> values.shape, indices.dtype
        (torch.Size([1, 2, 4, 4, 4]), torch.int64)
    """
    return _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)


@overridable
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The maxima of rectangles at pseudo-random positions: Graham, Fractional Max-Pooling, 2014.

    Args:
        input (Tensor, shape (batch, channels, height, width) or (channels, height, width)): Of floating numbers.
        kernel_size (int or two ints): Size of a rectangle.
        output_size (int or two ints, optional): Size of the result.
        output_ratio (float or two floats, optional): Size of the result in parts of the input's, if `output_size`
            isn't given.
        return_indices (bool): Whether to return also the position of each maximum.

    Raises:
        ValueError: If neither size nor ratio is given.
        RuntimeError: If so many rectangles don't fit.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.fractional_max_pool2d(tl_core.zeros(1, 4, 9, 9), 2, output_size=5).shape
        torch.Size([1, 4, 5, 5])
    """
    both = _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return both if return_indices else both[0]


@overridable
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The maxima of boxes at pseudo-random positions: see `fractional_max_pool2d`.

    Args:
        input: the values, (batch, channels, *spatial) or without the batch.
        kernel_size: the extent of the window, one number for all spatial dimensions or one each.
        output_size: the spatial size of the output, one number or one for each spatial dimension.
        output_ratio: the output's size as a share of the input's, between 0 and 1, instead of `output_size`.
        return_indices: whether the indices of the largest elements in their planes are returned too, int64.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.fractional_max_pool3d(tl_core.zeros(1, 4, 9, 9, 9), 2, output_size=5).shape
        torch.Size([1, 4, 5, 5, 5])
    """
    both = _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return both if return_indices else both[0]
