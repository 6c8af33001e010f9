"""Distances between vectors."""

from __future__ import annotations

from tl_core import Tensor

from .. import functional as F
from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    r"""The norm of the difference of each pair of vectors.

    Formula:
        .. math::

            d(x_1, x_2) = \left( \sum_{i=1}^{D} |x_{1, i} - x_{2, i} + \mathrm{eps}|^{p} \right)^{1 / p}

    Args:
        p (float): The exponent `p` of the norm. Infinity selects the maximum, 0 the number of elements that aren't
            0. The default is 2.
        eps (float): The summand of each difference, against infinite gradients. The default is 1e-6.
        keepdim (bool): Whether the last dimension remains, with size 1. The default is False.

    Shape:
        - Inputs: `(N, D)` or `(D,)`, or shapes `(*, D)` that broadcast.
        - Output: `(N,)` or `()`, or `(*)`. With `keepdim`: `(N, 1)`, `(1,)` or `(*, 1)`.

    Notes:
        - Equal vectors have the distance `eps * D ** (1 / p)`, not 0. `eps` also makes the distance slightly
          asymmetric.
        - With `eps=0` the gradient at equal vectors is 0.

    Raises:
        RuntimeError: If the shapes can't be broadcast.

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
    r"""The cosine of the angle between the vectors of each pair.

    Formula:
        .. math::

            \cos(x_1, x_2) =
            \frac{x_1 \cdot x_2}{\max(\lVert x_1 \rVert_2, \mathrm{eps}) \cdot \max(\lVert x_2 \rVert_2,
            \mathrm{eps})}

    Args:
        dim (int): The dimension of the vectors. The default is 1.
        eps (float): The least length by which a vector is divided. The default is 1e-8.

    Shape:
        - Inputs: `(*, D, *)`, with the vectors in dimension `dim`, of shapes that broadcast.
        - Output: the broadcast shape without the dimension `dim`.

    Notes:
        - Vectors are divided by their lengths before the product, so products of large numbers don't overflow.
          Rounding may give a result slightly above 1 in magnitude.
        - A vector of zeros has cosine 0. Its gradient is finite, up to `1 / eps`.

    Raises:
        RuntimeError: If the shapes can't be broadcast, or the common type isn't a floating-point type.

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
