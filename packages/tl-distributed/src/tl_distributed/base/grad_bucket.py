"""Gradients of several parameters in one tensor, as communication hooks get them."""

from __future__ import annotations

from collections.abc import Sequence

from tl_core import Tensor


class GradBucket:
    """The gradients of some parameters, one after the other in one tensor.

    Args:
        index: the bucket's number; buckets are reduced in this order.
        buffer: the gradients, one-dimensional; that of a single parameter may be sparse.
        parameters: the parameters they belong to.
        is_last: whether it is the last bucket of a backward pass.

    Example:
        >>> import tl_core
        >>> weight = tl_core.ones(3)
        >>> bucket = GradBucket(0, tl_core.zeros(3), [weight], True)
        >>> bucket.buffer(), bucket.is_last()
        (tensor([0., 0., 0.]), True)
    """

    def __init__(self, index: int, buffer: Tensor, parameters: Sequence[Tensor], is_last: bool):
        self._index = index
        self._buffer = buffer
        self._parameters = list(parameters)
        self._is_last = is_last

    def index(self) -> int:
        """The bucket's number."""
        return self._index

    def buffer(self) -> Tensor:
        """The gradients, in one tensor of one dimension."""
        return self._buffer

    def gradients(self) -> list[Tensor]:
        """The gradients, as views of the buffer with the shapes of their parameters."""
        return views(self._buffer, self._parameters)

    def parameters(self) -> list[Tensor]:
        """The parameters that the gradients belong to."""
        return list(self._parameters)

    def is_last(self) -> bool:
        """True if it is the last bucket of a backward pass."""
        return self._is_last

    def set_buffer(self, buffer: Tensor) -> None:
        """Puts another tensor in the buffer's place."""
        self._buffer = buffer


def views(flat: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """Parts of a one-dimensional tensor, one after the other, shaped like some tensors; a sparse one is whole."""
    if flat.is_sparse:
        return [flat]
    sizes = [tensor.numel() for tensor in like]
    return [part.view(tensor.shape) for part, tensor in zip(flat.split(sizes), like, strict=True)]
