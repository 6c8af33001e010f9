"""Reductions of pieces of a tensor that follow each other along a dimension."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import _C, Tensor

__all__ = ["segment_reduce", "segment_reduce_backward"]

_REDUCTIONS = {"sum": ("sum", 0.0), "mean": ("sum", 0.0), "max": ("amax", -float("inf")),
               "min": ("amin", float("inf")), "prod": ("prod", 1.0)}  # fmt: skip


def _lengths(lengths: Tensor | None, offsets: Tensor | None, axis: int) -> Tensor:
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if lengths is None:
        assert offsets is not None
        return offsets.diff(dim=axis)
    return lengths


def _check(data: Tensor, reduce: str, lengths: Tensor, axis: int, unsafe: bool) -> None:
    if reduce not in _REDUCTIONS:
        raise RuntimeError(
            f"segment_reduce(): reduce must be one of {', '.join(_REDUCTIONS)}, got {reduce!r}"
        )
    if lengths.ndim != axis + 1:
        raise RuntimeError(
            f"segment_reduce(): axis must be the last dimension of lengths, {lengths.ndim - 1}, got {axis}"
        )
    if lengths.shape[:axis] != data.shape[:axis]:
        raise RuntimeError(
            "segment_reduce(): lengths and data must agree in the dimensions before axis, got "
            f"{tuple(lengths.shape)} and {tuple(data.shape)}"
        )
    if unsafe or lengths.is_meta or _C._is_hollow(lengths):  # a trace has no values
        return
    if bool((lengths < 0).any()):
        raise RuntimeError("segment_reduce(): lengths contains negative value!")
    if bool((lengths.sum(-1) != data.shape[axis]).any()):
        raise RuntimeError(
            f"segment_reduce(): Expected all rows of lengths along axis to sum to data.size({axis}), "
            f"{data.shape[axis]}, when !unsafe."
        )


def _segments(data: Tensor, lengths: Tensor, axis: int) -> Tensor:
    """The segment of each element; those beyond the last belong to one more."""
    indices = tl_core.arange(data.shape[axis], dtype=lengths.dtype, device=data.device)
    ends = lengths.cumsum(-1)
    index = tl_core.searchsorted(ends, indices.expand(*ends.shape[:-1], -1).contiguous(), right=True)
    return index.reshape(*index.shape, *[1] * (data.ndim - axis - 1)).expand(data.shape)


def _inner(lengths: Tensor, data: Tensor, axis: int) -> Tensor:
    return lengths.reshape(*lengths.shape, *[1] * (data.ndim - axis - 1))


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """Each piece of a tensor along a dimension, reduced.

    Args:
        data: the tensor.
        reduce: "sum", "mean", "max", "min" or "prod".
        lengths: the sizes of the pieces; those before `axis` are data's.
        indices: not supported.
        offsets: where the pieces begin, and where the last ends, in place of lengths.
        axis: the dimension.
        unsafe: whether lengths are taken without a check.
        initial: what the reduction of a piece begins with.

    Returns:
        The reductions. That of an empty piece is `initial`, or else what the reduction begins with: for "mean", nan.

    Raises:
        RuntimeError: there are neither lengths nor offsets, they do not fit, or there are indices.

    Example:
        >>> segment_reduce(tl_core.tensor([1.0, 2.0, 3.0]), "max", lengths=tl_core.tensor([2, 1]))
        tensor([2., 3.])
    """
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    axis = axis % data.ndim if data.ndim else axis
    lengths = _lengths(lengths, offsets, axis)
    _check(data, reduce, lengths, axis, unsafe)
    kind, neutral = _REDUCTIONS[reduce]
    count = lengths.shape[-1]
    sizes = [*data.shape[:axis], count + 1, *data.shape[axis + 1 :]]
    start = data.new_full(sizes, neutral if initial is None else initial)
    reduced = start.scatter_reduce(axis, _segments(data, lengths, axis), data, kind).narrow(axis, 0, count)
    if reduce != "mean":
        return reduced
    sizes_of = _inner(lengths, data, axis)
    empty = sizes_of == 0
    mean = reduced / sizes_of.masked_fill(empty, 1).to(data.dtype)
    return mean.masked_fill(empty, float("nan")) if initial is None else mean


def segment_reduce_backward(
    grad: Tensor,
    output: Tensor,
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    initial: float | None = None,
) -> Tensor:
    """The gradient of `segment_reduce`.

    Args:
        grad: the gradient of the result.
        output: the result.
        data, reduce, lengths, offsets, axis, initial: as `segment_reduce` takes them.

    Returns:
        The gradient by data; equal extremes share it.

    Example:
        >>> x, lengths = tl_core.tensor([1.0, 2.0, 3.0]), tl_core.tensor([2, 1])
        >>> segment_reduce_backward(tl_core.ones(2), tl_core.tensor([1.5, 3.0]), x, "mean", lengths=lengths)
        tensor([0.5000, 0.5000, 1.0000])
    """
    axis = axis % data.ndim if data.ndim else axis
    lengths = _lengths(lengths, offsets, axis)
    _check(data, reduce, lengths, axis, True)
    segments = _segments(data, lengths, axis)
    outside = segments == lengths.shape[-1]
    segments = segments.masked_fill(outside, 0)
    of_each = grad.gather(axis, segments).masked_fill(outside, 0)
    if reduce == "sum":
        return of_each
    if reduce == "mean":
        sizes = _inner(lengths, data, axis).to(grad.dtype).expand(grad.shape)
        return of_each / sizes.gather(axis, segments)
    if reduce == "prod":
        return of_each * _product_of_others(data, segments, grad, axis, initial)
    is_extreme = (data == output.gather(axis, segments)).to(grad.dtype)
    counts = tl_core.zeros_like(grad).scatter_add(axis, segments, is_extreme)
    return of_each * is_extreme / counts.gather(axis, segments).clamp(min=1)


def _product_of_others(
    data: Tensor, segments: Tensor, like: Tensor, axis: int, initial: float | None
) -> Tensor:
    """For each element the product of the others of its piece."""
    zero = data == 0
    start: Any = tl_core.full_like(like, 1.0 if initial is None else initial)
    rest = start.scatter_reduce(axis, segments, data.masked_fill(zero, 1), "prod").gather(axis, segments)
    zeros = tl_core.zeros_like(like).scatter_add(axis, segments, zero.to(like.dtype)).gather(axis, segments)
    product = rest / data.masked_fill(zero, 1)
    return product.masked_fill(zeros - zero.to(like.dtype) > 0, 0)
