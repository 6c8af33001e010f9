"""Histograms of points in several dimensions."""

from __future__ import annotations

import collections
import math
from collections.abc import Sequence

from tl_core import _C
from tl_core._C import Tensor
from tl_core.overrides import overridable

__all__ = ["histogramdd"]

Histogram = collections.namedtuple("histogramdd", ["hist", "bin_edges"])  # type: ignore[name-match]
Histogram.__module__ = "torch.return_types"


@overridable
def histogramdd(
    input: Tensor,
    bins: int | Sequence[int] | Sequence[Tensor],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Histogram:
    """Counts points in the cells of a grid.

    Args:
        input: the points, their coordinates along the last dimension.
        bins: how many intervals of equal width each dimension has, one number for all or one for each, or the edges
            of the intervals, a tensor for each dimension.
        range: the least and the greatest edge of each dimension, one after the other; by default those of the data.
        weight: how much each point counts.
        density: whether counts are divided by their sum and the cells' volumes.

    Returns:
        The counts `hist`, a dimension for each coordinate, and `bin_edges`, a tensor for each.

    Raises:
        RuntimeError: if sizes, dtypes or ranges don't fit the points.
        NotImplementedError: if the points aren't float32 or float64.

    Example:
        >>> import tl_core as tl
        >>> points = tl.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0]])
        >>> tl.histogramdd(points, bins=[3, 2]).hist
        tensor([[0., 1.],
                [1., 0.],
                [1., 1.]])
    """
    if input.dim() < 2:
        raise RuntimeError(
            f"torch.histogramdd: input tensor should have at least 2 dimensions, but got {input.dim()}"
        )
    if input.dtype not in (_C.float32, _C.float64):
        raise NotImplementedError(f'"histogramdd" not implemented for {input.dtype}')
    _check_weight(input, weight)
    points = input.reshape(-1, input.size(-1))
    edges = _edges(points, bins, range)
    counts = [e.numel() - 1 for e in edges]
    inside, cell = _cells(points, edges, counts)
    each = None if weight is None else weight.reshape(-1).double()
    each = inside.double() if each is None else _C.where(inside, each, 0.0)
    hist = _C.bincount(cell, each, math.prod(counts))[: math.prod(counts)].reshape(counts).to(input.dtype)
    return Histogram(_density(hist, edges) if density else hist, tuple(edges))


def _check_weight(input: Tensor, weight: Tensor | None) -> None:
    if weight is None:
        return
    if weight.dtype != input.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
            f"dtype, but got input({input.dtype}), and weight({weight.dtype})"
        )
    if weight.shape != input.shape[:-1]:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {list(input.shape)} and weight with shape "
            f"{list(weight.shape)}"
        )


def _edges(
    points: Tensor, bins: int | Sequence[int] | Sequence[Tensor], limits: Sequence[float] | None
) -> list[Tensor]:
    """The edges of every dimension."""
    dims = points.size(1)
    each = (
        [bins] * dims if isinstance(bins, int) else list(bins) if isinstance(bins, (list, tuple)) else [None]
    )
    if each and all(isinstance(b, Tensor) for b in each):
        return _given_edges(points, each)  # type: ignore[arg-type]
    if not all(isinstance(b, int) for b in each):
        raise TypeError(
            "histogramdd(): argument 'bins' must be int, tuple of ints or tuple of Tensors, "
            f"not {type(bins).__name__}"
        )
    if len(each) != dims:
        raise RuntimeError(
            f"histogramdd: The size of bins must be equal to the innermost dimension of the input, {dims}, "
            f"but got {len(each)}"
        )
    for d, count in enumerate(each):
        if count <= 0:
            raise RuntimeError(f"torch.histogramdd(): bins must be > 0, but got {count} for dimension {d}")
    ends = _ends(points, limits)
    return [
        _C.linspace(low, high, count + 1, dtype=points.dtype, device=points.device)
        for (low, high), count in zip(ends, each, strict=True)
    ]


def _given_edges(points: Tensor, edges: list[Tensor]) -> list[Tensor]:
    if len(edges) != points.size(1):
        raise RuntimeError(
            f"torch.histogramdd: expected {points.size(1)} sequences of bin edges for a {points.size(1)}-dimensional "
            f"histogram but got {len(edges)}"
        )
    for d, e in enumerate(edges):
        if e.dtype != points.dtype:
            raise RuntimeError(
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
                f"{points.dtype} and bins for dimension {d} with dtype {e.dtype}"
            )
        if e.dim() != 1 or e.numel() == 0:
            raise RuntimeError(
                "torch.histogramdd: bins tensor should have one dimension and not be empty, but got "
                f"{e.dim()} dimensions and {e.numel()} elements in the bins tensor for dimension {d}"
            )
    return edges


def _ends(points: Tensor, limits: Sequence[float] | None) -> list[tuple[float, float]]:
    """The least and greatest edge of every dimension; where they are equal, half a unit apart to both sides."""
    dims = points.size(1)
    if limits is not None and len(limits) != 2 * dims:
        raise RuntimeError(
            f"torch.histogramdd: for a {dims}-dimensional histogram range should have {2 * dims} elements, but got "
            f"{len(limits)}"
        )
    if limits is not None:
        pairs = list(zip(limits[::2], limits[1::2], strict=True))
    elif points.size(0):
        pairs = list(zip(points.amin(0).tolist(), points.amax(0).tolist(), strict=True))
    else:
        pairs = [(0.0, 1.0)] * dims
    for d, (low, high) in enumerate(pairs):
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(f"torch.histogramdd: dimension {d}'s range [{low}, {high}] is not finite")
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {low} max {high} for dimension {d}"
            )
    return [(low - 0.5, high + 0.5) if low == high else (low, high) for low, high in pairs]


def _cells(points: Tensor, edges: list[Tensor], counts: list[int]) -> tuple[Tensor, Tensor]:
    """Which points lie in a cell, and the number of the cell; the last interval of a dimension has both its ends."""
    inside = _C.ones(points.size(0), dtype=_C.bool, device=points.device)
    cell = _C.zeros(points.size(0), dtype=_C.int64, device=points.device)
    for d, (e, count) in enumerate(zip(edges, counts, strict=True)):
        x = points[:, d].contiguous()
        index = _C.searchsorted(e, x, right=True) - 1
        index = _C.where(x == e[-1], count - 1, index)
        inside = inside & (index >= 0) & (index < count)
        cell = cell * count + index
    return inside, _C.where(inside, cell, 0)


def _density(hist: Tensor, edges: list[Tensor]) -> Tensor:
    hist = hist / hist.sum()
    for d, e in enumerate(edges):
        shape = [1] * hist.dim()
        shape[d] = -1
        hist = hist / e.diff().reshape(shape)
    return hist
