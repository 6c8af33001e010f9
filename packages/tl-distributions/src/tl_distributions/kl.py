"""Kullback-Leibler divergences: the registry of pairs and its dispatch.

>>> from tl_distributions import Normal
>>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
tensor(0.5000)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import total_ordering
from typing import Any

from tl_core import Tensor

from .distribution import Distribution
from .exp_family import ExponentialFamily, _differentiate_normalizer
from .utils import _sum_rightmost

__all__ = ["kl_divergence", "register_kl"]

Divergence = Callable[[Any, Any], Tensor]

# Divergences by the types of p and q, and a memo of the dispatch.
_KL_REGISTRY: dict[tuple[type, type], Divergence] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """Decorates a function that computes the divergence of a pair of types.

    A call takes the most specific pair. It warns if several pairs fit and none is more specific than all others. Then
    register a third pair: `register_kl(DerivedP, DerivedQ)(function)`.

    Args:
        type_p: the class of p, a subclass of `Distribution` or another base class of distributions.
        type_q: the class of q.

    Returns:
        The decorator.

    Raises:
        TypeError: a type is no class.

    Example:
        >>> from tl_distributions import Distribution
        >>> class Mine(Distribution):
        ...     pass
        >>> @register_kl(Mine, Mine)
        ... def kl_mine(p, q):
        ...     return tl_core.tensor(0.0)
    """
    for name, value in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(value, type):
            raise TypeError(f"Expected {name} to be a class of distributions but got {value!r}")

    def decorate(function: Divergence) -> Divergence:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return decorate


@total_ordering
class _Match:
    """A tuple of types, less than another if each of its types is a subclass of the other's, compared in order."""

    def __init__(self, *types: type) -> None:
        self.types = types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Match) and self.types == other.types

    __hash__ = None  # type: ignore[assignment]

    def __le__(self, other: _Match) -> bool:
        for type_self, type_other in zip(self.types, other.types):
            if not issubclass(type_self, type_other):
                return False
            if type_self is not type_other:
                break
        return True


def _dispatch_kl(type_p: type, type_q: type) -> Any:
    """The function of the most specific registered pair, or NotImplemented if no pair fits."""
    fitting = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not fitting:
        return NotImplemented
    left = min(_Match(p, q) for p, q in fitting).types
    right = min(_Match(q, p) for p, q in fitting).types[::-1]
    by_left, by_right = _KL_REGISTRY[left[0], left[1]], _KL_REGISTRY[right[0], right[1]]
    if by_left is not by_right:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
            f"register_kl({left[0].__name__}, {right[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return by_left


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence, the mean under p of log p(x) - log q(x).

    Args:
        p: the distribution that the mean is taken under.
        q: a distribution whose batch shape broadcasts with that of p.

    Returns:
        A tensor of the batch's shape. It is inf where q has no mass somewhere that p has.

    Raises:
        NotImplementedError: no pair that fits the types was registered.

    Example:
        >>> from tl_distributions import Bernoulli, Poisson
        >>> kl_divergence(Poisson(1.0), Bernoulli(0.5))
        tensor(inf)
    """
    key = type(p), type(q)
    function = _KL_MEMOIZE.get(key)
    if function is None:
        function = _KL_MEMOIZE[key] = _dispatch_kl(*key)
    if function is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {key[0].__name__} and q type {key[1].__name__}"
        )
    return function(p, q)


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: Any, q: Any) -> Tensor:
    """F(θq) - F(θp) - <θq - θp, ∇F(θp)>, of two distributions of one family (Nielsen and Nock, 2010)."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"the divergence of exponential families needs one family, but got {type(p).__name__} and "
            f"{type(q).__name__}"
        )
    natural, normalizer, gradients = _differentiate_normalizer(p)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for mine, other, gradient in zip(natural, q._natural_params, gradients):
        term = (other - mine) * gradient
        result = result - _sum_rightmost(term, mine.dim() - len(p._batch_shape))
    return result
