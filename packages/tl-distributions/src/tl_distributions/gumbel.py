"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The Gumbel distribution, of the largest of many variables.

    Density: p(x) = exp(-z - exp(-z)) / scale with z = (x - loc) / scale, of real x. Samples are loc - scale log(-log u)
    of uniform u.

    Args:
        loc (Tensor or float): the location, real.
        scale (Tensor or float): the scale, positive.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: loc is nan, or scale is not positive.

    Example:
        >>> Gumbel(0.0, 1.0).log_prob(tl_core.tensor(0.0))
        tensor(-1.)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    _parameter_event_dims: ClassVar[dict[str, int]] = {"loc": 0, "scale": 0}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        info = tl_core.finfo(self.loc.dtype)
        low = tl_core.full_like(self.loc, info.tiny)
        base = Uniform(low, tl_core.full_like(self.loc, 1 - info.eps), validate_args=validate_args)
        outer = AffineTransform(self.loc, -tl_core.ones_like(self.scale) * self.scale)
        transforms = [ExpTransform().inv, AffineTransform(0, -1.0), ExpTransform().inv, outer]
        super().__init__(base, transforms, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (self.loc - value) / self.scale
        return z - z.exp() - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (-((self.loc - value) / self.scale).exp()).exp()

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * (-value.log()).log()

    @property
    def mean(self) -> Tensor:
        """The mean: loc + γ scale, with Euler's constant γ."""
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        """The mode: loc."""
        return self.loc

    @property
    def stddev(self) -> Tensor:
        """The standard deviation: π scale / √6."""
        return self.scale * (math.pi / math.sqrt(6))

    @property
    def variance(self) -> Tensor:
        """The variance: π² scale² / 6."""
        return self.scale.square() * (math.pi**2 / 6)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
