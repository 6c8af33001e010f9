"""The inverse gamma distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform
from .utils import broadcast_all

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """The inverse of a gamma variable.

    Density: p(x) = rate^a x^(-a - 1) exp(-rate / x) / Γ(a), of x > 0, with a = concentration.

    Args:
        concentration (Tensor or float): the shape, positive, often called alpha.
        rate (Tensor or float): the rate of the gamma variable, positive, often called beta.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: a parameter is not positive.

    Example:
        >>> InverseGamma(2.0, 3.0).mean
        tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive, "rate": constraints.positive}
    support: Any = constraints.positive
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {}
    base_dist: Gamma

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        concentration, rate = broadcast_all(concentration, rate)
        base = Gamma(concentration, rate, validate_args=validate_args)
        invert = PowerTransform(-tl_core.ones((), dtype=rate.dtype, device=rate.device))
        super().__init__(base, invert, validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        """The shape."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate of the gamma variable."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        """The mean: rate / (a - 1), or inf where a ≤ 1."""
        mean = self.rate / (self.concentration - 1)
        return mean.masked_fill(self.concentration <= 1, tl_core.inf)

    @property
    def mode(self) -> Tensor:
        """The mode: rate / (a + 1)."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        """The variance: rate² / ((a - 1)² (a - 2)), or inf where a ≤ 2."""
        variance = (self.rate / (self.concentration - 1)).square() / (self.concentration - 2)
        return variance.masked_fill(self.concentration <= 2, tl_core.inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
