"""Copies of the pieces of a tensor, also into a list of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.functions.out_tensors import write_results
from tl_core.overrides import overridable

__all__ = ["split_copy", "split_with_sizes_copy", "unbind_copy"]


@overridable
def split_copy(input: Tensor, split_size: int, dim: int = 0, *, out: Sequence[Tensor] | None = None) -> Any:
    """Copies of what `split` shows.

    Args:
        input: the tensor.
        split_size: the size of each piece along `dim`; the last may have less.
        dim: the dimension that is split.
        out: the tensors that take the pieces, one each.

    Returns:
        A tuple of tensors; None with `out`.

    Raises:
        RuntimeError: If `out` has another number of tensors, or one of another dtype or device.

    Example:
        >>> import tl_core as tl
        >>> tl.split_copy(tl.arange(3), 2)
        (tensor([0, 1]), tensor([2]))
    """
    if out is None:
        return _C.split_copy(input, split_size, dim)
    return write_results("split_copy", _C.split(input, split_size, dim), out)


@overridable
def split_with_sizes_copy(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0, *, out: Sequence[Tensor] | None = None
) -> Any:
    """Copies of what `split_with_sizes` shows.

    Args:
        input: the tensor.
        split_sizes: the sizes of the pieces along `dim`; their sum is the size of `dim`.
        dim: the dimension that is split.
        out: the tensors that take the pieces, one each.

    Returns:
        A tuple of tensors; None with `out`.

    Raises:
        RuntimeError: If `out` has another number of tensors, or one of another dtype or device.

    Example:
        >>> import tl_core as tl
        >>> pieces = [tl.empty(0), tl.empty(0)]
        >>> tl.split_with_sizes_copy(tl.ones(3), [1, 2], out=pieces)
        >>> pieces
        [tensor([1.]), tensor([1., 1.])]
    """
    if out is None:
        return _C.split_with_sizes_copy(input, split_sizes, dim)
    return write_results("split_with_sizes_copy", _C.split_with_sizes(input, split_sizes, dim), out)


@overridable
def unbind_copy(input: Tensor, dim: int = 0, *, out: Sequence[Tensor] | None = None) -> Any:
    """Copies of what `unbind` shows.

    Args:
        input: the tensor.
        dim: the dimension along which it is taken apart.
        out: the tensors that take the elements, one each.

    Returns:
        A tuple of tensors; None with `out`.

    Raises:
        RuntimeError: If `out` has another number of tensors, or one of another dtype or device.

    Example:
        >>> import tl_core as tl
        >>> tl.unbind_copy(tl.eye(2))
        (tensor([1., 0.]), tensor([0., 1.]))
    """
    if out is None:
        return _C.unbind_copy(input, dim)
    return write_results("unbind_copy", _C.unbind(input, dim), out)
