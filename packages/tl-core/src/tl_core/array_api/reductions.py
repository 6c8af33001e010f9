"""Many elements to one: sums, products, extremes, moments, truth; and running sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core as _tl
from tl_core._C import Tensor

from .promotion import UNSIGNED

__all__ = ["all", "any", "argmax", "argmin", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "max",
           "mean", "min", "prod", "std", "sum", "var"]  # fmt: skip


def _axes(x: Tensor, axis: Any) -> tuple[int, ...]:
    """The axes, counted from the first; all of them for None.

    Raises:
        IndexError: an axis that isn't there, or twice.
    """
    raw_axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    for a in raw_axes:
        if not -x.ndim <= a < x.ndim:
            raise IndexError(f"axis {a} is out of range for an array of {x.ndim} dimensions")
    axes = tuple(a % x.ndim for a in raw_axes)
    if len(set(axes)) < len(axes):
        raise IndexError(f"an axis stands twice in {tuple(raw_axes)}")
    return axes


def _along_last(x: Tensor, axis: Any, keepdims: bool, of: Callable[[Tensor], Tensor]) -> Tensor:
    """A function of the last axis, along several that are flattened to it."""
    axes = _axes(x, axis)
    outer = [a for a in range(x.ndim) if a not in axes]
    flat = x.permute([*outer, *axes]).reshape([x.shape[a] for a in outer] + [_product(x, axes)])
    out = of(flat)
    return out.reshape([1 if a in axes else n for a, n in enumerate(x.shape)]) if keepdims else out


def _product(x: Tensor, axes: tuple[int, ...]) -> int:
    n = 1
    for a in axes:
        n *= x.shape[a]
    return n


def _wide(x: Tensor, dtype: Any) -> Any:
    """The type of sums: of integers, the default one with or without a sign."""
    if dtype is not None or x.is_floating_point() or x.is_complex():
        return dtype or x.dtype
    return _tl.uint64 if x.dtype in UNSIGNED.values() else _tl.int64


def sum(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum of elements along some axes, or all.

    Args:
        x: the array.
        axis: one axis or several; None for all.
        dtype: in which it is computed; of integers, the default type with or without a sign.
        keepdims: whether those axes stay, with one element each.

    Example:
        >>> sum(_tl.tensor([1, 2], dtype=_tl.uint8)).dtype
        torch.uint64
    """
    x = x.to(_wide(x, dtype))
    return _along_last(x, axis, keepdims, lambda flat: _tl.sum(flat, -1, dtype=x.dtype))


