"""A mask of rows, and the hook that adds the bias behind it."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_nn as nn
from tl_core import Tensor
from tl_nn import Module

from ..sparsifier.utils import module_contains_param

__all__ = ["BiasHook", "FakeStructuredSparsity", "module_contains_param"]


class FakeStructuredSparsity(Module):
    """A parametrization that multiplies the rows of a tensor with a mask. State dicts don't have the mask.

    Args:
        mask (Tensor): False for the rows that become zero, else True.

    Example:
        >>> import tl_core
        >>> FakeStructuredSparsity(tl_core.tensor([True, False]))(tl_core.ones(2, 2))
        tensor([[1., 1.],
                [0., 0.]])
    """

    mask: Tensor

    def __init__(self, mask: Tensor) -> None:
        super().__init__()
        self.register_buffer("mask", mask)

    def forward(self, x: Tensor) -> Tensor:
        """The product. Raises AssertionError if the mask is no tensor, or for another number of rows."""
        mask: Any = self.mask
        if not isinstance(mask, Tensor):
            raise AssertionError(f"mask must be a tensor, but got {type(mask).__name__}")
        if mask.shape[0] != x.shape[0]:
            raise AssertionError(
                f"mask must have an entry for each of the {x.shape[0]} rows, but got {mask.shape[0]}"
            )
        return mask.reshape([-1] + [1] * (x.dim() - 1)) * x

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """An empty dictionary: the sparsifier's state has the mask."""
        return {}


class BiasHook:
    """A forward hook that adds the bias of a pruned layer, its parameter `_bias`.

    Gradients don't flow into the bias.

    Args:
        parametrization (FakeStructuredSparsity): Its mask selects the rows.
        prune_bias (bool): Whether the bias of the other rows becomes zero.
    """

    def __init__(self, parametrization: Any, prune_bias: bool) -> None:
        self.param = parametrization
        self.prune_bias = prune_bias

    def __call__(self, module: Module, input: Any, output: Tensor) -> Tensor:
        bias = getattr(module, "_bias", None)
        if bias is None:
            return output
        values = bias.detach()
        if self.prune_bias:
            with tl_core.no_grad():
                values[~self.param.mask] = 0
        if not isinstance(module, nn.Linear):  # the channels of a linear layer are the last dimension
            windows = 2 if isinstance(module, nn.Conv2d) else output.dim() - 2
            values = values.reshape([-1] + [1] * windows)
        return output + values
