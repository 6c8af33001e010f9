"""Distances between vectors."""

from __future__ import annotations

from tl_core import Tensor

from .. import functional as F
from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """The norm of the difference of each pair of vectors along the last dimension.

    Args:
        p (float): The exponent of the norm.
        eps (float): Added to the difference, against infinite gradients.
        keepdim (bool): Whether the last dimension stays, with size 1.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.PairwiseDistance(eps=0.0)(tl_core.tensor([[3.0, 4.0]]), tl_core.zeros(1, 2))
        tensor([5.])
    """

    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The distances of vectors of shape (*, D), shape (*)."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between each pair of vectors.

    Args:
        dim (int): The dimension along which the vectors stand.
        eps (float): The smallest length of a vector, against division by zero.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.CosineSimilarity()(tl_core.tensor([[3.0, 4.0]]), tl_core.tensor([[4.0, 3.0]]))
        tensor([0.9600])
    """

    __constants__ = ["dim", "eps"]

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The cosines, of a shape without the dimension."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
