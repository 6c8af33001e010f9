"""Distances and similarities of vectors."""

from tl_core import Tensor, pdist
from tl_core.functions import nn as nn_functions
from tl_core.overrides import overridable

__all__ = ["cosine_similarity", "pairwise_distance", "pdist"]


@overridable
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    r"""The cosine of the angle between vectors.

    Formula:
        .. math::

            \cos(x_1, x_2) =
            \frac{x_1 \cdot x_2}{\max(\lVert x_1 \rVert_2, \mathrm{eps}) \cdot \max(\lVert x_2 \rVert_2,
            \mathrm{eps})}

    Args:
        x1, x2 (Tensor): Vectors of floating-point types, which are broadcast.
        dim (int): The dimension of a vector.
        eps (float): The least length of a vector that it is divided by.

    Shape:
        - Inputs: `(*, D, *)`, with the vectors in dimension `dim`, of shapes that broadcast.
        - Output: the broadcast shape without the dimension `dim`.

    Notes:
        - Vectors are divided by their lengths before the product, so products of large numbers don't overflow.
          Rounding may give a result slightly above 1 in magnitude.
        - A vector of zeros has cosine 0. Its gradient is finite, up to `1 / eps`.

    Raises:
        RuntimeError: If the shapes can't be broadcast, or the types aren't floating-point.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.cosine_similarity(tl_core.tensor([[3.0, 4.0]]), tl_core.tensor([[1.0, 0.0]]))
        tensor([0.6000])
    """
    return nn_functions.cosine_similarity(x1, x2, dim, eps)


@overridable
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    r"""The p-norm of `x1 - x2 + eps` along the last dimension.

    Formula:
        .. math::

            d(x_1, x_2) = \left( \sum_{i=1}^{D} |x_{1, i} - x_{2, i} + \mathrm{eps}|^{p} \right)^{1 / p}

    Args:
        x1, x2 (Tensor, shape (*, D)): Broadcast.
        p (float): The exponent of the norm.
        eps (float): Added so that no difference is 0.
        keepdim (bool): Whether the last dimension stays, with size 1.

    Shape:
        - Inputs: `(N, D)` or `(D,)`, or shapes `(*, D)` that broadcast.
        - Output: `(N,)` or `()`, or `(*)`. With `keepdim`: `(N, 1)`, `(1,)` or `(*, 1)`.

    Notes:
        - Equal vectors have the distance `eps * D ** (1 / p)`, not 0. `eps` also makes the distance slightly
          asymmetric.
        - With `eps=0` the gradient at equal vectors is 0.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.pairwise_distance(tl_core.tensor([[3.0, 4.0]]), tl_core.zeros(1, 2))
        tensor([5.0000])
    """
    return nn_functions.pairwise_distance(x1, x2, p, eps, keepdim)
