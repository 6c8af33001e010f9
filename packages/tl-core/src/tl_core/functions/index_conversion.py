"""Conversion of flat indices into multi-dimensional ones."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.overrides import overridable

__all__ = ["unravel_index"]


@overridable
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Multi-dimensional indices of flat (row-major) indices into a shape.

    Raises ValueError for an index that the shape doesn't have.

    >>> unravel_index(tensor([5]), (2, 3))
    (tensor([1]), tensor([2]))
    """
    if indices.is_floating_point() or indices.is_complex() or indices.dtype == _C.bool:
        raise ValueError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, tuple, list)) and not hasattr(shape, "__iter__"):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = [shape] if isinstance(shape, int) else list(shape)
    if not all(isinstance(n, int) for n in sizes):
        raise TypeError(f"expected 'shape' sequence to only contain ints, but got {shape!r}")
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    indices = indices.to(_C.int64)  # which holds every size
    total = 1
    for n in sizes:
        total *= n
    if (
        indices.numel()
        and not indices._hides_batch()
        and not bool(_C.all(_C.logical_and(indices >= 0, indices < total)))
    ):
        raise ValueError(
            f"unravel_index(): a position is outside of a shape of {total} elements, {tuple(sizes)}"
        )
    coordinates: list[Tensor] = []
    for n in reversed(sizes):
        coordinates.insert(0, _C.remainder(indices, max(n, 1)))
        indices = _C.div(indices, max(n, 1), rounding_mode="floor")
    return tuple(_C.stack(coordinates, -1).unbind(-1)) if coordinates else ()
