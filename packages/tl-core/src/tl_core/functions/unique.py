"""Unique elements of a tensor, or unique slices along a dim."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.overrides import overridable

__all__ = ["unique", "unique_consecutive"]


def _select(results: Any, return_inverse: bool, return_counts: bool) -> Any:
    outputs = [results[0], *results[1:2] * return_inverse, *results[2:3] * return_counts]
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


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

    Args:
        input: the tensor.
        sorted: accepted: the elements are always sorted.
        return_inverse: whether the index of each element among the different ones is returned too.
        return_counts: whether it is returned how often each occurs.
        dim: the dimension whose slices are compared; None compares elements.

    >>> unique(tensor([3, 1, 3, 2]), return_counts=True)
    (tensor([1, 2, 3]), tensor([1, 1, 2]))
    """
    if dim is None:
        results = _C._call_operator(("_unique2",), input, sorted, return_inverse, return_counts)
    else:
        results = _C._call_operator(("unique_dim",), input, dim, sorted, return_inverse, return_counts)
    return _select(results, return_inverse, return_counts)


@overridable
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or slices of a dimension, without those that equal the one before.

    Args:
        input: the tensor.
        return_inverse: whether the index of each element in the result is returned too.
        return_counts: whether the lengths of the runs are returned too.
        dim: the dimension whose slices are compared; None compares elements.

    >>> unique_consecutive(tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    results = _C._call_operator(("unique_consecutive",), input, return_inverse, return_counts, dim)
    return _select(results, return_inverse, return_counts)
