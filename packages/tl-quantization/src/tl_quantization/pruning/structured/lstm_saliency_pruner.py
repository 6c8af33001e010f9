"""Rows of an LSTM of the smallest sums of absolute numbers."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_nn import Module

from .base_structured_sparsifier import BaseStructuredSparsifier
from .parametrization import FakeStructuredSparsity
from .saliency_pruner import row_norms

__all__ = ["LSTMSaliencyPruner"]


class LSTMSaliencyPruner(BaseStructuredSparsifier):
    """Removes the rows of the smallest sums of absolute numbers from each of the four gates of an LSTM.

    The weights of the gates are the quarters of `weight_ih_l0`, `weight_hh_l0` and so on. Each loses the share
    `sparsity_level` of its rows, rounded down to whole rows.

    Raises:
        RuntimeError: In `step`, for a tensor of one dimension.

    Example:
        >>> pruner = LSTMSaliencyPruner({"sparsity_level": 0.5})
        >>> pruner.defaults
        {'sparsity_level': 0.5}
    """

    def update_mask(self, module: Module, tensor_name: str, **kwargs: Any) -> None:
        """Computes the mask of a tensor.

        Args:
            module: the module.
            tensor_name: the name of the tensor.
            **kwargs: `sparsity_level`.
        """
        saliency = row_norms(getattr(module, tensor_name), tensor_name)
        for part in module.parametrizations[tensor_name]:
            if isinstance(part, FakeStructuredSparsity):
                size = len(part.mask) // 4
                gates = zip(tl_core.split(part.mask, size), tl_core.split(saliency, size), strict=True)
                for mask, norms in gates:
                    count = int(len(mask) * kwargs["sparsity_level"])
                    mask.data[norms.topk(count, largest=False, sorted=False).indices] = False
