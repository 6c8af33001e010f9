"""Finite differences: estimates of derivatives from sampled values."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.overrides import overridable

__all__ = ["gradient"]


def _overload(spacing: Any, dim: Any) -> str:
    """The overload of the row for the kinds of the arguments."""
    is_list = isinstance(dim, (list, tuple))
    if isinstance(spacing, Tensor):
        raise TypeError(
            "gradient(): argument 'spacing' must be a number, or a list of numbers or tensors, not Tensor"
        )
    if not isinstance(spacing, (list, tuple)):
        return "gradient.scalararray" if is_list else "gradient.scalarint"
    if spacing and isinstance(spacing[0], Tensor):
        return "gradient.tensorarray" if is_list else "gradient.tensorarrayint"
    return "gradient.scalarrayarray" if is_list else "gradient.scalarrayint"


@overridable
def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """Estimates of the derivative along each dimension, from differences of neighbours.

    The second-order central differences of numpy's ``gradient``; at the ends one-sided ones of order
    ``edge_order``. The elements lie ``spacing`` apart: a number for all dimensions, or for each dimension a number
    or a vector of coordinates.

    Raises RuntimeError if a dimension has fewer than ``edge_order + 1`` elements.

    Args:
        input: the values.
        spacing: the distance of neighbours: one number, one for each dimension, or coordinates as a tensor each.
        dim: the dimension or dimensions; None for all.
        edge_order: the order of accuracy at the edges, 1 or 2.

    >>> gradient(tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
    step = 1 if spacing is None else spacing
    options = {"spacing": step, "dim": dim, "edge_order": edge_order}
    return tuple(_C._call_operator((_overload(step, dim),), input, **options))
