"""The generalized Pareto distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .constraints import Constraint
from .distribution import Distribution
from .utils import SCALAR, broadcast_all

__all__ = ["GeneralizedPareto"]

# Below this shape the limit of shape 0 is exact in double precision, next to the second term of its series.
_EXPONENTIAL_BELOW = 1e-9
# Up to here the second term of the series counts, and no infinity is multiplied by a shape of 0.
_CURVED_UP_TO = 1e6


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution, of the excess over a high threshold.

    Density: p(x) = (1 + ξ z)^(-1 - 1/ξ) / scale with z = (x - loc) / scale, and exp(-z) / scale where ξ = 0; of z ≥ 0,
    and of z ≤ -1/ξ where ξ < 0 (Pickands, Statistical inference using extreme order statistics, 1975).

    Args:
        loc (Tensor or float): the threshold, real.
        scale (Tensor or float): the scale, positive.
        concentration (Tensor or float): the shape ξ, real.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: a parameter is nan, or scale is not positive.

    Example:
        >>> GeneralizedPareto(0.0, 1.0, 0.5).mean
        tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Constraint:
        """The numbers from loc on, up to loc - scale / ξ where ξ is negative."""
        bounded = self.concentration < 0
        upper = self.loc - self.scale / tl_core.where(bounded, self.concentration, -1)
        return constraints.interval(self.loc, upper.masked_fill(~bounded, tl_core.inf))

    def _exponents(self, value: Tensor) -> Tensor:
        """log(1 + ξ z) / ξ, whose limit is z: the exponential variable that the distribution transforms."""
        z = (value - self.loc) / self.scale
        near = self.concentration.abs() < _EXPONENTIAL_BELOW
        shape = self.concentration.masked_fill(near, 1.0)
        return tl_core.where(
            near, z * (1 - 0.5 * self.concentration * z.clamp(max=_CURVED_UP_TO)), (shape * z).log1p() / shape
        )

    def _from_exponents(self, t: Tensor) -> Tensor:
        near = self.concentration.abs() < _EXPONENTIAL_BELOW
        shape = self.concentration.masked_fill(near, 1.0)
        z = tl_core.where(
            near, t * (1 + 0.5 * self.concentration * t.clamp(max=_CURVED_UP_TO)), (shape * t).expm1() / shape
        )
        return self.loc + self.scale * z

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        unit = tl_core.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.icdf(unit)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -self.scale.log() - (1 + self.concentration) * self._exponents(value)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -(-self._exponents(value)).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        return self._from_exponents(-(-value).log1p())

    @property
    def mean(self) -> Tensor:
        """The mean: loc + scale / (1 - ξ), or inf where ξ ≥ 1."""
        mean = self.loc + self.scale / (1 - self.concentration)
        return mean.masked_fill(self.concentration >= 1, tl_core.inf)

    @property
    def mode(self) -> Tensor:
        """The mode: loc."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance: scale² / ((1 - ξ)² (1 - 2 ξ)), or inf where ξ ≥ 1/2."""
        shape = self.concentration
        variance = (self.scale / (1 - shape)).square() / (1 - 2 * shape)
        return variance.masked_fill(shape >= 0.5, tl_core.inf)

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1
