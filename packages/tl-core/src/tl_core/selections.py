"""Functions of the flat namespace that say which elements there are, how large, and how they change."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.linalg import matrix_norm
from tl_core.overrides import overridable

__all__ = ["gradient", "norm", "unique", "unique_consecutive", "unravel_index"]


# ---- different elements ----------------------------------------------------------------------------------------------
def _chosen(found: Any, return_inverse: bool, return_counts: bool) -> Any:
    wanted = [found[0], *found[1:2] * return_inverse, *found[2:3] * return_counts]
    return wanted[0] if len(wanted) == 1 else tuple(wanted)


@overridable
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different elements, or the different slices of a dimension, in ascending order.

    ``return_inverse`` adds, in the input's shape, which of them each element is, and ``return_counts`` how often
    each is there. Every NaN is different from every other. They come sorted whether ``sorted`` asks for it or not.

    Raises NotImplementedError for complex elements, which have no order.

    >>> unique(tensor([3, 1, 3, 2]), return_counts=True)
    (tensor([1, 2, 3]), tensor([1, 1, 2]))
    """
    if dim is None:
        found = _C._call_operator(("_unique2",), input, sorted, return_inverse, return_counts)
    else:
        found = _C._call_operator(("unique_dim",), input, dim, sorted, return_inverse, return_counts)
    return _chosen(found, return_inverse, return_counts)


@overridable
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or slices of a dimension, without those that equal the one before.

    >>> unique_consecutive(tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    found = _C._call_operator(("unique_consecutive",), input, return_inverse, return_counts, dim)
    return _chosen(found, return_inverse, return_counts)


# ---- norms -----------------------------------------------------------------------------------------------------------
@overridable
def norm(
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: Any = None,
) -> Tensor:
    """The p-norm of all elements, or along one or more dimensions.

    ``p`` is a number, infinity among them, ``"fro"`` for the root of the sum of squares, or ``"nuc"`` for the sum of
    the singular values of matrices.

    >>> norm(tensor([3.0, 4.0]))
    tensor(5.)
    """
    if input.is_sparse and dim is None:
        input = input.coalesce().values()
    dims = [dim] if isinstance(dim, int) else dim
    if isinstance(p, str):
        if p == "nuc":
            return matrix_norm(
                input, p, range(input.ndim) if dim is None else dim, keepdim, dtype=dtype, out=out
            )
        if p != "fro":
            raise RuntimeError(f"norm(): p must be a number, 'fro' or 'nuc', but got {p!r}")
        if dims is not None and len(dims) > 2:
            raise RuntimeError(f"norm(): p='fro' takes at most 2 dimensions, but got dim={dim}")
        p = 2
    given = {} if out is None else {"out": out}
    name = "linalg_vector_norm" if out is None else "linalg_vector_norm.out"
    return _C._call_operator((name,), input, 2 if p is None else p, dims, keepdim, dtype=dtype, **given)


# ---- slopes ----------------------------------------------------------------------------------------------------------
def _weighted(parts: list[tuple[Any, Tensor]]) -> Tensor:
    total = parts[0][0] * parts[0][1]
    for weight, part in parts[1:]:
        total = total + weight * part
    return total


def _slope_evenly(f: Any, n: int, step: Any, edge_order: int) -> list[Tensor]:
    """Left edge, inner part and right edge for places at equal distances; `f(begin, end)` gives slices."""
    inner = (f(2, n) - f(0, n - 2)) / (2 * step)
    if edge_order == 1:
        return [(f(1, 2) - f(0, 1)) / step, inner, (f(n - 1, n) - f(n - 2, n - 1)) / step]
    left = _weighted([(-1.5, f(0, 1)), (2.0, f(1, 2)), (-0.5, f(2, 3))]) / step
    right = _weighted([(0.5, f(n - 3, n - 2)), (-2.0, f(n - 2, n - 1)), (1.5, f(n - 1, n))]) / step
    return [left, inner, right]


def _slope_at(f: Any, n: int, x: Tensor, edge_order: int) -> list[Tensor]:
    """The same for places `x`, which stand along the dimension."""
    gaps = x.narrow(_along(x), 1, n - 1) - x.narrow(_along(x), 0, n - 1)

    def gap(begin: int, end: int) -> Tensor:
        return gaps.narrow(_along(x), begin, end - begin)

    a, b = gap(0, n - 2), gap(1, n - 1)
    inner = _weighted(
        [(-b / (a * (a + b)), f(0, n - 2)), ((b - a) / (a * b), f(1, n - 1)), (a / (b * (a + b)), f(2, n))]
    )
    if edge_order == 1:
        return [(f(1, 2) - f(0, 1)) / gap(0, 1), inner, (f(n - 1, n) - f(n - 2, n - 1)) / gap(n - 2, n - 1)]
    a, b = gap(0, 1), gap(1, 2)
    left = _weighted(
        [(-(2 * a + b) / (a * (a + b)), f(0, 1)), ((a + b) / (a * b), f(1, 2)), (-a / (b * (a + b)), f(2, 3))]
    )
    a, b = gap(n - 3, n - 2), gap(n - 2, n - 1)
    right = _weighted(
        [(b / (a * (a + b)), f(n - 3, n - 2)), (-(a + b) / (a * b), f(n - 2, n - 1)),
         ((2 * b + a) / (b * (a + b)), f(n - 1, n))]
    )  # fmt: skip
    return [left, inner, right]


def _along(x: Tensor) -> int:
    """The one dimension of places that is longer than one."""
    return max(range(x.ndim), key=lambda d: x.shape[d])


def _spacings(spacing: Any, dims: list[int]) -> list[Any]:
    """One distance, or one vector of places, a dimension."""
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


def _gradient_along(input: Tensor, d: int, step: Any, edge_order: int) -> Tensor:
    n = input.shape[d]

    def f(begin: int, end: int) -> Tensor:
        return input.narrow(d, begin, max(end - begin, 0))

    if isinstance(step, Tensor):
        shape = [1] * input.ndim
        shape[d] = n
        x = step.reshape(shape)
        if n == 2:
            slope = (f(1, 2) - f(0, 1)) / (step[1] - step[0])
            return _C.cat([slope, slope], d)
        return _C.cat(_slope_at(f, n, x, edge_order), d)
    return _C.cat(_slope_evenly(f, n, step, edge_order), d)


@overridable
def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """Estimates of the derivative along each dimension, from differences of neighbours.

    The second-order central differences of numpy's ``gradient``; at the ends one-sided ones of order
    ``edge_order``. The elements lie ``spacing`` apart: a number for all dimensions, or for each dimension a number
    or a vector of places.

    Raises RuntimeError if a dimension has fewer than ``edge_order + 1`` elements.

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
    return tuple(_gradient_along(input, d, step, edge_order) for d, step in zip(dims, spacings, strict=True))


# ---- positions -------------------------------------------------------------------------------------------------------
@overridable
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Positions that count all elements of a shape as one position a dimension.

    Raises ValueError for a position that the shape doesn't have.

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
    total = 1
    for n in sizes:
        total *= n
    if indices.numel() and not bool(_C.all(_C.logical_and(indices >= 0, indices < total))):
        raise ValueError(
            f"unravel_index(): a position is outside of a shape of {total} elements, {tuple(sizes)}"
        )
    places: list[Tensor] = []
    for n in reversed(sizes):
        places.insert(0, _C.remainder(indices, max(n, 1)))
        indices = _C.div(indices, max(n, 1), rounding_mode="floor")
    return tuple(_C.stack(places, -1).unbind(-1)) if places else ()
