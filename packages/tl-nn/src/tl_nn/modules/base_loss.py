"""The base classes of losses as modules."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from .._reduction import resolve_reduction
from .module import Module

__all__: list[str] = []


class _Loss(Module):
    """Base class of all losses: the reduction.

    Args:
        size_average, reduce (bool, optional): Older spellings of `reduction`.
        reduction (str): "none", "mean" or "sum".
    """

    __constants__ = ["reduction"]
    reduction: str

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        self.reduction = resolve_reduction(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    """A loss with a factor for each class, which moves with the module as the buffer `weight`."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


def _weight(loss: Any) -> Tensor | None:
    """The buffer `weight`, ten times as fast as the attribute."""
    own = loss._buffers
    return own["weight"] if "weight" in own else loss.weight  # noqa: SIM401 - get() would ask for the attribute