def prod(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The product of elements along some axes, or all; arguments are those of `sum`.

    Args:
        x: the array.
        axis: the axis or axes; None for all.
        dtype: the type of the result; None for the default.
        keepdims: whether reduced axes stay, of size 1.

    Example:
        >>> prod(_tl.tensor([[1, 2], [3, 4]]), axis=(0, 1))
        tensor(24)
    """
    x = x.to(_wide(x, dtype))
    return _along_last(x, axis, keepdims, lambda flat: _tl.prod(flat, -1, dtype=x.dtype))


def max(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest element along some axes, or of all.

    Args:
        x: the array.
        axis: the axis or axes; None for all.
        keepdims: whether reduced axes stay, of size 1.

    Example:
        >>> max(_tl.tensor([[1, 5], [3, 4]]), axis=0)
        tensor([3, 5])
    """
    return _along_last(x, axis, keepdims, lambda flat: _tl.amax(flat, -1))


def min(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The smallest element along some axes, or of all.

    Args:
        x: the array.
        axis: the axis or axes; None for all.
        keepdims: whether reduced axes stay, of size 1.

    Example:
        >>> min(_tl.tensor([[1, 5], [3, 4]]), axis=0)
        tensor([1, 4])
    """
    return _along_last(x, axis, keepdims, lambda flat: _tl.amin(flat, -1))


def mean(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean of elements along some axes, or of all.

    Args:
        x: the array.
        axis: the axis or axes; None for all.
        keepdims: whether reduced axes stay, of size 1.

    Example:
        >>> mean(_tl.tensor([1.0, 2.0]))
        tensor(1.5000)
    """
    return _along_last(x, axis, keepdims, lambda flat: _tl.mean(flat, -1))


def var(x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The variance of elements along some axes, or of all.

    Args:
        x: the array.
        axis: one axis or several; None for all.
        correction: by how much fewer than they are the squares are divided.
        keepdims: whether those axes stay, with one element each.

    Example:
        >>> var(_tl.tensor([1.0, 2.0]), correction=1)
        tensor(0.5000)
    """

    def variance(flat: Tensor) -> Tensor:
        off = flat - _tl.mean(flat, -1, keepdim=True)
        divisor = flat.shape[-1] - correction
        return _tl.sum(off * off, -1) / (divisor if divisor > 0 else 0.0)

    return _along_last(x, axis, keepdims, variance)


def std(x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The square root of the variance; arguments are those of `var`.

    Args:
        x: the array.
        axis: the axis or axes; None for all.
        correction: what is taken off the number of elements in the divisor.
        keepdims: whether reduced axes stay, of size 1.

    Example:
        >>> std(_tl.tensor([1.0, 3.0]))
        tensor(1.)
    """
    return var(x, axis=axis, correction=correction, keepdims=keepdims).sqrt()


def all(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether all elements along some axes, or of the array, are not zero.

    Args:
        x: the array.
        axis: the axis or axes; None for all.
        keepdims: whether reduced axes stay, of size 1.

    Example:
        >>> all(_tl.tensor([[True, False], [True, True]]), axis=0)
        tensor([ True, False])
    """
    return _along_last(x.to(_tl.bool), axis, keepdims, lambda flat: _tl.all(flat, -1))


def any(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether any element along some axes, or of the array, is not zero.

    Args:
        x: the array.
        axis: the axis or axes; None for all.
        keepdims: whether reduced axes stay, of size 1.

    Example:
        >>> any(_tl.tensor([0, 2]))
        tensor(True)
    """
    return _along_last(x.to(_tl.bool), axis, keepdims, lambda flat: _tl.any(flat, -1))


def count_nonzero(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """How many elements along some axes, or of the array, are not zero.

    Args:
        x: the array.
        axis: the axis or axes; None for all.
        keepdims: whether reduced axes stay, of size 1.

    Example:
        >>> count_nonzero(_tl.tensor([0, 2, 3]))
        tensor(2)
    """
    return _along_last(x != 0, axis, keepdims, lambda flat: _tl.sum(flat, -1))


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the largest element along an axis stands, or that of the array flattened.

    Args:
        x: the array.
        axis: the axis or axes; None for all.
        keepdims: whether reduced axes stay, of size 1.

    Example:
        >>> argmax(_tl.tensor([3, 9, 9]))
        tensor(1)
    """
    return _along_last(x, axis, keepdims, lambda flat: _tl.argmax(flat, -1))


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the smallest element along an axis stands, or that of the array flattened.

    Args:
        x: the array.
        axis: the axis or axes; None for all.
        keepdims: whether reduced axes stay, of size 1.

    Example:
        >>> argmin(_tl.tensor([3, 1, 1]))
        tensor(1)
    """
    return _along_last(x, axis, keepdims, lambda flat: _tl.argmin(flat, -1))


def _running(x: Tensor, axis: int | None, dtype: Any, first: int, of: Any, include_initial: bool) -> Tensor:
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"axis is needed for an array of {x.ndim} dimensions")
        axis = 0
    x = x.to(_wide(x, dtype))
    out = of(x, axis, dtype=x.dtype)
    if not include_initial or x.ndim == 0:
        return out
    shape = list(x.shape)
    shape[axis] = 1
    return _tl.cat([_tl.full(shape, first, dtype=x.dtype, device=x.device), out], dim=axis)


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """The sums of the first elements along an axis.

    Args:
        x: the array.
        axis: the axis; it may be left out for an array of one.
        dtype: in which they are computed, as in `sum`.
        include_initial: whether the sum of no element, 0, comes first.

    Raises:
        ValueError: several axes to choose from.

    Example:
        >>> cumulative_sum(_tl.tensor([1, 2, 3]), include_initial=True)
        tensor([0, 1, 3, 6])
    """
    return _running(x, axis, dtype, 0, _tl.cumsum, include_initial)


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """The products of the first elements along an axis; arguments are those of `cumulative_sum`.

    Args:
        x: the array.
        axis: the axis.
        dtype: the type of the result; None for the default.
        include_initial: whether the result begins with the neutral element.

    Example:
        >>> cumulative_prod(_tl.tensor([1, 2, 3]))
        tensor([1, 2, 6])
    """
    return _running(x, axis, dtype, 1, _tl.cumprod, include_initial)


def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The differences of neighbours along an axis, `n` times.

    Args:
        x: the array.
        axis: the axis.
        n: how often the difference is taken.
        prepend: elements put before.
        append: elements put behind.

    Example:
        >>> diff(_tl.tensor([1, 4, 9]))
        tensor([3, 5])
    """
    return _tl.diff(x, n=n, dim=axis, prepend=prepend, append=append)
