"""The Weibull distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """The Weibull distribution.

    Density: p(x) = (k / scale) (x / scale)^(k - 1) exp(-(x / scale)^k), of x > 0, with k = concentration.

    Args:
        scale (Tensor or float): the scale, positive, often called lambda.
        concentration (Tensor or float): the shape k, positive.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: a parameter is not positive.

    Example:
        >>> Weibull(2.0, 1.0).mean
        tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive, "concentration": constraints.positive}
    support: Any = constraints.positive
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {"scale": 0, "concentration": 0}

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(tl_core.ones_like(self.scale), validate_args=validate_args)
        transforms = [
            PowerTransform(self.concentration.reciprocal()),
            AffineTransform(0, self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z, k = value / self.scale, self.concentration
        return (k / self.scale).log() + tl_core.xlogy(k - 1, z) - z.pow(k)

    @property
    def mean(self) -> Tensor:
        """The mean: scale Γ(1 + 1/k)."""
        return self.scale * (1 + self.concentration.reciprocal()).lgamma().exp()

    @property
    def mode(self) -> Tensor:
        """The mode: scale ((k - 1) / k)^(1/k), or nan where k < 1, as the density has no bound at 0."""
        k = self.concentration
        return self.scale * ((k - 1) / k).pow(k.reciprocal())

    @property
    def variance(self) -> Tensor:
        """The variance: scale² (Γ(1 + 2/k) - Γ(1 + 1/k)²)."""
        inverse = self.concentration.reciprocal()
        squared = 2 * (1 + inverse).lgamma()
        # a difference of nearly equal numbers: one of logarithms first
        return self.scale.square() * ((1 + 2 * inverse).lgamma() - squared).expm1() * squared.exp()

    def entropy(self) -> Tensor:
        inverse = self.concentration.reciprocal()
        return euler_constant * (1 - inverse) + (self.scale * inverse).log() + 1
