"""Zeros in the blocks of tensors with the smallest norms."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor

from ..sparsifier.block_masks import block_count, block_mask, element_mask
from .base_data_sparsifier import BaseDataSparsifier

__all__ = ["DataNormSparsifier"]


class DataNormSparsifier(BaseDataSparsifier):
    """Divides tensors into blocks and makes zeros in the blocks of the smallest norms.

    Args:
        data_list (list of tuples, optional): Names and tensors of one or two dimensions longer than 1.
        sparsity_level (float): The share of the blocks with zeros.
        sparse_block_shape (tuple of two int): The shape of a block.
        zeros_per_block (int, optional): The zeros of such a block, by default all its elements.
        norm (str): "L1" for absolute numbers, "L2" for squares.

    Raises:
        AssertionError: For another norm.
        ValueError: In `step`, for a tensor of more dimensions, or if `zeros_per_block` is negative or larger than a
            block.

    Example:
        >>> import tl_core
        >>> sparsifier = DataNormSparsifier([("a", tl_core.arange(8.0).reshape(2, 4))], 0.5)
        >>> sparsifier.step()
        >>> sparsifier.get_data("a", return_original=False)
        tensor([[0., 0., 0., 0.],
                [4., 5., 6., 7.]])
    """

    def __init__(
        self,
        data_list: list[tuple[str, Any]] | None = None,
        sparsity_level: float = 0.5,
        sparse_block_shape: tuple[int, int] = (1, 4),
        zeros_per_block: int | None = None,
        norm: str = "L1",
    ) -> None:
        if norm not in ("L1", "L2"):
            raise AssertionError(f"norm must be 'L1' or 'L2', but got {norm!r}")
        self.norm = norm
        size = sparse_block_shape[0] * sparse_block_shape[1]
        super().__init__(
            data_list=data_list,
            sparsity_level=sparsity_level,
            sparse_block_shape=sparse_block_shape,
            zeros_per_block=size if zeros_per_block is None else zeros_per_block,
        )

    def update_mask(  # type: ignore[override]  # the options of this sparsifier
        self,
        name: str,
        data: Tensor,
        sparsity_level: float,
        sparse_block_shape: tuple[int, int],
        zeros_per_block: int,
        **kwargs: Any,
    ) -> None:
        """Computes the mask of a tensor.

        Args:
            name: its name.
            data: the tensor.
            sparsity_level: the share of the blocks with zeros.
            sparse_block_shape: the shape of a block.
            zeros_per_block: the zeros of such a block.
            **kwargs: of no effect.
        """
        size = sparse_block_shape[0] * sparse_block_shape[1]
        if not 0 <= zeros_per_block <= size:
            raise ValueError(
                f"zeros_per_block must be from 0 to the {size} elements of a block, but got {zeros_per_block}"
            )
        norms = (data.abs() if self.norm == "L1" else data * data).squeeze()
        if norms.dim() > 2:
            raise ValueError(
                f"data must have at most 2 dimensions longer than 1, but {name} has the shape {tuple(data.shape)}"
            )
        norms = norms.reshape(-1, norms.shape[-1] if norms.dim() else 1)
        mask = self.get_mask(name)
        count = round(max(0.0, min(sparsity_level, 1.0)) * block_count(norms, sparse_block_shape))
        if zeros_per_block == 0:
            count = 0
        result = block_mask(norms, count, sparse_block_shape)
        if zeros_per_block < size:
            result = result.logical_or(element_mask(norms, sparse_block_shape, zeros_per_block))
        with tl_core.no_grad():
            mask.data = result.reshape(mask.shape).to(mask.dtype)
