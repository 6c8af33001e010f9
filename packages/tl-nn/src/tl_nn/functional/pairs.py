"""Distances of all pairs of vectors."""

from __future__ import annotations

import tl_core
from tl_core import Tensor, where

from .checks import check_tensor

__all__ = ["pdist"]


def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The distance of each pair of rows, in the order (0, 1), (0, 2), …, (1, 2), ….

    Parameters:
        input : Tensor, shape (N, M)
            The vectors, of a floating-point type.
        p : float
            The exponent of the norm, at least 0.

    Returns:
        Tensor, shape (N * (N - 1) / 2,)

    Raises:
        RuntimeError
            If the input isn't a matrix of a floating-point type, or `p` is negative.

    Examples:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.pdist(tl_core.tensor([[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]]))
        tensor([5., 3., 4.])
    """
    check_tensor("pdist", input)
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if not input.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    rows = tl_core.arange(input.shape[0], device=input.device)
    first, second = (rows.unsqueeze(1) < rows).nonzero().unbind(1)
    return _norms((input[first] - input[second]).abs(), p)


def _norms(sizes: Tensor, p: float) -> Tensor:
    """The norms of rows without negative elements; the gradient of the norm of zeros is 0."""
    if p == 0:
        return (sizes != 0).sum(-1).to(sizes.dtype)
    if p == float("inf"):
        return sizes.amax(-1) if sizes.shape[-1] else sizes.sum(-1)
    if p == 1:
        return sizes.sum(-1)
    powers = where(sizes == 0, 0.0, where(sizes == 0, 1.0, sizes) ** p).sum(-1)
    return where(powers == 0, 0.0, where(powers == 0, 1.0, powers) ** (1 / p))
