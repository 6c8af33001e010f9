"""Zeros in the blocks of the smallest norms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_nn import Module

from .base_sparsifier import BaseSparsifier
from .block_masks import block_count, block_mask, element_mask

__all__ = ["WeightNormSparsifier"]


class WeightNormSparsifier(BaseSparsifier):
    """Divides a matrix into blocks and makes zeros in the blocks of the smallest norms.

    Args:
        sparsity_level (float): The share of the blocks with zeros.
        sparse_block_shape (tuple of two int): The shape of a block.
        zeros_per_block (int, optional): The zeros of such a block, by default all its elements.
        norm (int or callable, optional): 1 for absolute numbers, 2 for squares, or a function of the matrix; the
            default is 2.

    Raises:
        NotImplementedError: For another norm.
        ValueError: In `step`, if `zeros_per_block` is negative or larger than a block.

    Example:
        >>> import tl_core, tl_nn
        >>> model, sparsifier = tl_nn.Sequential(tl_nn.Linear(8, 4)), WeightNormSparsifier(0.5, (1, 4))
        >>> sparsifier.prepare(model, None)
        >>> sparsifier.step()
        >>> float((model[0].weight == 0).float().mean())
        0.5
    """

    def __init__(
        self,
        sparsity_level: float = 0.5,
        sparse_block_shape: tuple[int, int] = (1, 4),
        zeros_per_block: int | None = None,
        norm: Callable[..., Any] | int | None = None,
    ) -> None:
        rows, columns = sparse_block_shape
        defaults = {
            "sparsity_level": sparsity_level,
            "sparse_block_shape": sparse_block_shape,
            "zeros_per_block": rows * columns if zeros_per_block is None else zeros_per_block,
        }
        norm = 2 if norm is None else norm
        if callable(norm):
            self.norm_fn: Callable[..., Any] = norm
        elif norm in (1, 2):
            self.norm_fn = tl_core.abs if norm == 1 else tl_core.square
        else:
            raise NotImplementedError(f"L-{norm} is not yet implemented.")
        super().__init__(defaults=defaults)

    def update_mask(  # type: ignore[override]  # the options of this sparsifier
        self,
        module: Module,
        tensor_name: str,
        sparsity_level: float,
        sparse_block_shape: tuple[int, int],
        zeros_per_block: int,
        **kwargs: Any,
    ) -> None:
        """Computes the mask of a matrix.

        Args:
            module: the module.
            tensor_name: the name of the matrix.
            sparsity_level: the share of the blocks with zeros.
            sparse_block_shape: the shape of a block.
            zeros_per_block: the zeros of such a block.
            **kwargs: of no effect.
        """
        size = sparse_block_shape[0] * sparse_block_shape[1]
        if zeros_per_block > size:
            raise ValueError(
                "Number of zeros per block cannot be more than the total number of elements in that block."
            )
        if zeros_per_block < 0:
            raise ValueError("Number of zeros per block should be positive.")
        mask = module.parametrizations[tensor_name][0].mask
        if sparsity_level <= 0 or zeros_per_block == 0:
            mask.data = tl_core.ones_like(mask)
        elif sparsity_level >= 1.0 and zeros_per_block == size:
            mask.data = tl_core.zeros_like(mask)
        else:
            norms = self.norm_fn(getattr(module, tensor_name))
            count = block_count(norms, sparse_block_shape)
            if sparsity_level < 1:  # a block stays
                count = min(count - 1, round(sparsity_level * count))
            result = block_mask(norms, count, sparse_block_shape)
            if zeros_per_block != size:
                result = result.logical_or(element_mask(norms, sparse_block_shape, zeros_per_block))
            mask.data = result.to(mask.dtype)
