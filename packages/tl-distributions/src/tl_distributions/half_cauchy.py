"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .cauchy import Cauchy
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform

__all__ = ["HalfCauchy"]


class HalfCauchy(TransformedDistribution):
    """The absolute value of a Cauchy variable of median 0.

    Density: p(x) = 2 / (π scale (1 + (x / scale)^2)), of x ≥ 0.

    Args:
        scale (Tensor or float): the scale of the whole distribution, positive.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: the scale is not positive.

    Example:
        >>> HalfCauchy(1.0).cdf(tl_core.tensor(1.0))
        tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {}
    base_dist: Cauchy

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The scale of the whole distribution."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        """inf."""
        return tl_core.full_like(self.scale, tl_core.inf)

    @property
    def mode(self) -> Tensor:
        """The mode: 0."""
        return tl_core.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        """inf."""
        return self.base_dist.variance

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value = tl_core.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        inside = self.base_dist.log_prob(value) + math.log(2)
        return inside.masked_fill(value < 0, -tl_core.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (value / self.scale).atan() * (2 / math.pi)

    def icdf(self, prob: Tensor) -> Tensor:
        return self.scale * (prob * (math.pi / 2)).tan()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
