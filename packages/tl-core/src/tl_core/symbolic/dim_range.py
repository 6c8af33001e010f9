"""The sizes that a dimension marked as dynamic may have."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DimRange"]


@dataclass(frozen=True, slots=True)
class DimRange:
    """The least and the greatest size of a dimension; None: no bound.

    Args:
        dim: the dimension.
        min, max: the bounds.
    """

    dim: int
    min: int | None
    max: int | None
