"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .exp_family import ExponentialFamily
from .parameterization import BinaryParameter
from .utils import SCALAR, clamp_probs

__all__ = ["ContinuousBernoulli"]

# log(sinh(h) / h) with h = η / 2 as a series in η², from the Bernoulli numbers: B_2k / (2k (2k)!).
_SERIES = (1 / 24, -1 / 2880, 1 / 181440, -1 / 9676800, 1 / 479001600, -691 / 15692092416000)
_FIRST_DERIVATIVE = tuple(2 * (k + 1) * c for k, c in enumerate(_SERIES))
_SECOND_DERIVATIVE = tuple((2 * k + 1) * c for k, c in enumerate(_FIRST_DERIVATIVE))
_SMALL = 0.5  # up to here the series has 13 digits at least
_LARGE = 30.0  # from here on exp(-η) is lost beside 1


class ContinuousBernoulli(BinaryParameter, ExponentialFamily):
    """The continuous Bernoulli distribution on [0, 1].

    Density: p(x) = C(λ) λ^x (1 - λ)^(1 - x), of x in [0, 1], or η exp(η x) / (exp(η) - 1)
    with η = log(λ / (1 - λ)). As in PyTorch, the normalizer clamps η to the logits of probabilities that the dtype
    distinguishes from 0 and 1: beyond 15.9 in single precision, 36 in double, densities are below the formula.

    λ is no probability and η no log-odds: the names are those of the Bernoulli distribution (Loaiza-Ganem and
    Cunningham, The continuous Bernoulli: fixing a pervasive error in variational autoencoders, 2019).

    Args:
        probs (Tensor or float): λ, within (0, 1).
        logits (Tensor or float): η, real, in place of `probs`.
        lims (tuple): around λ = 1/2 the normalizer is computed by a series: there at least.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: both parameters or neither are passed, or one is out of its range.

    Example:
        >>> ContinuousBernoulli(0.5).log_prob(tl_core.tensor(0.25)).exp()
        tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support: Any = constraints.unit_interval
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {"probs": 0, "logits": 0}
    _copied_attributes = ("_from_probs", "_lims")
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        value = self._set_parameter(probs, logits)
        self._lims = lims
        super().__init__(value.shape, validate_args=validate_args)
        if self._from_probs:
            self.__dict__["probs"] = clamp_probs(value)

    def _parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """A mask of the elements near 0, η in them (0 elsewhere), and η in the others (1 in them)."""
        eta = self.logits
        inside = (self.probs > self._lims[0]) & (self.probs < self._lims[1])
        small = inside | (eta.abs() < _SMALL)
        return small, tl_core.where(small, eta, 0.0), tl_core.where(small, 1.0, eta)

    def _log_norm(self) -> Tensor:
        """F(η) = log((exp(η) - 1) / η), the log normalizer."""
        small, near, far = self._parts()
        # one of exp(η), exp(-η) is small
        outside = far.clamp(min=0) + (-(-far.abs()).expm1()).log() - far.abs().log()
        return tl_core.where(small, 0.5 * near + _polynomial(near.square(), _SERIES) * near.square(), outside)

    @property
    def mean(self) -> Tensor:
        """The mean: 1 / (1 - exp(-η)) - 1 / η, and 1/2 where η = 0."""
        small, near, far = self._parts()
        inside = 0.5 + _polynomial(near.square(), _FIRST_DERIVATIVE) * near
        tail = (-far.abs()).exp()
        mean = tl_core.where(far > 0, 1 / (1 - tail), -tail / (1 - tail)) - far.reciprocal()
        return tl_core.where(small, inside, mean)

    @property
    def variance(self) -> Tensor:
        """The variance: 1 / η² - 1 / (4 sinh²(η / 2)), and 1/12 where η = 0."""
        small, near, far = self._parts()
        tail = (-far.abs()).exp()
        outside = far.square().reciprocal() - tail / (1 - tail).square()
        return tl_core.where(small, _polynomial(near.square(), _SECOND_DERIVATIVE), outside)

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        with tl_core.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        like = self._param
        unit = tl_core.rand(self._extended_shape(sample_shape), dtype=like.dtype, device=like.device)
        return self.icdf(unit)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        # η x - F(η), without η itself: |η| times the distance to the likelier end, and the rest of F
        small, near, far = self._parts()
        distance = tl_core.where(far > 0, 1 - value, value)
        factor = far.abs().clamp(max=_largest(far)).log()
        outside = factor - (-(-far.abs()).expm1()).log() - far.abs() * distance
        inside = near * (value - 0.5) - _polynomial(near.square(), _SERIES) * near.square()
        return tl_core.where(small, inside, outside)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        _, far = self._nonzero()
        # (exp(η x) - 1) / (exp(η) - 1), for positive η with numerator and denominator multiplied by exp(-η)
        falling = (-far.abs() * value).expm1() / (-far.abs()).expm1()
        rising = falling * (far.clamp(min=0) * (value - 1)).exp()
        inside = tl_core.where(far > 0, rising, falling)
        inside = tl_core.where(self.logits == 0, value, inside)
        return inside.masked_fill(value <= 0, 0.0).masked_fill(value >= 1, 1.0)

    def icdf(self, value: Tensor) -> Tensor:
        zero, eta = self._nonzero()
        moderate = eta.clamp(max=_LARGE)
        below = (value * moderate.expm1()).log1p() / moderate
        tail = (-eta.abs()).exp()
        above = 1 + (value + (1 - value) * tail).log() / eta
        return tl_core.where(zero, value, tl_core.where(eta > _LARGE, above, below))

    def _nonzero(self) -> tuple[Tensor, Tensor]:
        """A mask of the zeros of η, and η with 1 instead of 0."""
        zero = self.logits == 0
        return zero, self.logits.masked_fill(zero, 1.0)

    def entropy(self) -> Tensor:
        # F(η) - η F'(η), where the terms in η cancel
        small, near, far = self._parts()
        squared = near.square()
        inside = (_polynomial(squared, _SERIES) - _polynomial(squared, _FIRST_DERIVATIVE)) * squared
        tail = (-far.abs()).exp()
        outside = 1 - far.abs() * tail / (1 - tail) + (1 - tail).log() - far.abs().log()
        return tl_core.where(small, inside, outside)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return ContinuousBernoulli(logits=x, lims=self._lims, validate_args=False)._log_norm()


def _largest(eta: Tensor) -> float:
    """The logit of the probability that is next to 1."""
    eps = tl_core.finfo(eta.dtype).eps
    return math.log((1 - eps) / eps)


def _polynomial(x: Tensor, coefficients: Any) -> Tensor:
    """Σ c_k x^k."""
    result = tl_core.full_like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = result * x + c
    return result
