"""How variables, one a row, vary together."""

from __future__ import annotations

from tl_core import _C
from tl_core._C import Tensor
from tl_core.overrides import overridable

__all__ = ["corrcoef", "cov"]


@overridable
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariances of variables.

    Parameters:
        input : Tensor, shape (variables, observations) or (observations,)
        correction : int
            What is taken from the number of observations before it divides.
        fweights : Tensor, shape (observations,), optional
            How often each observation was made; integers.
        aweights : Tensor, shape (observations,), optional
            How much each observation counts.

    Returns:
        Tensor, shape (variables, variables)

    Raises:
        RuntimeError
            If there are more dimensions, the elements are bool, or weights don't fit the observations.

    Examples:
        >>> import tl_core as tl
        >>> tl.cov(tl.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    weights = {"fweights": fweights, "aweights": aweights}
    return _C._call_operator(("cov",), input, correction=correction, **weights)


@overridable
def corrcoef(input: Tensor) -> Tensor:
    """The correlations of variables: their covariances divided by their standard deviations.

    Parameters:
        input : Tensor, shape (variables, observations) or (observations,)

    Raises:
        RuntimeError
            If there are more dimensions, or the elements are bool.

    Examples:
        >>> import tl_core as tl
        >>> tl.corrcoef(tl.tensor([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    return _C._call_operator(("corrcoef",), input)
