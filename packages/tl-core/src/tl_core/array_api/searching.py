"""Elements found by position, by order, by value; sets of them."""

from __future__ import annotations

from typing import Literal, NamedTuple

import tl_core as _tl
from tl_core._C import Tensor

__all__ = ["argsort", "nonzero", "searchsorted", "sort", "take", "take_along_axis", "unique_all", "unique_counts",
           "unique_inverse", "unique_values"]  # fmt: skip


class UniqueAll(NamedTuple):
    """Each value once, where it stands first, which value each element has, how many have each."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """Each value once, how many elements have it."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """Each value once, which value each element has."""

    values: Tensor
    inverse_indices: Tensor


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The slices at some positions along an axis.

    Args:
        x: the array.
        indices: which elements, int64.
        axis: the axis.

    Raises:
        ValueError: several axes to choose from.

    Example:
        >>> take(_tl.tensor([5, 6, 7]), _tl.tensor([2, 0]))
        tensor([7, 5])
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"axis is needed for an array of {x.ndim} dimensions")
        axis = 0
    at = indices.to(_tl.int64)
    flat = _tl.where(at < 0, at + x.shape[axis], at).reshape(-1)
    out = _tl.index_select(x, axis, flat)
    return (
        out
        if at.ndim == 1
        else out.reshape([*x.shape[: axis % x.ndim], *at.shape, *x.shape[axis % x.ndim + 1 :]])
    )


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """The elements at some positions along an axis, other ones for each row.

    Args:
        x: the array.
        indices: which elements, int64.
        axis: the axis.

    Example:
        >>> take_along_axis(_tl.tensor([[1, 2], [3, 4]]), _tl.tensor([[1], [0]]))
        tensor([[2],
                [3]])
    """
    at = indices.to(_tl.int64)
    return _tl.take_along_dim(x, _tl.where(at < 0, at + x.shape[axis], at), dim=axis)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The positions along each axis of the elements that are not zero.

    Raises:
        ValueError: an array without dimensions.

    Example:
        >>> nonzero(_tl.tensor([0, 1, 2]))
        (tensor([1, 2]),)
    """
    if x.ndim == 0:
        raise ValueError("nonzero(): an array without dimensions has no positions")
    return tuple(_tl.nonzero(x, as_tuple=True))


def searchsorted(
    x1: Tensor, x2: Tensor, /, *, side: Literal["left", "right"] = "left", sorter: Tensor | None = None
) -> Tensor:
    """Where elements would have to stand among sorted ones.

    Args:
        x1: the elements that are sorted, or that `sorter` sorts.
        x2: the elements to be placed.
        side: before or behind equal ones.
        sorter: the order of x1.

    Example:
        >>> searchsorted(_tl.tensor([1, 3, 5]), _tl.tensor([3, 4]))
        tensor([1, 2])
    """
    if sorter is not None:
        x1 = take(x1, sorter)
    common = _tl.promote_types(x1.dtype, x2.dtype)
    return _tl.searchsorted(_in_order(x1.to(common)), _in_order(x2.to(common)), side=side)


def _in_order(x: Tensor) -> Tensor:
    """Numbers in the same order, of a type that can be searched for."""
    if x.dtype is _tl.uint64:
        x = _tl.bitwise_xor(x.view(_tl.int64), -(2**63))
    elif x.dtype in (_tl.uint16, _tl.uint32):
        x = x.to(_tl.int64)
    return x.contiguous()


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order along an axis.

    Args:
        x: the array.
        axis: the axis.
        descending: whether the largest come first.
        stable: whether equal elements keep their order.

    Example:
        >>> sort(_tl.tensor([3, 1, 2]), descending=True)
        tensor([3, 2, 1])
    """
    return _tl.sort(x, dim=axis, descending=descending, stable=stable)[0]


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The positions of the elements in order along an axis.

    Args:
        x: the array.
        axis: the axis.
        descending: whether the largest come first.
        stable: whether equal elements keep their order.

    Example:
        >>> argsort(_tl.tensor([3, 1, 2]))
        tensor([1, 2, 0])
    """
    return _tl.sort(x, dim=axis, descending=descending, stable=stable)[1]


def _order(flat: Tensor) -> Tensor:
    """Complex numbers by their real part, then by their imaginary one."""
    if not flat.is_complex():
        return argsort(flat)
    by_imag = argsort(flat.imag)
    return by_imag[argsort(flat.real[by_imag])]


def unique_all(x: Tensor, /) -> UniqueAll:
    """The values of an array in order, each once, but for NaN, which equals none.

    Example:
        >>> unique_all(_tl.tensor([5, 3, 5])).counts
        tensor([1, 2])
    """
    flat = x.reshape(-1)
    order = _order(flat)
    ordered = flat[order]
    first = _tl.ones(flat.shape, dtype=_tl.bool, device=x.device)
    first[1:] = ordered[1:] != ordered[:-1]
    starts = _tl.nonzero(first).reshape(-1)
    inverse = _tl.empty_like(order)
    inverse[order] = _tl.cumsum(first, 0) - 1
    end = _tl.tensor([flat.numel()], device=x.device)
    return UniqueAll(
        ordered[first], order[starts], inverse.reshape(x.shape), _tl.diff(_tl.cat([starts, end]))
    )


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The values of an array, and how many elements have each.

    Example:
        >>> unique_counts(_tl.tensor([5, 3, 5])).values
        tensor([3, 5])
    """
    uniques = unique_all(x)
    return UniqueCounts(uniques.values, uniques.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The values of an array, and which of them each element has.

    Example:
        >>> unique_inverse(_tl.tensor([5, 3, 5])).inverse_indices
        tensor([1, 0, 1])
    """
    uniques = unique_all(x)
    return UniqueInverse(uniques.values, uniques.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """The values of an array, each once.

    Example:
        >>> unique_values(_tl.tensor([5, 3, 5]))
        tensor([3, 5])
    """
    return unique_all(x).values
