"""Filters near the others: pruning by the geometric median."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module

from .base_structured_sparsifier import BaseStructuredSparsifier

__all__ = ["FPGMPruner"]


class FPGMPruner(BaseStructuredSparsifier):
    """Removes the filters with the smallest sum of distances to the others, which the others can replace.

    The method is filter pruning via geometric median of He et al., 2019 (https://arxiv.org/abs/1811.00250).

    Args:
        sparsity_level (float): The share of the filters.
        dist (int or callable, optional): 1 for the sum of absolute differences, 2 (the default) for the Euclidean
            distance, or a function of the matrix of filters that returns the matrix of distances.

    Raises:
        NotImplementedError: For another distance.

    Example:
        >>> import tl_core
        >>> filters = tl_core.tensor([3.0, 2.0, 0.5]).reshape(3, 1, 1, 1)
        >>> FPGMPruner(0.3)._compute_distance(filters)
        tensor([3.5000, 2.5000, 4.0000])
    """

    def __init__(self, sparsity_level: float = 0.5, dist: Callable[..., Any] | int | None = None) -> None:
        dist = 2 if dist is None else dist
        if callable(dist):
            self.dist_fn: Callable[..., Any] = dist
        elif dist in (1, 2):
            order = float(dist)
            self.dist_fn = lambda x: tl_core.cdist(x, x, p=order)
        else:
            raise NotImplementedError(f"dist must be 1, 2 or a function, but got {dist!r}")
        super().__init__(defaults={"sparsity_level": sparsity_level})

    def _compute_distance(self, t: Tensor) -> Tensor:
        """The sum of the distances of each row to the others."""
        distances: Tensor = self.dist_fn(t.reshape(t.shape[0], -1))
        return distances.abs().sum(1)

    def update_mask(  # type: ignore[override]  # the options of this pruner
        self, module: Module, tensor_name: str, sparsity_level: float, **kwargs: Any
    ) -> None:
        """Computes the mask of a tensor.

        Args:
            module: the module.
            tensor_name: the name of the tensor.
            sparsity_level: the share of the rows.
            **kwargs: of no effect.
        """
        weight = getattr(module, tensor_name)
        mask = module.parametrizations[tensor_name][0].mask
        if sparsity_level <= 0 or sparsity_level >= 1:
            mask.data = tl_core.full_like(mask, sparsity_level <= 0, dtype=tl_core.bool)
            return
        count = round(sparsity_level * weight.shape[0])
        mask[self._compute_distance(weight).topk(count, largest=False).indices] = False
