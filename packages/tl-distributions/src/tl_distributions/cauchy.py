"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .distribution import Distribution
from .utils import SCALAR, broadcast_all

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The Cauchy, or Lorentz, distribution: the ratio of two independent normal variables of mean 0.

    Density: p(x) = 1 / (π scale (1 + ((x - loc) / scale)^2)), of real x. It has no mean and no variance.

    Args:
        loc (Tensor or float): the median and mode.
        scale (Tensor or float): half the width at half the maximum, positive.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: loc is nan, or scale is not positive.

    Example:
        >>> Cauchy(0.0, 1.0).cdf(tl_core.tensor(1.0))
        tensor(0.7500)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {"loc": 0, "scale": 0}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """nan: the density has no mean."""
        return tl_core.full_like(self.loc, tl_core.nan)

    @property
    def mode(self) -> Tensor:
        """The mode: loc."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """inf."""
        return tl_core.full_like(self.loc, tl_core.inf)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.loc + self.loc.new_empty(shape).cauchy_() * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (z * z).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        # arctan(-1 / z) / π is as exact in the lower tail as arctan(z) / π + 1/2 elsewhere
        return tl_core.atan2(self.scale.expand_as(value + self.loc), self.loc - value) / math.pi

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale / (math.pi * value).tan()

    def entropy(self) -> Tensor:
        return self.scale.log() + math.log(4 * math.pi)
