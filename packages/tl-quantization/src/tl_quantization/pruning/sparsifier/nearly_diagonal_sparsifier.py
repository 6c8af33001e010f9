"""Zeros away from the diagonal."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_nn import Module

from .base_sparsifier import BaseSparsifier

__all__ = ["NearlyDiagonalSparsifier"]


class NearlyDiagonalSparsifier(BaseSparsifier):
    """Keeps the diagonals of a matrix around the main one.

    Args:
        nearliness (int): The number of diagonals, odd.

    Raises:
        ValueError: In `step`, if the number is even or too large for a matrix.

    Example:
        >>> import tl_core, tl_nn
        >>> model, sparsifier = tl_nn.Sequential(tl_nn.Linear(3, 3)), NearlyDiagonalSparsifier(1)
        >>> sparsifier.prepare(model, None)
        >>> sparsifier.step()
        >>> int((model[0].weight != 0).sum())
        3
    """

    def __init__(self, nearliness: int = 1) -> None:
        super().__init__(defaults={"nearliness": nearliness})

    def update_mask(  # type: ignore[override]  # the options of this sparsifier
        self, module: Module, tensor_name: str, nearliness: int, **kwargs: Any
    ) -> None:
        """Computes the mask of a matrix.

        Args:
            module: the module.
            tensor_name: the name of the matrix.
            nearliness: the number of diagonals.
            **kwargs: of no effect.
        """
        mask = module.parametrizations[tensor_name][0].mask
        mask.data = tl_core.zeros_like(mask)
        if nearliness <= 0:
            return
        rows, columns = getattr(module, tensor_name).shape
        if nearliness % 2 == 0:
            raise ValueError("nearliness can only be an odd number")
        reach = nearliness // 2
        if reach >= min(rows, columns):
            raise ValueError("nearliness cannot be larger than the dimensions of tensor.")
        distance = tl_core.arange(columns) - tl_core.arange(rows).unsqueeze(1)
        mask.data = (distance.abs() <= reach).to(mask.dtype)
