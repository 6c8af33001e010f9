"""Exponential families: entropy and divergence by differentiating the log normalizer."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor

from .distribution import Distribution
from .utils import _sum_rightmost

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution whose density is exp(<t(x), θ> - F(θ) + k(x)).

    θ are the natural parameters, t the sufficient statistic, F the log normalizer, k the carrier measure. A subclass
    may give `_natural_params`, `_log_normalizer` and the mean of k, `_mean_carrier_measure`: entropy and divergence
    follow from them (Nielsen and Nock, Entropies and Cross-entropies of Exponential Families, 2010).

    Args:
        batch_shape (Size): the shape of the batch.
        event_shape (Size): the shape of one event.
        validate_args (bool): whether parameters and values are checked.

    Example:
        >>> import tl_core
        >>> from tl_distributions import Exponential, ExponentialFamily
        >>> isinstance(Exponential(1.0), ExponentialFamily), Exponential(tl_core.tensor(1.0)).entropy()
        (True, tensor(1.))
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        """The natural parameters."""
        raise NotImplementedError(f"{type(self).__name__} does not implement _natural_params")

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        """The log normalizer F of natural parameters."""
        raise NotImplementedError(f"{type(self).__name__} does not implement _log_normalizer")

    @property
    def _mean_carrier_measure(self) -> Any:
        """The mean of k(x)."""
        raise NotImplementedError(f"{type(self).__name__} does not implement _mean_carrier_measure")

    def entropy(self) -> Tensor:
        """The entropy, F(θ) - <θ, ∇F(θ)> - E[k(x)]."""
        natural, normalizer, gradients = _differentiate_normalizer(self)
        result = normalizer - self._mean_carrier_measure
        for parameter, gradient in zip(natural, gradients):
            term = parameter * gradient
            result = result - _sum_rightmost(term, term.dim() - len(self._batch_shape))
        return result


def _differentiate_normalizer(p: ExponentialFamily) -> tuple[list[Tensor], Tensor, tuple[Any, ...]]:
    """The natural parameters of a distribution, its log normalizer, and the gradients of the normalizer."""
    import tl_autograd

    natural = [parameter.detach().requires_grad_() for parameter in p._natural_params]
    with tl_core.enable_grad():
        normalizer = p._log_normalizer(*natural)
        gradients = tl_autograd.grad(normalizer.sum(), natural, create_graph=True, materialize_grads=True)
    return natural, normalizer, gradients
