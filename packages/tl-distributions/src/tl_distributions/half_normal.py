"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform

__all__ = ["HalfNormal"]


class HalfNormal(TransformedDistribution):
    """The absolute value of a normal variable of mean 0.

    Density: p(x) = √(2/π) exp(-(x / scale)^2 / 2) / scale, of x ≥ 0.

    Args:
        scale (Tensor or float): the standard deviation of the whole distribution, positive.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: the scale is not positive.

    Example:
        >>> HalfNormal(1.0).log_prob(tl_core.tensor(0.0)).exp()
        tensor(0.7979)
    """

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {}
    base_dist: Normal

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the whole distribution."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        """The mean: √(2/π) scale."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        """The mode: 0."""
        return tl_core.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        """The variance: (1 - 2/π) scale²."""
        return self.scale.square() * (1 - 2 / math.pi)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        inside = self.base_dist.log_prob(value) + math.log(2)
        return inside.masked_fill(value < 0, -tl_core.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (value / (self.scale * math.sqrt(2))).erf()

    def icdf(self, prob: Tensor) -> Tensor:
        return self.scale * math.sqrt(2) * prob.erfinv()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
