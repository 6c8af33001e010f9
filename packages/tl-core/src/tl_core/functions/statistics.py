"""How variables, one a row, vary together."""

from __future__ import annotations

import warnings

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
    if input.dim() > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions"
        )
    if input.dtype is _C.bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input if input.dim() == 2 else input.reshape(1, -1)
    weights = _weights(x.shape[1], fweights, aweights)
    total = x.shape[1] if weights is None else weights.sum()
    if weights is not None and total == 0:
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    free = total - correction
    if weights is not None and aweights is not None and correction:
        free = total - correction * (weights * aweights).sum() / total
    if free <= 0:
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
            stacklevel=3,
        )
    x = x - (_weigh(x, weights).sum(1, keepdim=True) / total)
    return (x @ _weigh(x, weights).conj().t() / max(free, 0 * free)).squeeze()


def _weigh(x: Tensor, weights: Tensor | None) -> Tensor:
    return x if weights is None else x * weights


def _weights(observations: int, fweights: Tensor | None, aweights: Tensor | None) -> Tensor | None:
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is not None:
            _check_weights(name, weights, observations)
    if fweights is None:
        return aweights
    return fweights if aweights is None else fweights * aweights


def _check_weights(name: str, weights: Tensor, observations: int) -> None:
    if weights.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.dim()} dimensions"
        )
    if weights.is_floating_point() is (name == "fweights"):
        kind = "integral" if name == "fweights" else "floating point"
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with {weights.dtype} dtype"
        )
    if weights.numel() != observations:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {observations}"
        )
    if (weights < 0).any():
        raise RuntimeError(f"cov(): {name} cannot be negative")


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
    c = cov(input)
    if c.dim() == 0:
        return c / c
    deviations = _C.real(c.diagonal()).sqrt()
    c = c / deviations.unsqueeze(1) / deviations
    return _C.complex(c.real.clamp(-1, 1), c.imag.clamp(-1, 1)) if c.is_complex() else c.clamp(-1, 1)
