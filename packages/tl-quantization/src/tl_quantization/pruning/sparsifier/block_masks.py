"""Masks of the smallest blocks of a matrix, and of the smallest elements in each block."""

from __future__ import annotations

import tl_core
from tl_core import Tensor
from tl_nn import functional as F

__all__ = ["block_count", "block_mask", "element_mask"]


def block_count(norms: Tensor, shape: tuple[int, int]) -> int:
    """The number of blocks of a matrix, with those that reach over its edge.

    Args:
        norms: the matrix.
        shape: the shape of a block.

    Example:
        >>> import tl_core
        >>> block_count(tl_core.ones(3, 4), (2, 2))
        4
    """
    return -(-norms.shape[0] // shape[0]) * -(-norms.shape[1] // shape[1])


def block_mask(norms: Tensor, zeros: int, shape: tuple[int, int]) -> Tensor:
    """False in the blocks of the smallest means.

    Args:
        norms: the matrix.
        zeros: the number of these blocks.
        shape: the shape of a block.

    Example:
        >>> import tl_core
        >>> block_mask(tl_core.tensor([[1.0, 1.0, 3.0, 0.5]]), 1, (1, 2))
        tensor([[False, False,  True,  True]])
    """
    rows, columns = norms.shape
    means = F.avg_pool2d(norms[None, None], shape, shape, ceil_mode=True)[0, 0]
    keep = tl_core.ones(means.numel(), dtype=tl_core.bool)
    keep[means.flatten().argsort()[:zeros]] = False
    blocks = keep.reshape(means.shape).repeat_interleave(shape[0], 0).repeat_interleave(shape[1], 1)
    return blocks[:rows, :columns]


def element_mask(norms: Tensor, shape: tuple[int, int], zeros: int) -> Tensor:
    """False for the smallest elements of each block.

    Args:
        norms: the matrix.
        shape: the shape of a block.
        zeros: the number of these elements in a block.

    Example:
        >>> import tl_core
        >>> element_mask(tl_core.tensor([[1.0, 2.0, 3.0, 0.5]]), (1, 2), 1)
        tensor([[False,  True,  True, False]])
    """
    rows, columns = norms.shape
    high, wide = -(-rows // shape[0]), -(-columns // shape[1])
    padded = F.pad(norms, (0, wide * shape[1] - columns, 0, high * shape[0] - rows), value=float("inf"))
    blocks = padded.reshape(high, shape[0], wide, shape[1]).transpose(1, 2).reshape(high * wide, -1)
    keep = tl_core.ones(blocks.shape, dtype=tl_core.bool)
    keep.scatter_(1, blocks.argsort(1)[:, :zeros], False)
    joined = keep.reshape(high, wide, *shape).transpose(1, 2).reshape(high * shape[0], wide * shape[1])
    return joined[:rows, :columns]
