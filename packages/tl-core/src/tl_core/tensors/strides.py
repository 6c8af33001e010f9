"""Properties of the strides of a tensor."""

from __future__ import annotations

from tl_core._C import Tensor

__all__ = ["is_non_overlapping_and_dense"]


def is_non_overlapping_and_dense(a: Tensor) -> bool:
    """Whether the elements fill a piece of memory, each once, in whatever order of dimensions.

    Args:
        a: a tensor of any shape and dtype.

    Example:
        >>> import tl_core
        >>> x = tl_core.ones(2, 3)
        >>> is_non_overlapping_and_dense(x.t()), is_non_overlapping_and_dense(x[:, :2])
        (True, False)
    """
    expected = 1
    for n, step in sorted(
        ((n, s) for n, s in zip(a.shape, a.stride(), strict=True) if n != 1), key=lambda p: p[1]
    ):
        if a.numel() and step != expected:
            return False
        expected *= n
    return True
