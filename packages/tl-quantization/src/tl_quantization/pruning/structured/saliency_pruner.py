"""Rows of the smallest sums of absolute numbers."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor
from tl_nn import Module

from .base_structured_sparsifier import BaseStructuredSparsifier

__all__ = ["SaliencyPruner"]


class SaliencyPruner(BaseStructuredSparsifier):
    """Removes the rows of the smallest sums of absolute numbers.

    The configuration has `sparsity_level`, the share of the rows. It is rounded down to whole rows.

    Raises:
        RuntimeError: In `step`, for a tensor of one dimension.

    Example:
        >>> import tl_core, tl_nn
        >>> model = tl_nn.Sequential(tl_nn.Linear(2, 2, bias=False), tl_nn.Linear(2, 1))
        >>> model[0].weight.data = tl_core.tensor([[1.0, 1.0], [2.0, 2.0]])
        >>> pruner = SaliencyPruner({"sparsity_level": 0.5})
        >>> pruner.prepare(model, [{"tensor_fqn": "0.weight"}])
        >>> pruner.step()
        >>> _ = pruner.prune()
        >>> model[0].weight.tolist()
        [[2.0, 2.0]]
    """

    def update_mask(self, module: Module, tensor_name: str, **kwargs: Any) -> None:
        """Computes the mask of a tensor.

        Args:
            module: the module.
            tensor_name: the name of the tensor.
            **kwargs: `sparsity_level`.
        """
        saliency = row_norms(getattr(module, tensor_name), tensor_name)
        mask = module.parametrizations[tensor_name][0].mask
        if saliency.shape != mask.shape:
            raise AssertionError(
                f"{tensor_name} has {len(saliency)} rows, so its mask must have the shape ({len(saliency)},), but got "
                f"{tuple(mask.shape)}"
            )
        count = int(len(mask) * kwargs["sparsity_level"])
        mask.data[(-saliency).topk(count).indices] = False


def row_norms(weight: Tensor, name: str) -> Tensor:
    """The sum of the absolute numbers of each row.

    Args:
        weight: the tensor.
        name: its name, for errors.

    Raises:
        RuntimeError: If the tensor has one dimension.
    """
    if weight.dim() <= 1:
        raise RuntimeError(
            f"Rows can be removed from tensors of 2 or more dimensions, but {name} has {weight.dim()}"
        )
    return weight.norm(dim=tuple(range(1, weight.dim())), p=1)
