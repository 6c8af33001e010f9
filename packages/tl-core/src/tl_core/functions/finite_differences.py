"""Finite differences: estimates of derivatives from sampled values."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.overrides import overridable

__all__ = ["gradient"]


def _weighted_sum(parts: list[tuple[Any, Tensor]]) -> Tensor:
    total = parts[0][0] * parts[0][1]
    for weight, part in parts[1:]:
        total = total + weight * part
    return total


def _uniform_differences(f: Any, n: int, step: Any, edge_order: int) -> list[Tensor]:
    """Left edge, interior and right edge on a uniform grid; `f(begin, end)` gives slices."""
    inner = (f(2, n) - f(0, n - 2)) / (2 * step)
    if edge_order == 1:
        return [(f(1, 2) - f(0, 1)) / step, inner, (f(n - 1, n) - f(n - 2, n - 1)) / step]
    left = _weighted_sum([(-1.5, f(0, 1)), (2.0, f(1, 2)), (-0.5, f(2, 3))]) / step
    right = _weighted_sum([(0.5, f(n - 3, n - 2)), (-2.0, f(n - 2, n - 1)), (1.5, f(n - 1, n))]) / step
    return [left, inner, right]


def _nonuniform_differences(f: Any, n: int, x: Tensor, edge_order: int) -> list[Tensor]:
    """The same on a nonuniform grid with coordinates `x`, along the dim that is longer than one."""
    gaps = x.narrow(_coordinate_dim(x), 1, n - 1) - x.narrow(_coordinate_dim(x), 0, n - 1)

    def gap(begin: int, end: int) -> Tensor:
        return gaps.narrow(_coordinate_dim(x), begin, end - begin)

    a, b = gap(0, n - 2), gap(1, n - 1)
    inner = _weighted_sum(
        [(-b / (a * (a + b)), f(0, n - 2)), ((b - a) / (a * b), f(1, n - 1)), (a / (b * (a + b)), f(2, n))]
    )
    if edge_order == 1:
        return [(f(1, 2) - f(0, 1)) / gap(0, 1), inner, (f(n - 1, n) - f(n - 2, n - 1)) / gap(n - 2, n - 1)]
    a, b = gap(0, 1), gap(1, 2)
    left = _weighted_sum(
        [(-(2 * a + b) / (a * (a + b)), f(0, 1)), ((a + b) / (a * b), f(1, 2)), (-a / (b * (a + b)), f(2, 3))]
    )
    a, b = gap(n - 3, n - 2), gap(n - 2, n - 1)
    right = _weighted_sum(
        [(b / (a * (a + b)), f(n - 3, n - 2)), (-(a + b) / (a * b), f(n - 2, n - 1)),
         ((2 * b + a) / (b * (a + b)), f(n - 1, n))]
    )  # fmt: skip
    return [left, inner, right]


def _coordinate_dim(x: Tensor) -> int:
    """The one dim of the coordinates that is longer than one."""
    return max(range(x.ndim), key=lambda d: x.shape[d])


def _spacings(spacing: Any, dims: list[int]) -> list[Any]:
    """One step, or one vector of coordinates, a dim."""
    spacing = 1 if spacing is None else spacing
    if not isinstance(spacing, (list, tuple)):
        if isinstance(spacing, Tensor):
            raise TypeError(
                "gradient(): argument 'spacing' must be a number, or a list of numbers or tensors, not Tensor"
            )
        return [spacing] * len(dims)
    if len(spacing) != len(dims):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar or a list of length {len(dims)}, one a "
            f"dimension, but got a list of length {len(spacing)}"
        )
    return list(spacing)


def _check_gradient(input: Tensor, dims: list[int], spacings: list[Any], edge_order: int) -> None:
    if edge_order not in (1, 2):
        raise RuntimeError(f"torch.gradient only supports edge_order=1 and edge_order=2, got {edge_order}")
    for i, d in enumerate(dims):
        if d in dims[:i]:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    for d, step in zip(dims, spacings, strict=True):
        if input.shape[d] < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1, "
                f"but dimension {d} has size {input.shape[d]}"
            )
        if isinstance(step, Tensor):
            if step.ndim != 1:
                raise RuntimeError(f"torch.gradient expected each element of spacing to have one dimension, but got an "
                                   f"element with {step.ndim} dimensions!")  # fmt: skip
            if step.shape[0] != input.shape[d]:
                raise RuntimeError(
                    "torch.gradient expected each element of spacing to have as many coordinates as the input has "
                    f"elements in that dimension: got {step.shape[0]} for dimension {d} of size {input.shape[d]}"
                )


def _gradient_along_dim(input: Tensor, d: int, step: Any, edge_order: int) -> Tensor:
    n = input.shape[d]

    def f(begin: int, end: int) -> Tensor:
        return input.narrow(d, begin, max(end - begin, 0))

    if isinstance(step, Tensor):
        shape = [1] * input.ndim
        shape[d] = n
        x = step.reshape(shape)
        if n == 2:
            derivative = (f(1, 2) - f(0, 1)) / (step[1] - step[0])
            return _C.cat([derivative, derivative], d)
        return _C.cat(_nonuniform_differences(f, n, x, edge_order), d)
    return _C.cat(_uniform_differences(f, n, step, edge_order), d)


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
    dims = list(range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    for d in dims:
        if not -max(input.ndim, 1) <= d < max(input.ndim, 1):
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-input.ndim}, {input.ndim - 1}], but got {d})"
            )
    dims = [d % max(input.ndim, 1) for d in dims]
    spacings = _spacings(spacing, dims)
    _check_gradient(input, dims, spacings, edge_order)
    return tuple(
        _gradient_along_dim(input, d, step, edge_order) for d, step in zip(dims, spacings, strict=True)
    )
